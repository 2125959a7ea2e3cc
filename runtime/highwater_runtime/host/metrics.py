"""The metrics port: plain dictionaries in the hot path, Prometheus' text format when somebody asks.

A series exists from the first time its core touches it (cores create their counters with 0 at the start), under
exactly the name that the core gave. The kind of a name is what it was first used as.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

Labels = tuple[tuple[str, str], ...]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


class Sample(NamedTuple):
    """One value of one series; ``labels`` sorted by name."""

    name: str
    labels: Labels
    value: float


class HostMetrics:
    """The :class:`highwater_runtime.ports.Metrics` of one node."""

    __slots__ = ("_counters", "_plain", "_series")

    def __init__(self) -> None:
        self._plain: dict[str, float] = {}
        self._series: dict[tuple[str, Labels], float] = {}
        self._counters: dict[str, bool] = {}
        """Names, and whether each is a counter."""

    def counter(self, name: str, amount: float = 1.0, **labels: str) -> None:
        """See :class:`highwater_runtime.ports.Metrics`."""
        if labels:
            key = (name, tuple(sorted(labels.items())))
            self._series[key] = self._series.get(key, 0.0) + amount
        elif name in self._plain:
            self._plain[name] += amount
            return
        else:
            self._plain[name] = float(amount)
        self._counters.setdefault(name, True)

    def gauge(self, name: str, value: float, **labels: str) -> None:
        """See :class:`highwater_runtime.ports.Metrics`."""
        if labels:
            self._series[name, tuple(sorted(labels.items()))] = value
        else:
            self._plain[name] = value
        if name not in self._counters:
            self._counters[name] = False

    def forget(self, name: str, **labels: str) -> None:
        """See :class:`highwater_runtime.ports.Metrics`."""
        if labels:
            self._series.pop((name, tuple(sorted(labels.items()))), None)
        else:
            self._plain.pop(name, None)

    def samples(self) -> Iterator[Sample]:
        """All series, by name and labels."""
        found = [Sample(name, (), float(value)) for name, value in self._plain.items()]
        found += [Sample(name, labels, float(value)) for (name, labels), value in self._series.items()]
        yield from sorted(found)

    def families(self) -> Iterator[Metric]:
        """All series as Prometheus' metric families."""
        families: dict[str, Metric] = {}
        for name, labels, value in self.samples():
            family = families.get(name)
            if family is None:
                family = families[name] = _family(name, is_counter=self._counters[name])
            family.add_sample(name, dict(labels), value)
        yield from families.values()


def _family(name: str, *, is_counter: bool) -> Metric:
    documentation = name.removesuffix("_total").replace("_", " ")
    if is_counter and name.endswith("_total"):
        return CounterMetricFamily(name.removesuffix("_total"), documentation)
    return GaugeMetricFamily(name, documentation)


class _Source(Collector):
    def __init__(self, sources: Iterable[HostMetrics]) -> None:
        self._sources = sources

    def collect(self) -> Iterator[Metric]:
        for source in self._sources:
            yield from source.families()


def exposition(*sources: HostMetrics, process: bool = False) -> bytes:
    """What ``/metrics`` serves: every series of ``sources``, which share no names; ``process``: the process's too."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Source(sources))
    if process:
        ProcessCollector(registry=registry)
    return generate_latest(registry)
