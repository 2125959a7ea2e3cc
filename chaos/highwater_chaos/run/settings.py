"""From an experiment to the settings on which promises to clients depend (``highwater_pipeline.tables.settings``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from highwater_chaos.experiment import ChaosExperiment, ExperimentSpec
from highwater_chaos.experiment.faults import Effect, FaultModel, effect_of, fault_kinds
from highwater_chaos.experiment.properties import (
    Properties,
    elects_uncleanly,
    every_step,
    keys_of,
    never_elects_uncleanly,
    properties_of_nodes,
    properties_of_topics,
    tombstone_retention_ms,
    tombstones_of,
)
from highwater_chaos.faults import Fault
from highwater_chaos.run.promised import Changes, promised
from highwater_pipeline.tables.settings import DEFAULT_PRODUCER_EXPIRATION_MS, EVERY_TOPIC, Settings
from highwater_runtime.config import NodeConfig


def settings_of(experiment: ChaosExperiment, changes: Changes | None = None) -> Settings:
    """What the experiment's clients and topics are set to, as far as a promise to clients depends on it.

    A property that nodes get later, by a restart, counts as if they had it from the beginning; but for what is
    ``promised`` of topics, if the ``changes`` of the run are known.
    """
    spec = experiment.spec
    nodes, topics = properties_of_nodes(spec), properties_of_topics(spec)
    deletion = {EVERY_TOPIC} if nodes is None else set(_deleted(spec))  # others may use a borrowed cluster
    deleting = {name for name, properties in topics if _deletes(properties)}
    compacting = {name for name, properties in topics if "compact" in properties.get("cleanup.policy", "")}
    records_deleted = set(_records_deleted(spec))
    deleting |= records_deleted
    if nodes is None or any(map(_deletes, nodes)):
        deleting.add(EVERY_TOPIC)  # what a borrowed cluster's nodes are set to is not known
    if any("compact" in properties.get("log.cleanup.policy", "") for properties in nodes or ()):
        compacting.add(EVERY_TOPIC)
    unclean = {name for name, properties in topics if elects_uncleanly(properties)}
    if nodes is None or any(map(elects_uncleanly, nodes)):
        unclean.add(EVERY_TOPIC)
    return Settings(
        acks=spec.workload.acks,
        idempotence=spec.workload.idempotence,
        retention=tuple(sorted(deleting)),
        compaction=tuple(sorted(compacting)),
        keys=keys_of(spec),
        tombstones=tombstones_of(spec),
        tombstone_retention_ms={} if clocks_off_ms(spec) else tombstone_retention_ms(spec),
        headers=True,
        deletion=tuple(sorted(deletion)),
        unclean=tuple(sorted(unclean)),
        never_unclean=tuple(sorted({name for name, properties in topics if never_elects_uncleanly(properties)})),
        lost_command_ms=_lost_command_ms(spec),
        commit_retention_ms=_commit_retention_ms(spec, nodes),
        producer_expiration_ms=_producer_expiration_ms(spec, nodes or ()),
        drawn_clocks_off_ms=_drawn_clocks_off_ms(spec),
        resends_in_new_epochs=spec.workload.driver != "highwater",
        disks_kept=nodes is not None and not _may_lose_disks(spec),
        promised=promised(spec, changes, may_delete=deletion, may_delete_records=records_deleted),
    )


def _lost_command_ms(spec: ExperimentSpec) -> int:
    """In ZooKeeper mode the controller sends a broker one command after the other, and waits for each response."""
    if spec.cluster is None or spec.cluster.mode != "zookeeper":
        return 0
    kinds: set[str] = set()
    for step in every_step(spec.schedule):
        if step.inject is not None:
            kinds.update(step.inject.model_dump(exclude_none=True))
        if step.random is not None:
            kinds.update(step.random.faults)
    if not any(Effect.LOSES_RESPONSES in effect_of(kind) for kind in kinds):
        return 0
    name, default = "controller.socket.timeout.ms", NodeConfig().controller_socket_timeout_ms
    at_first = int(spec.cluster.config.get(name, default))
    return max([at_first, *(int(one[name]) for one in properties_of_nodes(spec) or () if name in one)])


def _producer_expiration_ms(spec: ExperimentSpec, nodes: Sequence[Properties]) -> int:
    """How long a leader remembers a producer at least, by the right clock; as long as by default on a borrowed cluster.

    A leader compares its own clock with a time stamp that the clock of another node may have set.
    """
    name = "producer.id.expiration.ms"
    expiration = min([DEFAULT_PRODUCER_EXPIRATION_MS, *(int(one[name]) for one in nodes if name in one)])
    return max(0, expiration - 2 * clocks_off_ms(spec))


def _may_lose_disks(spec: ExperimentSpec) -> bool:
    """Whether a step may take from a disk what is on it, or is to be."""
    kinds: list[type[FaultModel]] = []
    for step in every_step(spec.schedule):
        if step.inject is not None and isinstance(step.inject.chosen, FaultModel):
            kinds.append(type(step.inject.chosen))
        if step.random is not None:
            kinds += [fault_kinds()[name] for name in step.random.faults if name in fault_kinds()]
    return any(Effect.FAILS_LOGS in kind.EFFECT or (issubclass(kind, Fault) and kind.LOSES_CACHE) for kind in kinds)


def clocks_off_ms(spec: ExperimentSpec) -> int:
    """How far the steps may set a clock off, at most."""
    farthest = _drawn_clocks_off_ms(spec)
    for step in every_step(spec.schedule):
        if step.inject is not None and isinstance(step.inject.chosen, FaultModel):
            farthest = max(farthest, -(-step.inject.chosen.clock_error_ns(spec.timeout) // 1_000_000))
    return farthest


def _drawn_clocks_off_ms(spec: ExperimentSpec) -> int:
    """The same of faults that are drawn, which no file can foretell."""
    names = {name for step in every_step(spec.schedule) if step.random is not None for name in step.random.faults}
    drawn = [kind for name, kind in fault_kinds().items() if name in names]
    return -(-max([0, *(kind.drawn_clock_error_ns(spec.timeout) for kind in drawn)]) // 1_000_000)


def _commit_retention_ms(spec: ExperimentSpec, nodes: Sequence[Properties] | None) -> int | None:
    """How long a group's offsets are kept at least; None for a borrowed cluster, 0 if a clock may jump."""
    if nodes is None:
        return None
    if clocks_off_ms(spec):
        return 0
    name, default = "offsets.retention.minutes", NodeConfig().offsets_retention_minutes
    return 60_000 * min([default, *(int(one[name]) for one in nodes if name in one)])


def _deletes(properties: Properties) -> bool:
    """Whether properties of a topic or of nodes set a bound on what is kept. The default, seven days, counts for none:
    what it deletes in a run shows in node events."""
    return any(
        name.removeprefix("log.").startswith("retention.") and value != "-1" for name, value in properties.items()
    )


def _deleted(spec: ExperimentSpec) -> Iterator[str]:
    """The names of the topics that steps may delete."""
    for step in every_step(spec.schedule):
        if step.admin is not None and step.admin.delete_topic is not None:
            yield step.admin.delete_topic.name
        if step.random is not None and "deleteTopic" in step.random.faults:
            yield EVERY_TOPIC


def _records_deleted(spec: ExperimentSpec) -> Iterator[str]:
    """The names of the topics of which steps may delete records."""
    for step in every_step(spec.schedule):
        if step.admin is not None and step.admin.delete_records is not None:
            yield step.admin.delete_records.partition.rpartition("-")[0]
        if step.random is not None and "deleteRecords" in step.random.faults:
            yield EVERY_TOPIC
