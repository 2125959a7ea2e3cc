"""What ``random`` draws, and how often: a dimension is one thing that a drawn experiment has or has not.

A dimension that is drawn seldom tests little, and one that reaches no transition which others miss adds little. So a
campaign of ``random`` counts, for each dimension, the seeds that have it, the transitions that they reached, and those
among them that no other seed reached.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import msgspec

from highwater_chaos.base.quantities import format_duration
from highwater_chaos.campaign.draw import LONG, RANDOM
from highwater_chaos.campaign.draw_settings import SELDOM_SET
from highwater_chaos.campaign.plan import Plan
from highwater_chaos.campaign.seed import Outcome, experiment_of
from highwater_chaos.experiment import ChaosExperiment, Cluster
from highwater_chaos.experiment.model import ExperimentSpec
from highwater_chaos.experiment.properties import (
    elects_uncleanly,
    every_step,
    properties_of_nodes,
    properties_of_topics,
)
from highwater_chaos.experiment.workload import Workload

_USUAL_RATE: Final = 25
"""Records a second of one topic; more counts as many."""


class Drawn(msgspec.Struct, frozen=True, rename="camel"):
    """One dimension of a campaign: how many of ``of`` seeds have it, how many transitions they reached, and the names
    of those that no seed without it reached."""

    dimension: str
    seeds: int
    of: int
    transitions: int
    only_here: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return dict(msgspec.to_builtins(self))


_OF_CLUSTERS: Final[dict[str, Callable[[Cluster], bool]]] = {
    "mode kraft": lambda cluster: cluster.mode == "kraft",
    "mode zookeeper": lambda cluster: cluster.mode == "zookeeper",
    "one controller": lambda cluster: cluster.mode == "kraft" and cluster.controllers == 1,
    "time-outs of the quorum": lambda cluster: "controller.quorum.fetch.timeout.ms" in cluster.config,
    "metadata.version before the latest": lambda cluster: cluster.metadata_version is not None,
    "inter.broker.protocol.version before the latest": lambda cluster: _PROTOCOL in cluster.config,
    "a topic with replication factor 1": lambda cluster: any(one.replication_factor == 1 for one in cluster.topics),
    "min.insync.replicas above 1": lambda cluster: int(cluster.config["min.insync.replicas"]) > 1,
    "a topic's own min.insync.replicas": lambda cluster: any(_LEAST in one.config for one in cluster.topics),
    "small segments": lambda cluster: "log.segment.bytes" in cluster.config,
    "a compacted topic of clients": lambda cluster: any("cleanup.policy" in one.config for one in cluster.topics),
    "a property that is seldom set": lambda cluster: not SELDOM_SET.keys().isdisjoint(cluster.config),
    "nodes' default of retention": lambda cluster: not _RETENTION.isdisjoint(cluster.config),
    "nodes' default of compaction": lambda cluster: "log.cleanup.policy" in cluster.config,
    "the leader's clock dates records": lambda cluster: "log.message.timestamp.type" in cluster.config,
    "producers that leaders forget": lambda cluster: "producer.id.expiration.ms" in cluster.config,
    "offsets that expire within a minute": lambda cluster: "offsets.retention.minutes" in cluster.config,
    "leaders move back within seconds": lambda cluster: "leader.imbalance.check.interval.ms" in cluster.config,
    "retention": lambda cluster: any(name.startswith("retention.") for one in cluster.topics for name in one.config),
}
_RETENTION: Final[frozenset[str]] = frozenset({"log.retention.ms", "log.retention.bytes"})
_LEAST: Final = "min.insync.replicas"
_PROTOCOL: Final = "inter.broker.protocol.version"

_OF_WORKLOADS: Final[dict[str, Callable[[Workload], bool]]] = {
    "acks=all": lambda workload: workload.acks == "all",
    "acks=1": lambda workload: workload.acks == "1",
    "acks=0": lambda workload: workload.acks == "0",
    "idempotence": lambda workload: workload.idempotence,
    "deliveryTimeout": lambda workload: workload.delivery_timeout < 30_000_000_000,
    "ackTimeout": lambda workload: workload.ack_timeout is not None,
    "clients that start during the run": lambda workload: workload.start_within > 0,
    "batches of several records": lambda workload: (workload.records_at_once or 1) > 1,
    "a consumer group": lambda workload: workload.group_members > 0,
    "look-ups by time stamp": lambda workload: workload.lookups > 0,
    "registers": lambda workload: workload.metadata is not None,
}

_OF_EXPERIMENTS: Final[dict[str, Callable[[ExperimentSpec], bool]]] = {
    "more than 25 records/s a topic": lambda spec: (
        spec.cluster is not None and spec.workload.rate > _USUAL_RATE * len(spec.cluster.topics)
    ),
    "one record/s a topic": lambda spec: spec.cluster is not None and spec.workload.rate <= len(spec.cluster.topics),
    "a leader of the quorum that stops or is cut off": lambda spec: any(
        getattr(target, "active_controller", None) is not None
        for step in _steps(spec)
        for target in (() if step.random is None else step.random.targets or ())
    ),
    "nothing but the quorum in trouble": lambda spec: all(
        step.random is not None
        and step.random.targets
        and not step.random.rpcs
        and all(map(_is_of_quorum, step.random.targets))
        for branch in spec.schedule[0].parallel or ()
        for step in branch
    ),
    "faults of the quorum's messages": lambda spec: any(
        step.random is not None and "Vote" in (step.random.rpcs or ()) for step in _steps(spec)
    ),
    "throttled logs copied in parts": lambda spec: (
        spec.cluster is not None
        and "replica.fetch.max.bytes" in spec.cluster.config
        and any(step.random is not None and "throttledReassign" in step.random.faults for step in _steps(spec))
    ),
    "requests of former epochs": lambda spec: any(
        step.random is not None and step.random.rpcs == ["Produce"] for step in _steps(spec)
    ),
    "groups that are deleted": lambda spec: (
        spec.cluster is not None
        and spec.workload.group_members > 0
        and "offsets.retention.check.interval.ms" in spec.cluster.config
    ),
    "ZooKeeper servers that restart in order": lambda spec: any(
        step.random is not None and step.random.targets == ["zookeepers"] and "restart" in step.random.faults
        for step in _steps(spec)
    ),
    "faults of groups' messages": lambda spec: any(
        step.random is not None and "JoinGroup" in (step.random.rpcs or ()) for step in _steps(spec)
    ),
    "unclean election allowed": lambda spec: any(
        elects_uncleanly(one)
        for one in (*(properties_of_nodes(spec) or ()), *(config for _, config in properties_of_topics(spec)))
    ),
    "few faults that last": lambda spec: any(
        step.random is not None and format_duration(step.random.lasting) in LONG for step in _steps(spec)
    ),
    "rolling restart with another configuration": lambda spec: _injects(spec, "restart"),
    "one broker stops after all faults": lambda spec: _injects(spec, "stop"),
    "a broker outside all ISRs dies": lambda spec: _injects(spec, "partition") and _injects(spec, "kill"),
    "one broker is away after all faults": lambda spec: any(
        _injects(spec, kind) for kind in ("kill", "pause", "partition")
    ),
}


def dimensions_of(experiment: ChaosExperiment) -> list[str]:
    """The dimensions that a drawn experiment has: those of its cluster, of its clients, and what its schedule draws."""
    spec = experiment.spec
    of_cluster = [name for name, has in _OF_CLUSTERS.items() if has(experiment.cluster)]
    of_workload = [name for name, has in _OF_WORKLOADS.items() if has(spec.workload)]
    of_spec = [name for name, has in _OF_EXPERIMENTS.items() if has(spec)]
    kinds = {kind for step in _steps(spec) if step.random is not None for kind in step.random.faults}
    return [*of_cluster, *of_workload, *of_spec, *sorted(kinds)]


def _is_of_quorum(target: Any) -> bool:
    return target == "controllers" or getattr(target, "active_controller", None) is not None


def _injects(spec: ExperimentSpec, kind: str) -> bool:
    return any(step.inject is not None and step.inject.choice == kind for step in _steps(spec))


def _steps(spec: ExperimentSpec) -> Iterable[Any]:
    return every_step(spec.schedule)


def drawn_by(plan: Plan, outcomes: Sequence[Outcome]) -> list[Drawn]:
    """What the seeds of ``random`` drew, on the runtime as it is; empty if the campaign has none."""
    series = next((one for one in plan.series if one.key == (RANDOM, "")), None)
    if series is None or plan.is_real:
        return []
    mine = [one for one in outcomes if one.key[:2] == series.key]
    has = [set(dimensions_of(experiment_of(plan.unit(series, one.seed)))) for one in mine]
    rows = []
    for dimension in _in_order(has):
        inside = {name for one, names in zip(mine, has, strict=True) if dimension in names for name in one.transitions}
        outside = {
            name for one, names in zip(mine, has, strict=True) if dimension not in names for name in one.transitions
        }
        seeds = sum(dimension in names for names in has)
        rows.append(Drawn(dimension, seeds, len(mine), len(inside), tuple(sorted(inside - outside))))
    return rows


def _in_order(every: Iterable[set[str]]) -> list[str]:
    found = set().union(*every)
    fixed = [*_OF_CLUSTERS, *_OF_WORKLOADS, *_OF_EXPERIMENTS]
    return [*fixed, *sorted(found.difference(fixed))]
