"""Runs of this process as metrics: ``highwater_experiment_*``, and the latest samples of every node.

Nodes' samples get the labels that pods are scraped with, so that the same dashboards show a local run and a cluster on
Kubernetes. The run's thread calls :meth:`RunMetrics.turn`; threads of the server ask for the exposition. What they
share is replaced as a whole, never changed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from highwater_chaos.backends.protocol import MetricRow, NodeState
from highwater_chaos.faults import FaultRecord
from highwater_chaos.live_run import LiveRun

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
        return generate_latest(self.registry) + _text_of(list(self._nodes.values()))

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
                nodes[name] = _NodeText(rows, labels_of(namespace, cluster, name))
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


class _NodeText:
    """The samples of one node, as text by metric: made when it is first asked for, by the thread that asks."""

    def __init__(self, rows: Sequence[MetricRow], given: Mapping[str, str]) -> None:
        self._rows, self._given = rows, given
        self._text: dict[str, str] | None = None

    def by_metric(self) -> dict[str, str]:
        """The lines of each metric."""
        if self._text is None:
            given = ",".join(f'{name}="{_escaped(value)}"' for name, value in self._given.items())
            braces: dict[tuple[tuple[str, str], ...], str] = {}
            lines: dict[str, list[str]] = {}
            for row in self._rows:
                key = tuple(row.labels.items())
                its = braces.get(key)
                if its is None:
                    own = "".join(f',{name}="{_escaped(value)}"' for name, value in key)
                    its = braces[key] = f"{{{given}{own}}}"
                lines.setdefault(row.name, []).append(f"{row.name}{its} {row.value!r}\n")
            self._text = {name: "".join(texts) for name, texts in lines.items()}
        return self._text


def _text_of(nodes: Sequence[_NodeText]) -> bytes:
    """The series of all nodes; those of one metric stand together, as the format asks."""
    found: dict[str, list[str]] = {}
    for node in nodes:
        for name, text in node.by_metric().items():
            found.setdefault(name, []).append(text)
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
