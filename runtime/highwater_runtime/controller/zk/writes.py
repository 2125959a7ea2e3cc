"""Writing decisions to ZooKeeper: batched by multi, many multis under way, each fenced by the controller's epoch.

A multi is all or nothing. Where it fails, because a leader has changed an ISR meanwhile (BAD_VERSION) or because its
outcome is not known, everything in it is read again and decided again (V3, A 3.3). What was in it and in fact was
written is then found to be there already, so the brokers get it all the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from msgspec.structs import replace

from highwater_runtime.controller.zk.context import NO_NODE, ControllerContext, PartitionKey, Target
from highwater_runtime.controller.zk.decisions import Change
from highwater_runtime.controller.zk.election import Elected
from highwater_runtime.controller.zk.work import DeposedError, Work, in_batches, read
from highwater_runtime.metadata import NO_LEADER, PartitionRegistration
from highwater_runtime.metadata.znodes import (
    PARTITIONS_REASSIGNED,
    LeaderAndIsrNode,
    ReplicasNode,
    TopicNode,
    ZnodeError,
    decode_node,
    encode_node,
    leader_and_isr_path,
    partition_path,
    topic_path,
)
from highwater_runtime.ports.coordination import (
    Aborted,
    Create,
    Data,
    Delete,
    Failure,
    Get,
    Multi,
    Set,
    Step,
)

MOST_BYTES: Final = 500_000
"""Of one multi: well below what a server accepts in one request."""
_STEP_BYTES: Final = 1_000
"""A step counts as at least so many bytes: a multi has at most 500 steps, and a server is not held up by one."""

Decide = Callable[[PartitionKey], "Change | None"]


def order_path(key: PartitionKey) -> str:
    """``/admin/partitions_reassigned/T/P``."""
    return f"{PARTITIONS_REASSIGNED}/{key.topic}/{key.partition}"


def write(
    context: ControllerContext, elected: Elected, keys: Iterable[PartitionKey], decide: Decide
) -> Work[dict[PartitionKey, PartitionRegistration]]:
    """Decide for each of ``keys`` and write that, again where it must be. Returns the partitions whose state is another
    than it was, each with the one before.

    Raises:
        DeposedError: there is a newer controller.
    """
    changed: dict[PartitionKey, PartitionRegistration] = {}
    todo = list(keys)
    while todo:
        decided = [(key, decide(key)) for key in todo]
        batches = _batches(context, elected.epoch, [change for _, change in decided if change is not None])
        operations = [Multi(steps=(elected.guard, *steps)) for _, steps in batches]
        again: list[PartitionKey] = []
        empty: list[PartitionKey] = []
        outcomes = (yield operations) if operations else []
        for (changes, _), outcome in zip(batches, outcomes, strict=True):
            if isinstance(outcome, tuple):
                for change in changes:
                    changed.setdefault(change.key, change.before)
                    _apply(context, elected.epoch, change)
            elif isinstance(outcome, Aborted) and outcome.index == 0:
                raise DeposedError
            else:
                again += [change.key for change in changes]
                empty += [change.key for change in changes if change.before.partition_epoch == NO_NODE]
        if empty:  # a parent without its leaderAndISR is in the way; one that has it cannot be deleted
            yield [Delete(partition_path(*key)) for key in empty]
        for key, before in (yield from reread(context, again)).items():
            changed.setdefault(key, before)
        todo = again
    return changed


def reread(context: ControllerContext, keys: list[PartitionKey]) -> Work[dict[PartitionKey, PartitionRegistration]]:
    """Read partitions again: assignment, leader and ISR, and the order to move them. Returns those that were another,
    each with the state before."""
    before = {key: state for key in keys if (state := context.partition(key)) is not None}
    topics = list(dict.fromkeys(key.topic for key in before))
    nodes = yield from read([Get(topic_path(topic)) for topic in topics])
    for topic, node in zip(topics, nodes, strict=True):
        if isinstance(node, Data):
            context.assign(topic, decode_node(TopicNode, topic_path(topic), node.data), node.stat.version)
        else:
            context.gone[topic] = None
    known = [key for key in before if context.partition(key) is not None]
    found = yield from read([Get(leader_and_isr_path(*key)) for key in known])
    orders = yield from read([Get(order_path(key)) for key in known])
    for key, node, order in zip(known, found, orders, strict=True):
        take_up(context, key, node)
        take_up_order(context, key, order)
    return {key: state for key, state in before.items() if context.partition(key) not in (None, state)}


def take_up(context: ControllerContext, key: PartitionKey, node: Data | Failure) -> None:
    """What was read of a partition's leaderAndISR."""
    if isinstance(node, Data):
        path = leader_and_isr_path(*key)
        context.lead(key, decode_node(LeaderAndIsrNode, path, node.data), node.stat.version)
    elif (known := context.partition(key)) is not None:
        context.put(key, replace(known, isr=(), leader=NO_LEADER, leader_epoch=-1, partition_epoch=NO_NODE))


