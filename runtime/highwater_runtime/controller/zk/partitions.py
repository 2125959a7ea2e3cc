"""Adding and removing partitions of a topic: ``/admin/partitions_add/T/P`` and ``/admin/partitions_remove/T/P`` (V3).

The document writes the leaders first and the topic's assignment last. Here the assignment comes first, in one multi
with the deletion of what asked for it: a partition that is assigned and has no leader yet is one that the next
controller takes up, while a leader of a partition that is not assigned is one that nobody knows of.
"""

from __future__ import annotations

from collections.abc import Iterable

from highwater_runtime.controller.zk.context import NO_NODE, ControllerContext, PartitionKey
from highwater_runtime.controller.zk.election import Elected
from highwater_runtime.controller.zk.loading import Tree
from highwater_runtime.controller.zk.work import DeposedError, Work, in_batches
from highwater_runtime.controller.zk.writes import reread
from highwater_runtime.metadata import PartitionRegistration
from highwater_runtime.metadata.znodes import (
    ReplicasNode,
    TopicNode,
    ZnodeError,
    decode_node,
    encode_node,
    leader_and_isr_path,
    partition_path,
    topic_path,
)
from highwater_runtime.ports.coordination import Aborted, Data, Delete, Multi, Set, Step

_AT_ONCE = 500
"""Partitions in one multi."""


def add_partitions(context: ControllerContext, elected: Elected, asked: Tree) -> Work[bool]:
    """Assign what is asked for. False: not all could be written; read again what is asked for, and go on.

    Raises:
        DeposedError: there is a newer controller.
    """
    done = True
    for topic, nodes in asked.by_topic().items():
        for batch in in_batches(nodes.items(), lambda _: 1, _AT_ONCE):
            wanted = {index: _replicas(f"{asked.root}/{topic}/{index}", node) for index, node in batch}
            orders: list[Step] = [Delete(f"{asked.root}/{topic}/{index}") for index in wanted]
            known = _partitions(context, topic)
            new = {index: replicas for index, replicas in wanted.items() if replicas and index not in known}
            if not known or not new:
                yield orders
            else:
                node = context.topic_node(topic)
                written = yield from _assign(context, elected, topic, _with(node, {**node.partitions, **new}), orders)
                done = done and written
        yield [Delete(f"{asked.root}/{topic}")]
    return done


def remove_partitions(context: ControllerContext, elected: Elected, asked: Tree) -> Work[bool]:
    """Take out of the assignment what is asked for, but never the whole topic. False: as :func:`add_partitions`.

    Raises:
        DeposedError: there is a newer controller.
    """
    done = True
    for topic, nodes in asked.by_topic().items():
        for batch in in_batches(nodes, lambda _: 1, _AT_ONCE):
            orders: list[Step] = [Delete(f"{asked.root}/{topic}/{index}") for index in batch]
            known = _partitions(context, topic)
            going = {index: known[index] for index in batch if index in known}
            if not going or len(going) == len(known):
                yield orders
                continue
            states: list[Step] = [
                Delete(path(topic, index))
                for index, state in going.items()
                if state.partition_epoch != NO_NODE
                for path in (leader_and_isr_path, partition_path)
            ]
            node = context.topic_node(topic)
            left = {index: replicas for index, replicas in node.partitions.items() if index not in going}
            written = yield from _assign(context, elected, topic, _with(node, left), [*states, *orders])
            done = done and written
        yield [Delete(f"{asked.root}/{topic}")]
    return done


def _partitions(context: ControllerContext, topic: str) -> dict[int, PartitionRegistration]:
    """Those of a topic that is there and stays."""
    image = context.image.topics_by_name.get(topic)
    return {} if image is None or context.is_going(topic) else dict(image.partitions)


def _assign(
    context: ControllerContext, elected: Elected, topic: str, node: TopicNode, steps: Iterable[Step]
) -> Work[bool]:
    """Whether it is written; if not, the topic has been read again."""
    version = context.topic_versions[topic]
    write = Set(topic_path(topic), encode_node(node), version)
    (outcome,) = yield [Multi(steps=(elected.guard, write, *steps))]
    if isinstance(outcome, tuple):
        context.assign(topic, node, version + 1)
        return True
    if isinstance(outcome, Aborted) and outcome.index == 0:
        raise DeposedError
    image = context.image.topics_by_name[topic]
    yield from reread(context, [PartitionKey(topic, index) for index in image.partitions])
    return False


def _replicas(path: str, node: Data) -> tuple[int, ...]:
    """Those that are asked for; none where that makes no sense."""
    try:
        replicas = decode_node(ReplicasNode, path, node.data).replicas
    except ZnodeError:
        return ()
    return replicas if len(set(replicas)) == len(replicas) else ()


def _with(node: TopicNode, partitions: dict[int, tuple[int, ...]]) -> TopicNode:
    return TopicNode(
        partitions=partitions,
        topic_id=node.topic_id,
        adding_replicas={i: r for i, r in node.adding_replicas.items() if i in partitions},
        removing_replicas={i: r for i, r in node.removing_replicas.items() if i in partitions},
    )
