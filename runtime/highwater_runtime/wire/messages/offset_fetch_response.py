from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, field


class OffsetFetchResponsePartition(Struct):
    partition_index: Int32 = field("0-7")
    committed_offset: Int64 = field("0-7")
    committed_leader_epoch: Int32 = field("5-7", default=-1, ignorable=True)
    metadata: str | None = field("0-7", nullable="0-7")
    error_code: Int16 = field("0-7")


class OffsetFetchResponseTopic(Struct):
    name: str = field("0-7")
    partitions: list[OffsetFetchResponsePartition] = field("0-7")


class OffsetFetchResponsePartitions(Struct):
    partition_index: Int32 = field("8+")
    committed_offset: Int64 = field("8+")
    committed_leader_epoch: Int32 = field("8+", default=-1, ignorable=True)
    metadata: str | None = field("8+", nullable="8+")
    error_code: Int16 = field("8+")


class OffsetFetchResponseTopics(Struct):
    name: str = field("8-9", ignorable=True)
    topic_id: UUID = field("10+", ignorable=True)
    partitions: list[OffsetFetchResponsePartitions] = field("8+")


class OffsetFetchResponseGroup(Struct):
    group_id: str = field("8+")
    topics: list[OffsetFetchResponseTopics] = field("8+")
    error_code: Int16 = field("8+")


class OffsetFetchResponse(Message, kind="response", key=9, versions="1-10", flexible="6+"):
    """Committed offsets; -1 where there is none."""

    throttle_time_ms: Int32 = field("3+", ignorable=True)
    topics: list[OffsetFetchResponseTopic] = field("0-7")
    error_code: Int16 = field("2-7", ignorable=True)
    groups: list[OffsetFetchResponseGroup] = field("8+")
