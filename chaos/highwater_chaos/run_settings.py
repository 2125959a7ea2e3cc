"""From an experiment to the settings on which promises to clients depend (``highwater_pipeline.settings``)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.steps import CreateTopic, Step
from highwater_pipeline.settings import EVERY_TOPIC, Settings
from highwater_runtime.config import NodeConfig

_LOSE_RESPONSES: Final = frozenset({"drop", "hold", "delay", "partition", "pause"})
"""Faults by which a response may not come, or not for a while, though both nodes live on."""


def settings_of(experiment: ChaosExperiment) -> Settings:
    """What the experiment's clients and topics are set to, as far as a promise to clients depends on it."""
    spec = experiment.spec
    if spec.cluster is None:
        assert spec.cluster_ref is not None
        topics, nodes = spec.cluster_ref.topics, None
    else:
        topics, nodes = spec.cluster.topics, spec.cluster.config
    every = [*topics, *_created(spec.schedule)]
    deletion = {EVERY_TOPIC} if nodes is None else set(_deleted(spec.schedule))  # others may use a borrowed cluster
    configs = [(topic.name, {name: str(value) for name, value in topic.config.items()}) for topic in every]
    deleting = {name for name, config in configs if _deletes(config)}
    compacting = {name for name, config in configs if "compact" in config.get("cleanup.policy", "")}
    deleting |= set(_records_deleted(spec.schedule))
    if nodes is None or _deletes({name: str(value) for name, value in nodes.items()}):
        deleting.add(EVERY_TOPIC)  # what a borrowed cluster's nodes are set to is not known
    if nodes is not None and "compact" in str(nodes.get("log.cleanup.policy", "")):
        compacting.add(EVERY_TOPIC)
    unclean = {name for name, config in configs if _elects_uncleanly(config)}
    if nodes is None or _elects_uncleanly({name: str(value) for name, value in nodes.items()}):
        unclean.add(EVERY_TOPIC)
    return Settings(
        acks=spec.workload.acks,
        idempotence=spec.workload.idempotence,
        retention=tuple(sorted(deleting)),
        compaction=tuple(sorted(compacting)),
        deletion=tuple(sorted(deletion)),
        unclean=tuple(sorted(unclean)),
        lost_command_ms=_lost_command_ms(experiment),
    )


def _lost_command_ms(experiment: ChaosExperiment) -> int:
    """In ZooKeeper mode the controller sends a broker one command after the other, and waits for each response."""
    cluster = experiment.spec.cluster
    if cluster is None or cluster.mode != "zookeeper":
        return 0
    kinds: set[str] = set()
    for step in _all_steps(experiment.spec.schedule):
        if step.inject is not None:
            kinds.update(step.inject.model_dump(exclude_none=True))
        if step.random is not None:
            kinds.update(step.random.faults)
    default = NodeConfig().controller_socket_timeout_ms
    return int(cluster.config.get("controller.socket.timeout.ms", default)) if kinds & _LOSE_RESPONSES else 0


def _elects_uncleanly(config: Mapping[str, str]) -> bool:
    """Whether properties of a topic or of nodes allow a leader from outside the ISR."""
    return config.get("unclean.leader.election.enable", "false").lower() == "true"


def _deletes(config: Mapping[str, str]) -> bool:
    """Whether properties of a topic or of nodes set a bound on what is kept. The default, seven days, counts for none:
    what it deletes in a run shows in node events."""
    return any(name.removeprefix("log.").startswith("retention.") and value != "-1" for name, value in config.items())


def _created(steps: Sequence[Step]) -> Iterator[CreateTopic]:
    """The topics that steps create."""
    for step in _all_steps(steps):
        if step.admin is not None and step.admin.create_topic is not None:
            yield step.admin.create_topic


def _deleted(steps: Sequence[Step]) -> Iterator[str]:
    """The names of the topics that steps may delete."""
    for step in _all_steps(steps):
        if step.admin is not None and step.admin.delete_topic is not None:
            yield step.admin.delete_topic.name
        if step.random is not None and "deleteTopic" in step.random.faults:
            yield EVERY_TOPIC


def _records_deleted(steps: Sequence[Step]) -> Iterator[str]:
    """The names of the topics of which steps may delete records."""
    for step in _all_steps(steps):
        if step.admin is not None and step.admin.delete_records is not None:
            yield step.admin.delete_records.partition.rpartition("-")[0]
        if step.random is not None and "deleteRecords" in step.random.faults:
            yield EVERY_TOPIC


def _all_steps(steps: Sequence[Step]) -> Iterator[Step]:
    """Steps wherever in a schedule they stand."""
    for step in steps:
        yield step
        for branch in step.parallel or ():
            yield from _all_steps(branch)
        if step.repeat is not None:
            yield from _all_steps(step.repeat.steps)