def take_up_order(context: ControllerContext, key: PartitionKey, node: Data | Failure) -> None:
    """What was read of the order to move a partition."""
    context.reassigned.pop(key, None)
    if isinstance(node, Data):
        try:
            replicas = decode_node(ReplicasNode, order_path(key), node.data).replicas
        except ZnodeError:
            return
        if replicas and len(set(replicas)) == len(replicas):
            context.reassigned[key] = Target(replicas, node.stat.version)


def _apply(context: ControllerContext, epoch: int, change: Change) -> None:
    if change.leads:
        context.controller_epochs[change.key] = epoch
    if change.done is not None:
        context.reassigned.pop(change.key, None)
    context.put(change.key, change.after)


Batch = tuple[list[Change], tuple[Step, ...]]


def _batch(parts: list[tuple[Change, tuple[Step, ...]]]) -> Batch:
    return [change for change, _ in parts], tuple(step for _, steps in parts for step in steps)


def _batches(context: ControllerContext, epoch: int, changes: list[Change]) -> list[Batch]:
    """Multis, without their guard. Those of one topic's assignment rest on each other by the version of its node."""
    alone = [change for change in changes if not change.moves]
    batches: list[Batch] = []
    parts = [(change, _steps(epoch, change)) for change in alone]
    batches += map(_batch, in_batches(parts, lambda part: _size(part[1]), MOST_BYTES))
    moving: dict[str, list[Change]] = {}
    for change in changes:
        if change.moves:
            moving.setdefault(change.key.topic, []).append(change)
    for topic, moves in moving.items():
        node, version = context.topic_node(topic), context.topic_versions[topic]
        room = MOST_BYTES - len(encode_node(node))
        for batch in in_batches([(change, _steps(epoch, change)) for change in moves], lambda one: _size(one[1]), room):
            node = _moved(node, [change for change, _ in batch])
            assignment = Set(topic_path(topic), encode_node(node), version)
            version += 1
            steps = (assignment, *(step for _, steps in batch for step in steps))
            batches.append(([change for change, _ in batch], steps))
        context.topic_versions[topic] = version
    return batches


def _moved(node: TopicNode, changes: list[Change]) -> TopicNode:
    partitions, adding, removing = (dict(t) for t in (node.partitions, node.adding_replicas, node.removing_replicas))
    for change in changes:
        index, after = change.key.partition, change.after
        partitions[index] = after.replicas
        for table, replicas in ((adding, after.adding_replicas), (removing, after.removing_replicas)):
            table.pop(index, None)
            if replicas:
                table[index] = replicas
    return TopicNode(partitions=partitions, topic_id=node.topic_id, adding_replicas=adding, removing_replicas=removing)


def _steps(epoch: int, change: Change) -> tuple[Step, ...]:
    steps: list[Step] = []
    if change.leads:
        after = change.after
        data = encode_node(
            LeaderAndIsrNode(
                leader=after.leader,
                leader_epoch=after.leader_epoch,
                isr=after.isr,
                controller_epoch=epoch,
                leader_recovery_state=int(after.leader_recovery_state),
            )
        )
        path = leader_and_isr_path(*change.key)
        if change.before.partition_epoch == NO_NODE:
            steps += [Create(partition_path(*change.key)), Create(path, data)]
        else:
            steps.append(Set(path, data, change.before.partition_epoch))
    if change.done is not None:
        steps.append(Delete(order_path(change.key), change.done.version))
    return tuple(steps)


def _size(steps: tuple[Step, ...]) -> int:
    return sum(_STEP_BYTES + (0 if isinstance(step, Delete) else len(getattr(step, "data", b""))) for step in steps)
