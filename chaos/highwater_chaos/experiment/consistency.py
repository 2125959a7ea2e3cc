"""What no single field can tell: targets that exist, names that were given, versions that are known.

An impossible file is refused before anything starts, so these rules know the whole experiment.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

from pydantic import BaseModel

from highwater_chaos.base.quantities import format_duration
from highwater_chaos.experiment.base import OneOf
from highwater_chaos.experiment.conditions import ClusterCondition
from highwater_chaos.experiment.contradictions import contradictions
from highwater_chaos.experiment.errors import Problem
from highwater_chaos.experiment.extent import MOST_STEPS, least_ns, steps_done
from highwater_chaos.experiment.faults import Inject, drawn_kinds
from highwater_chaos.experiment.model import REGISTER_TOPIC, ChaosExperiment, Cluster, Expectation
from highwater_chaos.experiment.nodes import node_names
from highwater_chaos.experiment.partitions import (
    internal_topics,
    listed,
    note_topics,
    partition_count,
    partition_problems,
)
from highwater_chaos.experiment.software import (
    VERSIONS,
    cluster_problems,
    condition_problems,
    metadata_version_problems,
    other_runtime_problems,
)
from highwater_chaos.experiment.steps import (
    RANDOM_ADMINISTRATION,
    RANDOM_RPCS,
    CreateTopic,
    DeleteRecords,
    Produce,
    RandomFaults,
    Step,
)
from highwater_chaos.experiment.targets import NamedNodes, Target
from highwater_chaos.experiment.topic_properties import topic_property_problems
from highwater_chaos.experiment.workload import Workload
from highwater_chaos.promql.language import PromqlError, is_never_empty, selectors
from highwater_chaos.promql.parse import parse
from highwater_pipeline.anomalies import (
    MEANINGS,
    REGISTER_CHECKS,
)
from highwater_runtime.config import ConfigError, NodeConfig
from highwater_runtime.switches import SWITCHES, SwitchError, check_switch
from highwater_runtime.wire.api_keys import ApiKey

ALL: Final = "all"
_REFERENCE: Final = "is a cluster that runs on Kubernetes: use --backend kubernetes there, or give spec.cluster"
_LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")


def problems_of(experiment: ChaosExperiment, *, references: bool = False) -> list[Problem]:
    """Everything about a well-formed experiment that cannot work, or that this version cannot do yet.

    ``references``: a ``clusterRef`` is resolved where the cluster is; what depends on the cluster is not looked at.
    """
    spec = experiment.spec
    if spec.cluster is None:
        if not references:
            return [Problem("spec.clusterRef", _REFERENCE)]
        return [
            *_timeout(experiment),
            *_length(experiment),
            *topic_property_problems(spec),
            *_checks(experiment),
            *_expectations(experiment),
            *_assertions(experiment),
        ]
    return [
        *_timeout(experiment),
        *_length(experiment),
        *topic_property_problems(spec),
        *_cluster(spec.cluster),
        *contradictions(spec),
        *_workload(experiment, spec.cluster),
        *_schedule(experiment, spec.cluster),
        *_checks(experiment),
        *_expectations(experiment),
        *other_runtime_problems(experiment),
        *_assertions(experiment),
    ]


def switch_problem(name: str, value: str, cluster: Cluster | None = None) -> str | None:
    """Why a switch cannot be set so (in this cluster), or None."""
    try:
        check_switch(name, value)
    except SwitchError as error:
        return str(error)
    modes = SWITCHES[name].modes
    if cluster is None or cluster.mode in modes:
        return None
    return f"switch {name!r} means nothing in mode {cluster.mode}, only in mode {' and '.join(modes)}"


def _timeout(experiment: ChaosExperiment) -> Iterator[Problem]:
    """A run that cannot end in time would be inconclusive after all of its time."""
    spec, least = experiment.spec, least_ns(experiment.spec.schedule)
    if spec.timeout == 0:
        yield Problem("spec.timeout", "expected more than 0: the schedule has to have time to run")
    elif least >= spec.timeout:
        yield Problem(
            "spec.timeout",
            f"the waits of the schedule alone take {format_duration(least)}: expected more than that, found"
            f" {format_duration(spec.timeout)}",
        )


def _length(experiment: ChaosExperiment) -> Iterator[Problem]:
    done = steps_done(experiment.spec.schedule)
    if done > MOST_STEPS:
        yield Problem(
            "spec.schedule",
            f"expected at most {MOST_STEPS:,} steps, each repetition and each random fault (for / every) counted;"
            f" found {done:,}",
        )


def _cluster(cluster: Cluster) -> Iterator[Problem]:
    yield from cluster_problems(cluster)
    for name, value in cluster.switches.items():
        if problem := switch_problem(name, value, cluster):
            yield Problem(f"spec.cluster.switches.{name}", problem)
    if cluster.runtime == "highwater":  # other software has properties of its own, and says so itself
        for name, found in cluster.config.items():
            try:
                NodeConfig.of({name: found})
            except ConfigError as error:
                yield Problem(f"spec.cluster.config.{name}", str(error))
    names: set[str] = set()
    for index, topic in enumerate(cluster.topics):
        path = f"spec.cluster.topics[{index}]"
        if topic.name in names:
            yield Problem(f"{path}.name", f"topic {topic.name!r} is given twice")
        names.add(topic.name)
        yield from _topic(path, topic, cluster)


def _topic(path: str, topic: CreateTopic, cluster: Cluster) -> Iterator[Problem]:
    if topic.assignment is None:
        if topic.replication_factor is not None and topic.replication_factor > cluster.brokers:
            yield Problem(
                f"{path}.replicationFactor",
                f"{topic.replication_factor} replicas need as many brokers; the cluster has {cluster.brokers}",
            )
        return
    if topic.replication_factor is not None:
        yield Problem(f"{path}.replicationFactor", "is given by assignment: leave one of them out")
    # A recorded experiment, and Kubernetes, write the default out: beside an assignment it says nothing.
    if topic.partitions not in (CreateTopic.model_fields["partitions"].default, len(topic.assignment)):
        yield Problem(f"{path}.assignment", f"has {len(topic.assignment)} entries for {topic.partitions} partitions")
    for number, replicas in enumerate(topic.assignment):
        at = f"{path}.assignment[{number}]"
        first = len(topic.assignment[0])
        if not replicas:
            yield Problem(at, "expected at least one broker id")
        elif len(replicas) != first:
            yield Problem(at, f"expected as many replicas as partition 0 has, {first}; found {len(replicas)}")
        if len(set(replicas)) != len(replicas):
            yield Problem(at, f"names a broker twice: {replicas}")
        for broker in replicas:
            yield from _broker(at, broker, cluster)


def _broker(path: str, broker: int, cluster: Cluster) -> Iterator[Problem]:
    if cluster.attached is not None:
        if broker not in cluster.attached.brokers:
            yield Problem(path, f"there is no broker {broker}: the cluster has brokers {cluster.attached.brokers}")
    elif broker >= cluster.brokers:
        yield Problem(path, f"there is no broker {broker}: the cluster has brokers 0 to {cluster.brokers - 1}")


def _controller(path: str, controller: int, cluster: Cluster) -> Iterator[Problem]:
    if cluster.mode == "zookeeper":
        yield Problem(path, "mode zookeeper has no controllers of their own: name a broker, or activeController")
    elif cluster.attached is not None:
        if controller not in cluster.attached.controllers:
            has = cluster.attached.controllers
            yield Problem(path, f"there is no controller {controller}: the cluster has controllers {has}")
    elif controller >= cluster.controllers:
        yield Problem(
            path, f"there is no controller {controller}: the cluster has controllers 0 to {cluster.controllers - 1}"
        )


def _zookeeper(path: str, server: int, cluster: Cluster) -> Iterator[Problem]:
    if cluster.mode == "kraft":
        yield Problem(path, "mode kraft has no ZooKeeper servers: name a controller, or set spec.cluster.mode")
    elif server >= cluster.zookeepers or cluster.attached is not None:
        yield Problem(
            path, f"there is no ZooKeeper server {server}: the cluster has servers 0 to {cluster.zookeepers - 1}"
        )


def _group(path: str, name: str, cluster: Cluster) -> Iterator[Problem]:
    other = "controllers" if cluster.mode == "zookeeper" else "zookeepers"
    if name == other:
        quorum = "zookeepers" if cluster.mode == "zookeeper" else "controllers"
        yield Problem(path, f"mode {cluster.mode} has no {other}; groups are brokers and {quorum}")


def _workload(experiment: ChaosExperiment, cluster: Cluster) -> Iterator[Problem]:
    workload = experiment.spec.workload
    known = [topic.name for topic in cluster.topics]
    if workload.producers and not known:
        yield Problem("spec.cluster.topics", "the workload writes, but there is no topic to write to")
    for index, name in enumerate(workload.topics or []):
        if name not in known:
            yield Problem(f"spec.workload.topics[{index}]", f"there is no topic {name!r} in spec.cluster.topics")
    if workload.metadata is not None and REGISTER_TOPIC in known:
        yield Problem("spec.cluster.topics", f"{REGISTER_TOPIC!r} is the topic of workload.metadata's registers")
    if workload.metadata is not None and cluster.mode == "zookeeper":
        yield Problem("spec.workload.metadata", "reads registers from the metadata quorum of mode kraft")
    if workload.record_size and workload.driver != "highwater":
        yield Problem("spec.workload.recordSize", f"only our own producers fill records up; not {workload.driver}")
    if workload.records_at_once is not None and workload.driver != "highwater":
        yield Problem("spec.workload.recordsAtOnce", f"{workload.driver} decides itself which records share a batch")
    if workload.minimum_rate is not None and not workload.producers:
        yield Problem(
            "spec.workload.minimumRate", "there is no producer (producers: 0) that could reach it: leave it out"
        )
    elif workload.minimum_rate is not None and workload.minimum_rate > workload.rate:
        found = f"{workload.minimum_rate:g}/s"
        yield Problem("spec.workload.minimumRate", f"expected at most the rate, {workload.rate:g}/s; found {found}")
    if workload.idempotence and workload.acks != "all":
        yield Problem("spec.workload.acks", f"idempotence needs acks: all; found {workload.acks!r}")


def _schedule(experiment: ChaosExperiment, cluster: Cluster) -> Iterator[Problem]:
    topics = {topic.name: partition_count(topic) for topic in cluster.topics}
    internal = internal_topics(experiment.spec.workload, cluster)
    steps = experiment.spec.schedule
    for _, step in _steps(steps, "spec.schedule"):
        if step.admin is not None:
            note_topics(step.admin, topics)
    named: set[str] = {inject.name for inject in _injects(steps) if inject.name is not None}
    for path, step in _steps(steps, "spec.schedule"):
        yield from _references(step, path, cluster, topics, internal)
        if step.heal is not None:
            for name in [step.heal] if isinstance(step.heal, str) else step.heal:
                if name not in named and name != ALL:
                    yield Problem(f"{path}.heal", f"no fault is named {name!r}; named are: {listed(sorted(named))}")
        for at, owner, field, value in _leaves(step, path):
            if field == "not_" and isinstance(owner, Target) and value not in named:
                yield Problem(at, f"no fault is named {value!r}; named are: {listed(sorted(named))}")
        for kind, condition in _conditions(step):
            if condition.caught is not None and condition.caught.name not in named:
                yield Problem(f"{path}.{kind}.caught.name", f"no fault is named {condition.caught.name!r}")
        if step.random is not None:
            yield from _random(f"{path}.random", step.random, cluster)
        if step.produce is not None:
            yield from _produce(f"{path}.produce", experiment.spec.workload)


def _produce(path: str, workload: Workload) -> Iterator[Problem]:
    if workload.producers:
        yield Problem(path, f"writes at known offsets, so it needs workload.producers: 0; found {workload.producers}")
    if workload.acks == "0":
        yield Problem(path, "waits for the acknowledgement; found workload.acks: 0")
    if ".parallel[" in path:
        yield Problem(path, "writes at known offsets, so it cannot be within parallel: move it before or after")


def _steps(steps: list[Step], path: str) -> Iterator[tuple[str, Step]]:
    """Every step with its path, those inside ``parallel`` and ``repeat`` too."""
    for index, step in enumerate(steps):
        at = f"{path}[{index}]"
        yield at, step
        for branch, inner in enumerate(step.parallel or []):
            yield from _steps(inner, f"{at}.parallel[{branch}]")
        if step.repeat is not None:
            yield from _steps(step.repeat.steps, f"{at}.repeat.steps")


def _injects(steps: list[Step]) -> Iterator[Inject]:
    for _, step in _steps(steps, ""):
        if step.inject is not None:
            yield step.inject


def _references(
    step: Step, path: str, cluster: Cluster, topics: dict[str, int], internal: dict[str, int]
) -> Iterator[Problem]:
    """Brokers, controllers, partitions, RPCs and versions that a step names, wherever in it they stand."""
    for at, owner, field, value in _leaves(step, path):
        match field:
            case "partition" | "leader_of" | "follower_of" | "in_sync_follower_of" | "isr_of" | "last_isr_of" if (
                isinstance(value, str)
            ):
                # Nobody but a broker writes to an internal topic, or deletes of it.
                of_clients = isinstance(owner, Produce | DeleteRecords)
                yield from partition_problems(at, value, topics if of_clients else {**topics, **internal})
            case "broker" if isinstance(owner, NamedNodes):
                yield from _broker(at, value, cluster)
            case "controller" if isinstance(owner, NamedNodes):
                yield from _controller(at, value, cluster)
            case "follower_controller" if isinstance(owner, NamedNodes):
                yield from _controller(at, 1, cluster)  # where there are at least two
            case "zookeeper" if isinstance(owner, NamedNodes):
                yield from _zookeeper(at, value, cluster)
            case "one" | "minority" | "majority" | "minority_third" | "all" if isinstance(owner, NamedNodes):
                yield from _group(at, value, cluster)
            case "targets" if isinstance(owner, RandomFaults):
                yield from _group(at, value, cluster)
            case "rpc" if value not in _rpc_names():
                near = get_close_matches(value, _rpc_names(), n=3) or _rpc_names()
                yield Problem(at, f"unknown RPC {value!r}; known are {', '.join(near)}")
            case "version" if cluster.mode == "zookeeper":
                yield Problem(at, "mode zookeeper has no metadata.version to upgrade")
            case "version":
                yield from metadata_version_problems(at, value)
            case "topic" if value not in topics:
                yield Problem(at, f"there is no topic {value!r}")
    if step.inject is not None and cluster.runtime == "highwater":
        for name, value in (getattr(step.inject.chosen, "config", None) or {}).items():
            try:
                NodeConfig.of({name: value})
            except ConfigError as error:
                yield Problem(f"{path}.inject.{step.inject.choice}.config.{name}", str(error))
    if step.admin is not None and step.admin.create_topic is not None:
        yield from _topic(f"{path}.admin.createTopic", step.admin.create_topic, cluster)
    if step.admin is not None and step.admin.reassign is not None:
        for broker in step.admin.reassign.replicas:
            yield from _broker(f"{path}.admin.reassign.replicas", broker, cluster)
    yield from _condition_brokers(step, path, cluster)


def _condition_brokers(step: Step, path: str, cluster: Cluster) -> Iterator[Problem]:
    for kind, condition in _conditions(step):
        if condition.broker is not None:
            yield from _broker(f"{path}.{kind}.broker.id", condition.broker.id, cluster)
        if condition.isr is not None and condition.isr.choice != "size":
            for broker in condition.isr.equals or condition.isr.includes or condition.isr.excludes or []:
                yield from _broker(f"{path}.{kind}.isr.{condition.isr.choice}", broker, cluster)
        if condition.leader is not None and condition.leader.none is None:
            yield from _broker(f"{path}.{kind}.leader.{condition.leader.choice}", _as_int(condition.leader), cluster)
        if condition.active_controller is not None and condition.active_controller.exists is None:
            at = f"{path}.{kind}.activeController.{condition.active_controller.choice}"
            check = _broker if cluster.mode == "zookeeper" else _controller
            yield from check(at, _as_int(condition.active_controller), cluster)


def _conditions(step: Step) -> Iterator[tuple[str, ClusterCondition]]:
    """The condition of a step, by how the file calls the step."""
    if step.await_ is not None:
        yield "await", step.await_
    if step.holds is not None:
        yield "holds", step.holds


def _as_int(choice: OneOf) -> int:
    value = choice.chosen
    assert isinstance(value, int)
    return value


def _rpc_names() -> list[str]:
    # Kafka writes ALTER_PARTITION in code and AlterPartition everywhere else.
    return sorted("".join(word.capitalize() for word in key.name.split("_")) for key in ApiKey)


def _leaves(model: BaseModel, path: str) -> Iterator[tuple[str, BaseModel, str, Any]]:
    """Every scalar below ``model``: (path, owner, field, value). Nested steps are left out: they come by themselves."""
    for name, field in model.__class__.model_fields.items():
        value = getattr(model, name)
        if value is None or (isinstance(model, Step) and name in ("parallel", "repeat")):
            continue
        yield from _leaf(value, f"{path}.{field.alias or name}", model, name)


def _leaf(value: Any, at: str, owner: BaseModel, name: str) -> Iterator[tuple[str, BaseModel, str, Any]]:
    if isinstance(value, BaseModel):
        yield from _leaves(value, at)
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _leaf(item, f"{at}[{index}]", owner, "" if name == "partitions" else name)
    else:
        yield at, owner, name, value


def _random(path: str, random: RandomFaults, cluster: Cluster) -> Iterator[Problem]:
    of_other_mode = {"upgradeMetadata"} if cluster.mode == "zookeeper" else set()
    known = sorted({*drawn_kinds(), *RANDOM_ADMINISTRATION} - of_other_mode)
    for kind in [kind for kind in random.faults if kind not in known]:
        yield Problem(f"{path}.faults.{kind}", f"unknown kind of fault or administration; known are {listed(known)}")
    for index, rpc in enumerate(random.rpcs or []):
        if rpc not in RANDOM_RPCS:
            yield Problem(f"{path}.rpcs[{index}]", f"found {rpc!r}; rules are drawn for {listed(list(RANDOM_RPCS))}")


def _checks(experiment: ChaosExperiment) -> Iterator[Problem]:
    for index, name in enumerate(experiment.spec.checks):
        if name != ALL and name not in MEANINGS:
            yield Problem(
                f"spec.checks[{index}]", f"unknown check {name!r}; known are all, {', '.join(sorted(MEANINGS))}"
            )
        elif name in REGISTER_CHECKS and experiment.spec.workload.metadata is None:
            yield Problem(f"spec.checks[{index}]", f"{name} needs clients of registers: spec.workload.metadata")


def _expectations(experiment: ChaosExperiment) -> Iterator[Problem]:
    for index, entry in enumerate(experiment.spec.expect):
        path = f"spec.expect[{index}]"
        for name, value in entry.when.items():
            if name in VERSIONS:
                yield from condition_problems(f"{path}.when.{name}", name, value, experiment.spec.cluster)
            elif problem := switch_problem(name, value, experiment.spec.cluster):
                yield Problem(f"{path}.when.{name}", problem)
        for number, anomaly in enumerate(entry.anomalies):
            if anomaly not in MEANINGS:
                known = ", ".join(sorted(MEANINGS))
                yield Problem(f"{path}.anomalies[{number}]", f"unknown anomaly {anomaly!r}; known are {known}")
        if entry.anomalies and entry.verdict != "fail":
            yield Problem(f"{path}.anomalies", f"verdict {entry.verdict!r} goes without anomalies")
        known_assertions = [assertion.name for assertion in experiment.spec.assertions]
        for number, name in enumerate(entry.assertions):
            if name not in known_assertions:
                yield Problem(
                    f"{path}.assertions[{number}]",
                    f"there is no assertion {name!r}; there are: {listed(known_assertions)}",
                )
        if entry.assertions and entry.verdict != "fail":
            yield Problem(f"{path}.assertions", f"verdict {entry.verdict!r} goes without failed assertions")
        yield from _logged(f"{path}.logged", entry, experiment.spec.cluster)


def _logged(path: str, entry: Expectation, cluster: Cluster | None) -> Iterator[Problem]:
    names = None if cluster is None else list(node_names(cluster))
    for number, one in enumerate(entry.logged):
        if not one.line.strip("* "):
            yield Problem(f"{path}[{number}].line", f"every line has it: give a part of the line; found {one.line!r}")
        if one.node is not None and names is not None and one.node not in names:
            yield Problem(f"{path}[{number}].node", f"there is no node {one.node!r}; there are: {listed(names)}")


def _assertions(experiment: ChaosExperiment) -> Iterator[Problem]:
    """What cannot be judged is refused now, not found out when the run is over."""
    names: set[str] = set()
    for index, assertion in enumerate(experiment.spec.assertions):
        path = f"spec.assertions[{index}]"
        if assertion.name in names:
            yield Problem(f"{path}.name", f"assertion {assertion.name!r} is given twice")
        names.add(assertion.name)
        if (problem := _promql(assertion.promql)) is not None:
            yield Problem(f"{path}.promql", problem)
        runtime = "highwater" if experiment.spec.cluster is None else experiment.spec.cluster.runtime
        if runtime != "highwater" and experiment.spec.prometheus is None:
            yield Problem(path, f"the harness samples metrics of our own nodes only, not of {runtime}")
    if experiment.spec.prometheus is not None and not experiment.spec.assertions:
        yield Problem("spec.prometheus", "is asked for assertions only, and there are none")
    if experiment.spec.prometheus is not None and experiment.spec.prometheus.timeout == 0:
        yield Problem("spec.prometheus.timeout", "expected more than 0")
    labels = {} if experiment.spec.prometheus is None else experiment.spec.prometheus.labels or {}
    for name in labels:
        if not _LABEL.fullmatch(name):
            yield Problem(f"spec.prometheus.labels.{name}", "is no name of a label: letters, digits and underscores")


def _promql(text: str) -> str | None:
    """Why this is no condition, or None."""
    try:
        expression = parse(text)
    except PromqlError as error:
        return str(error)
    if not any(selectors(expression)):
        return "names no metric, so that it says nothing of a run"
    if is_never_empty(expression):
        return "with bool its result is never empty, so that it would hold whatever is compared: leave bool out"
    return None
