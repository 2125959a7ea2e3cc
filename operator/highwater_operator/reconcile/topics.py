"""The topics that a LogCluster asks for: missing ones are created, existing ones are never changed, only compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from highwater_chaos.experiment.steps import CreateTopic
from highwater_operator.admin import ClusterView, TopicView


def missing(wanted: Sequence[CreateTopic], view: ClusterView) -> list[CreateTopic]:
    """Topics to create."""
    return [topic for topic in wanted if topic.name not in view.topics]


def differences(wanted: Sequence[CreateTopic], view: ClusterView) -> list[str]:
    """How existing topics are otherwise than asked for, in words."""
    return [
        f"topic {topic.name} {found}"
        for topic in wanted
        if topic.name in view.topics
        for found in _differs(topic, view.topics[topic.name])
    ]


def _differs(wanted: CreateTopic, live: TopicView) -> Iterator[str]:
    if wanted.assignment is not None:
        found = [list(partition.replicas) for partition in live.partitions]
        if found != wanted.assignment:
            yield f"has replicas {found}, not {wanted.assignment} as the LogCluster says"
        return
    if len(live.partitions) != wanted.partitions:
        yield f"has {len(live.partitions)} partitions, not {wanted.partitions} as the LogCluster says"
    factors = {len(partition.replicas) for partition in live.partitions}
    if wanted.replication_factor is not None and factors - {wanted.replication_factor}:
        yield f"has replication factor {max(factors)}, not {wanted.replication_factor} as the LogCluster says"
