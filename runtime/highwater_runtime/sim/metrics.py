"""Counters and gauges in dictionaries; they restart from nothing with their process, as real ones do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

Labels = tuple[tuple[str, str], ...]


class MetricSample(NamedTuple):
    """One value of one series."""

    time_ns: int
    node: str
    incarnation: int
    name: str
    labels: Labels
    """Sorted by label name."""
    value: float


class SimMetrics:
    """The :class:`highwater_runtime.ports.Metrics` of one process."""

    __slots__ = ("_order", "values")

    def __init__(self) -> None:
        self.values: dict[tuple[str, Labels], float] = {}
        self._order: list[tuple[str, Labels]] = []
        """The keys of all series, sorted; out of date while there are more of them."""

    def counter(self, name: str, amount: float = 1.0, **labels: str) -> None:
        key = (name, tuple(sorted(labels.items())) if labels else ())
        values = self.values
        values[key] = values.get(key, 0.0) + amount

    def gauge(self, name: str, value: float, **labels: str) -> None:
        key = (name, tuple(labels.items()) if len(labels) < 2 else tuple(sorted(labels.items())))
        self.values[key] = value

    def forget(self, name: str, **labels: str) -> None:
        self.values.pop((name, tuple(sorted(labels.items()))), None)
        self._order = []

    def samples(self, time_ns: int, node: str, incarnation: int) -> Iterator[MetricSample]:
        """All series, by name and labels."""
        values = self.values
        if len(self._order) != len(values):
            self._order = sorted(values)
        for key in self._order:
            yield MetricSample(time_ns, node, incarnation, *key, values[key])
