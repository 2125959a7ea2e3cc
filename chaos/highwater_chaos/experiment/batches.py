"""Batches that no broker of the experiment would ever take, because a setting is below their size.

*Example.* ``recordSize`` is 1000 and ``message.max.bytes`` is 1000. A batch of one such record has 1,116 bytes, so each
write is refused with MESSAGE_TOO_LARGE, and the run says nothing about the log.

A batch must not be larger than ``max.message.bytes`` and ``segment.bytes`` of its topic, or than what nodes set for
topics without them. Sizes are those of uncompressed batches (message format 2). Limits of fetches (``fetch.max.bytes``,
``replica.fetch.max.bytes``) are no such settings: a fetch returns one whole batch at least.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from highwater_chaos.experiment.errors import Problem
from highwater_chaos.experiment.model import ExperimentSpec
from highwater_chaos.experiment.partitions import partition_count
from highwater_chaos.experiment.properties import (
    Properties,
    as_text,
    every_step,
    every_topic,
    keys_of,
    properties_of_nodes,
    tombstones_of,
    topics_at_first,
)

GROUP_METADATA_BYTES: Final = len("generation 99999")
"""The metadata of a commit of ``groupMembers``."""

_LIMITS: Final = (
    ("max.message.bytes", "message.max.bytes", 0, 1_048_588, "MESSAGE_TOO_LARGE"),
    ("segment.bytes", "log.segment.bytes", 14, 1_073_741_824, "RECORD_LIST_TOO_LARGE"),
)
"""Property of a topic, the same of nodes, the least that it takes, its default, and the error of a larger batch. What
is below the least, or is no number, is a problem of its own."""
_OF_GROUPS: Final = (
    ("message.max.bytes", 1_048_588),
    ("offsets.topic.segment.bytes", 104_857_600),
)
_BATCH_HEAD: Final = 61
_VALUE: Final = 10
"""Digits of a value, at least, but those of the first producer."""
_AROUND_VALUE: Final = 50
"""Bytes of a record beside its key, its value, the two lengths that depend on these, and the offset: header, other
lengths, time stamp, attributes."""
_SHORT_OFFSETS: Final = 64
"""Records of a batch whose offset takes one byte; that of the others takes two."""
_GENERATION, _MEMBER, _COMMIT = 170, 168, 61
"""Bytes of a group's generation without its members, of a member without the topics that it subscribes to, and of one
committed offset without its topic, at least."""


class _Batch(NamedTuple):
    bytes: int
    what: str


def batch_bytes(records: int, value_bytes: int, *, keyed: bool = False) -> int:
    """Return how large a batch of so many records of the workload is, at least."""
    body = _AROUND_VALUE + _varint_bytes(value_bytes) + value_bytes + keyed
    return _BATCH_HEAD + records * (body + 1 + _varint_bytes(body + 1)) + max(0, records - _SHORT_OFFSETS)


def too_large(spec: ExperimentSpec) -> Iterator[Problem]:
    """Yield each setting of nodes and topics that is below what the experiment writes, and the least that will do."""
    nodes = properties_of_nodes(spec) or [{}]
    found: dict[Problem, None] = {}
    for topic in every_topic(spec):
        batches = list(_batches(spec, topic.name))
        for restarted in nodes if batches else ():
            largest = max(batches)
            found |= dict.fromkeys(_of_topic(largest, topic.name, as_text(topic.config), {**nodes[0], **restarted}))
    yield from found


def groups_too_large(spec: ExperimentSpec, nodes: Properties) -> Iterator[str]:
    """Yield which settings of nodes are below what the group of ``groupMembers`` writes. Our own nodes' alone: what
    others add is not known."""
    members = spec.workload.group_members
    if not members:
        return
    subscribed = [topic for topic in topics_at_first(spec) if topic.name in (spec.workload.topics or {topic.name})]
    names = sum(len(topic.name) + 2 for topic in subscribed)
    commit = sum((_COMMIT + len(topic.name)) * partition_count(topic) for topic in subscribed)
    least = max(
        _Batch(_GENERATION + members * (_MEMBER + names), f"a generation of {members} members"),
        _Batch(_BATCH_HEAD + commit, "the commit of a member, with an offset for each partition"),
    )
    for name, default in _OF_GROUPS:
        if (allowed := _whole(nodes, name, default)) < least.bytes:
            yield (
                f"expected {name} to be at least {least.bytes}, which {least.what} takes (workload.groupMembers);"
                f" found {allowed}: no coordinator could write it"
            )
    if (allowed := _whole(nodes, "offset.metadata.max.bytes", GROUP_METADATA_BYTES)) < GROUP_METADATA_BYTES:
        yield (
            f"expected offset.metadata.max.bytes to be at least {GROUP_METADATA_BYTES}, which a commit of"
            f" workload.groupMembers takes; found {allowed}: no commit could be written"
        )


def _batches(spec: ExperimentSpec, topic: str) -> Iterator[_Batch]:
    workload, keyed = spec.workload, keys_of(spec) > 0
    value = 0 if tombstones_of(spec) == 1000 else max(_VALUE, workload.record_size)
    written: Sequence[str] = [one.name for one in topics_at_first(spec)] if workload.topics is None else workload.topics
    if workload.producers and topic in written:
        size = batch_bytes(1, value, keyed=keyed)
        yield _Batch(size, f"one record of {value} bytes (workload.recordSize: {workload.record_size})")
    for step in every_step(spec.schedule):
        if step.produce is not None and step.produce.partition.rpartition("-")[0] == topic:
            count = step.produce.records
            yield _Batch(batch_bytes(count, value, keyed=keyed), f"produce.records: {count} of {value} bytes each")


def _of_topic(batch: _Batch, topic: str, properties: Properties, nodes: Properties) -> Iterator[Problem]:
    for name, of_nodes, least, default, error in _LIMITS:
        limit, owner = (name, properties) if name in properties else (of_nodes, nodes)
        if least <= (allowed := _whole(owner, limit, default)) < batch.bytes:
            where = f"{limit} of topic {topic!r}" if owner is properties else limit
            yield Problem(
                "spec.cluster.topics" if owner is properties else "spec.cluster.config",
                f"expected {where} to be at least {batch.bytes}, the bytes of the batch of {batch.what};"
                f" found {allowed}: every such write to {topic!r} would be refused ({error})",
            )


def _whole(properties: Properties, name: str, default: int) -> int:
    """Return the value of a property; the default for one that is no number."""
    try:
        return int(properties.get(name, default))
    except ValueError:
        return default


def _varint_bytes(value: int) -> int:
    return max(1, -(-(2 * value).bit_length() // 7))
