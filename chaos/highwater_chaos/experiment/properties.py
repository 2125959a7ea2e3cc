"""The properties that an experiment gives to nodes and topics, wherever in the file it does so.

Nodes have those of ``spec.cluster.config``, and from a ``restart`` on those that it gives. Topics are there from the
beginning, or a step creates them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from highwater_chaos.experiment.model import ExperimentSpec
from highwater_chaos.experiment.steps import CreateTopic, Step

Properties = dict[str, str]
"""By Kafka's names."""


_COMPACTS: Final = "compact"
_KEYS: Final = 100
_TOMBSTONES: Final = 0.1
_RETENTION: Final = "delete.retention.ms"
_RETENTION_MS: Final = 86_400_000
_MOST_MS: Final = 2**63 - 1


def every_step(steps: Sequence[Step]) -> Iterator[Step]:
    """Yield all steps of a schedule, those inside ``parallel`` and ``repeat`` too."""
    for step in steps:
        yield step
        for branch in step.parallel or ():
            yield from every_step(branch)
        if step.repeat is not None:
            yield from every_step(step.repeat.steps)


def properties_of_nodes(spec: ExperimentSpec) -> list[Properties] | None:
    """Return the properties that nodes have at first, and those that each restart adds; None: a cluster that exists
    already, whose properties are not known."""
    if spec.cluster is None:
        return None
    injected = [step.inject.chosen for step in every_step(spec.schedule) if step.inject is not None]
    restarts = [found for fault in injected if isinstance(found := getattr(fault, "config", None), Mapping)]
    return [as_text(config) for config in (spec.cluster.config, *restarts)]


def topics_at_first(spec: ExperimentSpec) -> list[CreateTopic]:
    """Return the topics that are there from the beginning."""
    at_first = spec.cluster or spec.cluster_ref
    assert at_first is not None
    return at_first.topics


def every_topic(spec: ExperimentSpec) -> list[CreateTopic]:
    """Return the topics that are there from the beginning, and those that steps create."""
    admins = [step.admin for step in every_step(spec.schedule) if step.admin is not None]
    return [*topics_at_first(spec), *(admin.create_topic for admin in admins if admin.create_topic is not None)]


def properties_of_topics(spec: ExperimentSpec) -> list[tuple[str, Properties]]:
    """Return the name of each topic, with the properties that it is created with."""
    return [(topic.name, as_text(topic.config)) for topic in every_topic(spec)]


def elects_uncleanly(properties: Properties) -> bool:
    """Return whether properties of a topic or of nodes allow a leader from outside the ISR."""
    return properties.get("unclean.leader.election.enable", "false").lower() == "true"


def keys_of(spec: ExperimentSpec) -> int:
    """Return how many keys the records of the workload have; 0: none. Compacted topics take no records without keys."""
    if spec.workload.keys is not None:
        return spec.workload.keys
    return _KEYS if _writes_to_compacted(spec) else 0


def tombstones_of(spec: ExperimentSpec) -> int:
    """Return how many of 1,000 records of the workload have no value."""
    share = spec.workload.tombstones
    if share is None:
        share = _TOMBSTONES if _writes_to_compacted(spec) else 0
    return round(1000 * share) if keys_of(spec) else 0


def tombstone_retention_ms(spec: ExperimentSpec) -> dict[str, int]:
    """Return by topic how long compaction keeps tombstones, at least; ``*``: in all other topics. Empty for a borrowed
    cluster, whose nodes' properties are not known."""
    nodes = properties_of_nodes(spec)
    if nodes is None:
        return {}
    of_nodes = f"log.cleaner.{_RETENTION}"
    by_default = min(
        [int(nodes[0].get(of_nodes, _RETENTION_MS)), *(int(one[of_nodes]) for one in nodes if of_nodes in one)]
    )
    kept = {"*": by_default}
    for name, properties in properties_of_topics(spec):
        kept[name] = min(kept.get(name, _MOST_MS), int(properties.get(_RETENTION, by_default)))
    return kept


def _writes_to_compacted(spec: ExperimentSpec) -> bool:
    by_default = any(_COMPACTS in one.get("log.cleanup.policy", "") for one in properties_of_nodes(spec) or ())
    written = spec.workload.topics
    batches = (step.produce for step in every_step(spec.schedule))
    others = {one.partition.rpartition("-")[0] for one in batches if one is not None}
    of_topics = [one for name, one in properties_of_topics(spec) if written is None or name in {*written, *others}]
    return any(_COMPACTS in one.get("cleanup.policy", _COMPACTS * by_default) for one in of_topics)


def timestamp_types(spec: ExperimentSpec) -> dict[str, str | None]:
    """Return the ``message.timestamp.type`` of each topic that may have another than Kafka's default; None: it may have
    either."""
    name, default = "message.timestamp.type", "CreateTime"
    nodes = properties_of_nodes(spec)
    by_default: set[str | None] = {None} if nodes is None else {nodes[0].get(f"log.{name}", default)}
    by_default |= {one[f"log.{name}"] for one in nodes or () if f"log.{name}" in one}
    kinds: dict[str, set[str | None]] = {}
    for topic, properties in properties_of_topics(spec):
        kinds.setdefault(topic, set()).update({properties[name]} if name in properties else by_default)
    for topic in spec.workload.topics or ():
        kinds.setdefault(topic, by_default)
    dated = {topic: next(iter(found)) if len(found) == 1 else None for topic, found in kinds.items()}
    return {topic: kind for topic, kind in dated.items() if kind != default}


def never_elects_uncleanly(properties: Properties) -> bool:
    """Return whether properties of a topic forbid a leader from outside the ISR, whatever the nodes' are."""
    return properties.get("unclean.leader.election.enable", "true").lower() == "false"


def as_text(config: Mapping[str, str | int | bool]) -> Properties:
    """Return properties of a file as Kafka has them."""
    return {name: str(value) for name, value in config.items()}
