"""What a dashboard is made of: boards of rows of panels of queries, and the choices above them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

OF: Final = 'namespace=~"$namespace",strimzi_io_cluster=~"$cluster"'
RUN: Final = 'namespace=~"$namespace",experiment=~"$experiment"'
POD: Final = "{{kubernetes_pod_name}}"


class Query(NamedTuple):
    """PromQL, and how its series are called."""

    expr: str
    legend: str = ""


class Panel(NamedTuple):
    """One panel. ``stat``: one large number; otherwise lines over time. ``bad``: the value from which on it is red."""

    title: str
    what: str
    queries: Sequence[Query]
    unit: str = "short"
    stat: bool = False
    bad: float | None = None


class Row(NamedTuple):
    """A heading, and the panels below it."""

    title: str
    panels: Sequence[Panel]


class Variable(NamedTuple):
    """A choice among the values of a label of a metric's series."""

    name: str
    label: str
    metric: str
    of: str


class Board(NamedTuple):
    """One dashboard. ``uid`` is the name of its file too."""

    uid: str
    title: str
    what: str
    variables: Sequence[Variable]
    rows: Sequence[Row]


def number(title: str, what: str, expr: str, *, bad: float | None = None, unit: str = "short") -> Panel:
    """One large number, red from ``bad`` on."""
    return Panel(title, what, [Query(expr)], unit, stat=True, bad=bad)


def lines(title: str, what: str, *queries: tuple[str, str], unit: str = "short") -> Panel:
    """Series over time; ``queries`` are PromQL and legend."""
    return Panel(title, what, [Query(*one) for one in queries], unit)


def replicas(name: str) -> str:
    """A metric of brokers' replica managers."""
    return f"kafka_server_replicamanager_{name}{{{OF}}}"


def controller(name: str) -> str:
    """A metric of the controller."""
    return f"kafka_controller_kafkacontroller_{name}{{{OF}}}"


def raft(name: str) -> str:
    """A metric of the quorum."""
    return f"kafka_server_raftmetrics_{name}{{{OF}}}"


def partition(name: str) -> str:
    """A metric of single partitions."""
    return f'{name}{{{OF},topic=~"$topic"}}'


def rate(counter: str, by: str = "") -> str:
    """Return the rate of a counter, summed by labels."""
    return f"sum{f' by ({by})' if by else ''} (rate({counter}[$__rate_interval]))"


FAULTS: Final = f"sum by (kind) (highwater_experiment_faults_in_force{{{RUN}}})"
CLUSTERS: Final = (
    Variable("namespace", "Namespace", "kafka_server_replicamanager_leadercount", "namespace"),
    Variable(
        "cluster",
        "Cluster",
        'kafka_server_replicamanager_leadercount{namespace=~"$namespace"}',
        "strimzi_io_cluster",
    ),
)
TOPIC: Final = Variable("topic", "Topic", f"kafka_log_log_size{{{OF}}}", "topic")
EXPERIMENTS: Final = (
    Variable("namespace", "Namespace", "highwater_experiment_phase", "namespace"),
    Variable("experiment", "Experiment", 'highwater_experiment_phase{namespace=~"$namespace"}', "experiment"),
)
