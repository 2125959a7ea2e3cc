"""What the operator counts about experiments."""

from __future__ import annotations

from typing import Final

from prometheus_client import Counter

from highwater_operator.metrics import REGISTRY

VERDICTS: Final = Counter(
    "highwater_operator_experiments_completed",
    "Experiments that were seen to be completed, by verdict.",
    ["verdict"],
    registry=REGISTRY,
)
for _verdict in ("pass", "fail", "inconclusive"):
    VERDICTS.labels(_verdict)
