"""What became of an assertion, and what follows from it for a verdict."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

_KEPT: Final = 10
"""Elements of a result that an example shows."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one assertion. ``holds`` None: not judged. ``time_ns`` (run time) and ``found`` are of the instant
    that decided; ``found`` are elements of the vector, or the sides of the comparison that did not come out."""

    name: str
    promql: str
    during: str
    must: str
    holds: bool | None
    reason: str
    source: str
    instants: int = 0
    time_ns: int | None = None
    found: tuple[tuple[str, float], ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """As ``verdict.json`` has it."""
        example = None
        if self.time_ns is not None:
            found = [{"what": what, "value": _number(value)} for what, value in self.found[:_KEPT]]
            example = {"time_ns": self.time_ns, "found": found}
        return {
            "name": self.name,
            "promql": self.promql,
            "during": self.during,
            "must": self.must,
            "holds": self.holds,
            "reason": self.reason,
            "source": self.source,
            "instants": self.instants,
            "example": example,
        }


def _number(value: float) -> float | str:
    # JSON has no others.
    return value if math.isfinite(value) else {math.inf: "+Inf", -math.inf: "-Inf"}.get(value, "NaN")


def changed_verdict(verdict: str, outcomes: Sequence[Outcome]) -> str:
    """A verdict with assertions taken into account: one that failed is a fail, one that was not judged makes a pass
    inconclusive."""
    if any(one.holds is False for one in outcomes):
        return "fail"
    return "inconclusive" if verdict == "pass" and any(one.holds is None for one in outcomes) else verdict


def reasons_of(outcomes: Sequence[Outcome], that: bool | None) -> list[str]:
    """Reasons of the assertions that failed (``that`` False), or were not judged (None)."""
    return [one.reason for one in outcomes if one.holds is that]
