"""Runs of this process as metrics: ``highwater_experiment_*``, and the latest samples of every node.

Nodes' samples get the labels that pods are scraped with, so that the same dashboards show a local run and a cluster on
Kubernetes. The run's thread calls :meth:`RunMetrics.turn`; threads of the server ask for the exposition. What they
share is replaced as a whole, never changed.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from highwater_chaos.backends.protocol import MetricRow, NodeState
from highwater_chaos.faults import FaultRecord
from highwater_chaos.run.live import LiveRun

PHASES: Final[Mapping[str, str]] = {
    "setup": "SettingUp",
    "steady": "Steady",
    "fault": "Injecting",
    "recovered": "Recovering",
    "final": "Recovering",
    "": "Judging",
}
"""Phases of a run as the status of a ChaosExperiment calls them."""
VERDICTS: Final = ("pass", "fail", "inconclusive")
_TURN_SECONDS: Final = 0.25
"""How often it looks at the run."""
_RUN: Final = ("namespace", "experiment", "strimzi_io_cluster")
"""Labels of a run. ``namespace`` is the backend's name: there are no namespaces here."""
_BUCKETS: Final = (0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)


class RunMetrics:
    """The runs of one process, one after the other."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._phase = Gauge(
            "highwater_experiment_phase",
            "1 for the phase in which the experiment is, by the names of a ChaosExperiment's status.",
            [*_RUN, "phase"],
            registry=self.registry,
        )
        self._verdict = Gauge(
            "highwater_experiment_verdict",
            "1 for the verdict of an experiment, and whether its file expects it.",
            [*_RUN, "verdict", "expected"],
            registry=self.registry,
        )
        self._in_force = Gauge(
            "highwater_experiment_faults_in_force",
            "Faults in force, by kind: injected, and not yet seen to be healed.",
            [*_RUN, "kind"],
            registry=self.registry,
        )
        self._injected = Counter(
            "highwater_experiment_faults_injected",
            "Faults that were injected, by kind.",
            [*_RUN, "kind"],
            registry=self.registry,
        )
        self._heal = Histogram(
            "highwater_experiment_fault_heal_seconds",
            "From the begin of a heal until a probe saw everything healed, in time of the run.",
            [*_RUN, "kind"],
            buckets=_BUCKETS,
            registry=self.registry,
        )
        self._acknowledged = Gauge(
            "highwater_experiment_acknowledged_records",
            "Records that were acknowledged so far.",
            _RUN,
            registry=self.registry,
        )
        self._open = Gauge(
            "highwater_experiment_open_operations",
            "Operations of clients without an outcome yet.",
            _RUN,
            registry=self.registry,
        )
        self._experiments = Gauge(
            "highwater_experiments", "Experiments of this process by phase.", ["phase"], registry=self.registry
        )
        self._completed = Counter(
            "highwater_experiments_completed",
            "Experiments of this process that were judged.",
            ["verdict"],
            registry=self.registry,
        )
        for phase in (*dict.fromkeys(PHASES.values()), "Completed"):
            self._experiments.labels(phase)
        for verdict in VERDICTS:
            self._completed.labels(verdict)
        self._run: LiveRun | None = None
        self._next_turn = 0.0
        self._shown_phase: str | None = None
        self._counted: dict[str, str] = {}
        """Faults of this run by id, and how far they have been counted: injected or healed."""
        self._seen: Sequence[MetricRow] = ()
        self._nodes: dict[str, _NodeText] = {}
        self._text: tuple[Mapping[str, _NodeText], bytes] = self._nodes, b""
        """The text of the nodes that were asked for last."""

    def turn(self, run: LiveRun) -> None:
        """Look at the run, unless that was a moment ago. Called very often."""
        now = time.monotonic()
        if run is self._run and now < self._next_turn:
            return
        self._next_turn = now + _TURN_SECONDS
        if run is not self._run:
            self._begin(run)
        self._look(run)

    def judged(self, verdict: Mapping[str, Any]) -> None:
        """Count the verdict of the run that was turned last (the content of ``verdict.json``)."""
        run = self._run
        self._completed.labels(verdict["verdict"]).inc()
        if run is None:
            return
        self._look(run)
        self._set_phase(run, "Completed")
        expected = "true" if verdict["asExpected"] else "false"
        self._verdict.labels(*_labels(run), verdict["verdict"], expected).set(1)
        self._nodes = {}

    def exposition(self) -> bytes:
        """Everything in Prometheus' text format. Called on other threads."""
        nodes, (shown, text) = self._nodes, self._text
        if shown is not nodes:
            text = _text_of(nodes.values())
            self._text = nodes, text
        return generate_latest(self.registry) + text

    def _begin(self, run: LiveRun) -> None:
        for gauge in (self._phase, self._verdict, self._in_force, self._acknowledged, self._open):
            gauge.clear()
        self._run, self._shown_phase = run, None
        self._counted, self._seen, self._nodes = {}, (), {}

    def _look(self, run: LiveRun) -> None:
        self._set_phase(run, PHASES[run.phase])
        self._count(run, run.faults)
        if run.latest is not self._seen:
            self._seen = run.latest
            self._take(run)
            status, labels = run.clients(), _labels(run)
            self._acknowledged.labels(*labels).set(status.acknowledged)
            self._open.labels(*labels).set(status.open)

    def _set_phase(self, run: LiveRun, phase: str) -> None:
        if phase == self._shown_phase:
            return
        labels = _labels(run)
        if self._shown_phase is not None:
            self._phase.remove(*labels, self._shown_phase)
            self._experiments.labels(self._shown_phase).dec()
        self._phase.labels(*labels, phase).set(1)
        self._experiments.labels(phase).inc()
        self._shown_phase = phase

    def _count(self, run: LiveRun, faults: Sequence[FaultRecord]) -> None:
        labels = _labels(run)
        for fault in faults:
            if fault.injected_ns is None or self._counted.get(fault.id) == "healed":
                continue
            if fault.id not in self._counted:
                self._counted[fault.id] = "injected"
                self._injected.labels(*labels, fault.kind).inc()
                self._in_force.labels(*labels, fault.kind).inc()
            if fault.healed_ns is not None:
                self._counted[fault.id] = "healed"
                self._in_force.labels(*labels, fault.kind).dec()
                if fault.heal_started_ns is not None:
                    self._heal.labels(*labels, fault.kind).observe((fault.healed_ns - fault.heal_started_ns) / 1e9)

    def _take(self, run: LiveRun) -> None:
        """The latest samples of each node; those of a node that does not run any more are left out."""
        cluster, namespace = run.experiment.metadata.name, run.backend
        nodes = {name: node for name, node in self._nodes.items() if run.node_state(name) is not NodeState.DOWN}
        by_node: dict[str, list[MetricRow]] = {}
        for row in run.latest:
            by_node.setdefault(row.node, []).append(row)
        for name, rows in by_node.items():
            if run.node_state(name) is not NodeState.DOWN:
                before = nodes.get(name)
                earlier = {} if before is None else before.latest_made()
                nodes[name] = _NodeText(rows, labels_of(namespace, cluster, name), earlier)
        self._nodes = nodes


