"""Samples by series, and which of them an instant sees.

As Prometheus has it: an instant sees a series' latest sample unless that is older than the lookback, or the series has
ended since (a *stale* sample says so).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from highwater_chaos.promql.language import NAME, Labels, Matcher


@dataclass(slots=True)
class Series:
    """Samples of one series: ``times_ms`` ascending, each once; a value of None ends the series (staleness)."""

    labels: Labels
    times_ms: list[int] = field(default_factory=list)
    values: list[float | None] = field(default_factory=list)

    def at(self, time_ms: int, lookback_ms: int) -> float | None:
        """What an instant sees of it; None: nothing."""
        index = bisect_right(self.times_ms, time_ms) - 1
        if index < 0 or self.times_ms[index] < time_ms - lookback_ms:
            return None
        return self.values[index]

    def between(self, start_ms: int, end_ms: int) -> tuple[list[int], list[float]]:
        """Times and values in [``start_ms``, ``end_ms``], both included."""
        low, high = bisect_left(self.times_ms, start_ms), bisect_right(self.times_ms, end_ms)
        there = [
            (time, value)
            for time, value in zip(self.times_ms[low:high], self.values[low:high], strict=True)
            if value is not None
        ]
        return [time for time, _ in there], [value for _, value in there]


class SeriesStore:
    """All series there are."""

    def __init__(self, series: Iterable[Series]) -> None:
        self._series = sorted(series, key=lambda one: one.labels)
        self._found: dict[tuple[Matcher, ...], list[Series]] = {}

    def select(self, matchers: tuple[Matcher, ...]) -> Sequence[Series]:
        """Series that match all ``matchers``, by labels."""
        found = self._found.get(matchers)
        if found is None:
            found = self._found[matchers] = [one for one in self._series if _matches(one.labels, matchers)]
        return found

    def names(self) -> list[str]:
        return sorted({value for one in self._series for name, value in one.labels if name == NAME})


def _matches(labels: Labels, matchers: tuple[Matcher, ...]) -> bool:
    values = dict(labels)
    return all(one.matches(values.get(one.name, "")) for one in matchers)
