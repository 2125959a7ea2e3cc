"""The operator and its agents."""

from __future__ import annotations

from typing import Final

from .model import Board, Row, lines

OPERATOR: Final = Board(
    "highwater-operator",
    "Highwater / Operator",
    "What operator and agents do on Kubernetes: reconciles, and faults by node.",
    (),
    [
        Row(
            "Operator and agents",
            [
                lines(
                    "Faults in force by node",
                    "As agents have them, and those past their deadline.",
                    ("sum by (node) (highwater_agent_faults_in_force)", "{{node}}"),
                    ("sum by (node) (highwater_agent_faults_overdue)", "{{node}} overdue"),
                ),
                lines(
                    "Heal latency of agents",
                    "The 95th percentile.",
                    (
                        "histogram_quantile(0.95, sum by (kind, le) "
                        "(rate(highwater_agent_heal_duration_seconds_bucket[$__rate_interval])))",
                        "{{kind}}",
                    ),
                    unit="s",
                ),
                lines(
                    "Reconciles",
                    "By kind and result.",
                    (
                        "sum by (kind, result) (rate(highwater_operator_reconciles_total[$__rate_interval]))",
                        "{{kind}} {{result}}",
                    ),
                    unit="ops",
                ),
            ],
        ),
    ],
)