def labels_of(namespace: str, cluster: str, node: str) -> dict[str, str]:
    """The labels that a PodMonitor gives to a node's series."""
    pod = f"{cluster}-{node}"
    return {
        "namespace": namespace,
        "pod": pod,
        "kubernetes_pod_name": pod,
        "strimzi_io_cluster": cluster,
        "strimzi_io_name": f"{cluster}-{node.rpartition('-')[0]}",
    }


class _Metric(NamedTuple):
    """The series of one metric of one node, with their lines."""

    labels: list[Mapping[str, str]]
    values: list[float]
    heads: list[str]
    """What stands before the value of each series."""
    text: str


class _NodeText:
    """The samples of one node, as text by metric: made when it is first asked for, by the thread that asks.

    A node's series are the same from sample to sample, and most of their values are. ``earlier`` is what was made of a
    sample before: the heads of its lines are kept while the labels are the same, the text while the values are too.
    """

    def __init__(self, rows: Sequence[MetricRow], given: Mapping[str, str], earlier: Mapping[str, _Metric]) -> None:
        self._rows, self._given, self._earlier = rows, given, earlier
        self._made: Mapping[str, _Metric] | None = None

    def latest_made(self) -> Mapping[str, _Metric]:
        """Return what was made of this sample, or else of the last one that was asked for."""
        made = self._made
        return self._earlier if made is None else made

    def by_metric(self) -> Mapping[str, _Metric]:
        """The lines of each metric."""
        made = self._made
        if made is None:
            given = ",".join(f'{name}="{_escaped(value)}"' for name, value in self._given.items())
            by_name: dict[str, list[MetricRow]] = {}
            for row in self._rows:
                by_name.setdefault(row.name, []).append(row)
            earlier = self._earlier
            made = {name: _metric_of(name, rows, given, earlier.get(name)) for name, rows in by_name.items()}
            self._made, self._earlier = made, {}
        return made


def _metric_of(name: str, rows: Sequence[MetricRow], given: str, earlier: _Metric | None) -> _Metric:
    labels, values = [row.labels for row in rows], [row.value for row in rows]
    if earlier is not None and earlier.labels == labels:
        if earlier.values == values:
            return earlier
        heads = earlier.heads
    else:
        heads = [
            name + "{" + given + "".join([f',{key}="{_escaped(value)}"' for key, value in one.items()]) + "} "
            for one in labels
        ]
    text = "".join([f"{head}{value!r}\n" for head, value in zip(heads, values, strict=True)])
    return _Metric(labels, values, heads, text)


def _text_of(nodes: Iterable[_NodeText]) -> bytes:
    """The series of all nodes; those of one metric stand together, as the format asks."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        for name, metric in node.by_metric().items():
            found.setdefault(name, []).append(metric.text)
    parts: list[str] = []
    for name in sorted(found):
        parts.append(f"# TYPE {name} {'counter' if name.endswith('_total') else 'gauge'}\n")
        parts += found[name]
    return "".join(parts).encode()


def _escaped(value: str) -> str:
    return value.replace("\\", r"\\").replace("\n", r"\n").replace('"', r"\"")


def _labels(run: LiveRun) -> tuple[str, str, str]:
    name = run.experiment.metadata.name
    return run.backend, name, name
