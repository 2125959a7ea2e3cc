"""Deleting topics (V3, B 2; Kafka's TopicDeletionManager): ``/admin/delete_topics/T``.

Every replica must have confirmed that it is gone; one on a dead broker is waited for until the broker is back. Then all
nodes of the topic go in one multi, or in several where they are too many: partitions first, the order to delete last,
so that a controller that dies in between leaves something to go on from.
"""

from __future__ import annotations

from highwater_runtime.config import NodeConfig
from highwater_runtime.controller.zk.context import ControllerContext, PartitionKey
from highwater_runtime.controller.zk.election import Elected
from highwater_runtime.controller.zk.work import DeposedError, Work, in_batches, read
from highwater_runtime.metadata.znodes import (
    DELETE_TOPICS,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    leader_and_isr_path,
    partition_path,
    topic_config_path,
    topic_path,
)
from highwater_runtime.ports.coordination import Aborted, Children, Delete, Exists, Listing, Multi, Stat

MOST_STEPS = 1000
"""Of one multi of deletions."""


def begin_deletions(context: ControllerContext, config: NodeConfig, names: list[str]) -> Work[list[str]]:
    """Mark the topics that are to be deleted; returns those that were not yet. Orders that make no sense go."""
    useless = [name for name in names if name not in context.image.topics_by_name or not config.delete_topic_enable]
    if useless:
        yield [Delete(f"{DELETE_TOPICS}/{name}") for name in useless]
    begun = [name for name in names if name not in useless and name not in context.deleting]
    for topic in begun:
        partitions = context.image.topics_by_name[topic].partitions.items()
        context.deleting[topic] = {(index, replica): None for index, state in partitions for replica in state.replicas}
        for index, _ in partitions:
            context.reassigned.pop(PartitionKey(topic, index), None)
    return begun


def delete_nodes(context: ControllerContext, elected: Elected, topic: str) -> Work[None]:
    """Delete every node of the topic.

    Raises:
        DeposedError: there is a newer controller.
    """
    indexes = list(context.image.topics_by_name[topic].partitions)
    while True:
        paths = [path(topic, index) for index in indexes for path in (leader_and_isr_path, partition_path)]
        paths += [topic_path(topic), topic_config_path(topic)]
        parents = [f"{root}/{topic}" for root in (PARTITIONS_REASSIGNED, PARTITIONS_ADD, PARTITIONS_REMOVE)]
        for parent, listing in zip(parents, (yield from read([Children(p) for p in parents])), strict=True):
            if isinstance(listing, Listing):
                paths += [*(f"{parent}/{name}" for name in listing.names), parent]
        stats = yield from read([Exists(path) for path in paths])
        steps = [Delete(path) for path, stat in zip(paths, stats, strict=True) if isinstance(stat, Stat)]
        steps.append(Delete(f"{DELETE_TOPICS}/{topic}"))
        batches = in_batches(steps, lambda _: 1, MOST_STEPS)
        outcomes = yield [Multi(steps=(elected.guard, *batch)) for batch in batches]
        if any(isinstance(outcome, Aborted) and outcome.index == 0 for outcome in outcomes):
            raise DeposedError
        (left,) = yield from read([Exists(f"{DELETE_TOPICS}/{topic}")])
        if not isinstance(left, Stat):
            return
