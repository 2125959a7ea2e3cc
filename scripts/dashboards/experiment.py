"""An experiment while it goes on."""

from __future__ import annotations

from typing import Final

from .model import (
    EXPERIMENTS,
    FAULTS,
    RUN,
    Board,
    Panel,
    Query,
    Row,
    lines,
)

EXPERIMENT: Final = Board(
    "highwater-experiment",
    "Highwater / Experiment",
    "Phases, faults in force, how long heals take, what clients got acknowledged.",
    EXPERIMENTS,
    [
        Row(
            "The experiment",
            [
                Panel(
                    "Phase",
                    "By the names of a ChaosExperiment's status.",
                    [Query(f"highwater_experiment_phase{{{RUN}}}", "{{experiment}}: {{phase}}")],
                ),
                lines("Faults in force", "Injected, and not yet seen to be healed.", (FAULTS, "{{kind}}")),
                lines(
                    "Records acknowledged per second",
                    "As clients saw it.",
                    (
                        f"sum by (experiment) (deriv(highwater_experiment_acknowledged_records{{{RUN}}}"
                        "[$__rate_interval]))",
                        "{{experiment}}",
                    ),
                    unit="ops",
                ),
                lines(
                    "Operations without an outcome",
                    "Sent, and neither acknowledged nor failed yet.",
                    (f"sum by (experiment) (highwater_experiment_open_operations{{{RUN}}})", "{{experiment}}"),
                ),
                lines(
                    "Heal latency",
                    "The mean, from the begin of a heal until a probe saw everything healed.",
                    (
                        f"sum by (kind) (highwater_experiment_fault_heal_seconds_sum{{{RUN}}})"
                        f" / sum by (kind) (highwater_experiment_fault_heal_seconds_count{{{RUN}}})",
                        "{{kind}}",
                    ),
                    unit="s",
                ),
                lines(
                    "Faults injected",
                    "Since the run began.",
                    (f"sum by (kind) (highwater_experiment_faults_injected_total{{{RUN}}})", "{{kind}}"),
                ),
            ],
        ),
        Row(
            "All experiments",
            [
                lines("By phase", "", ("sum by (phase) (highwater_experiments)", "{{phase}}")),
                lines(
                    "Completed by verdict",
                    "",
                    ("sum by (verdict) (highwater_experiments_completed_total)", "{{verdict}}"),
                ),
            ],
        ),
    ],
)
