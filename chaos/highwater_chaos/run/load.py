"""The load of a run: requested, offered and acknowledged. A run with much less load than requested proves little."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from highwater_chaos.experiment import Workload


class Load(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The load of a run, from the first send to the last.

    ``offered`` counts the records whose send began, ``held_back`` those that a producer left out because it had as many
    open as it may (so it was the cluster that was slow), ``acknowledged`` those that were acknowledged. What is missing
    from what was asked for beside ``held_back`` the clients themselves had no time for.
    """

    asked_per_second: float
    seconds: float
    offered: int
    held_back: int
    acknowledged: int

    @property
    def offered_per_second(self) -> float:
        """Return the mean rate of offered records."""
        return self.offered / self.seconds if self.seconds > 0 else 0.0

    @property
    def acknowledged_per_second(self) -> float:
        """Return the mean rate of acknowledged records."""
        return self.acknowledged / self.seconds if self.seconds > 0 else 0.0

    def sentence(self) -> str:
        """``target 4,000/s, offered 3,987/s, acknowledged 3,950/s over 62.0 s``."""
        return (
            f"target {_rate(self.asked_per_second)}, offered {_rate(self.offered_per_second)},"
            f" acknowledged {_rate(self.acknowledged_per_second)} over {self.seconds:.1f} s"
        )

    def too_little(self, workload: Workload) -> str | None:
        """Why the run does not say what the experiment asks, by ``workload.minimumRate``; None where it does."""
        least = workload.minimum_rate
        if least is None or self.offered_per_second >= least:
            return None
        because = (
            f"producers held {self.held_back:,} records back while the cluster was slow"
            if self.held_back
            else "the clients could not do more here"
        )
        return f"{self.sentence()}: expected at least {_rate(least)} offered (workload.minimumRate); {because}"

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Load:
        """As :meth:`to_dict` wrote it."""
        return cls(
            asked_per_second=found["askedPerSecond"],
            seconds=found["seconds"],
            offered=found["offered"],
            held_back=found["heldBack"],
            acknowledged=found["acknowledged"],
        )

    def to_dict(self) -> dict[str, Any]:
        """For ``verdict.json``."""
        return {
            "askedPerSecond": round(self.asked_per_second, 3),
            "offeredPerSecond": round(self.offered_per_second, 3),
            "acknowledgedPerSecond": round(self.acknowledged_per_second, 3),
            "seconds": round(self.seconds, 3),
            "offered": self.offered,
            "heldBack": self.held_back,
            "acknowledged": self.acknowledged,
        }


def _rate(per_second: float) -> str:
    return f"{per_second:,.0f}/s" if per_second >= 10 else f"{per_second:.1f}/s"
