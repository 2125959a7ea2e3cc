from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class OffsetCommitResponsePartition(Struct):
    partition_index: Int32 = field()
    error_code: Int16 = field()


class OffsetCommitResponseTopic(Struct):
    name: str = field("0-9", ignorable=True)
    topic_id: UUID = field("10+", ignorable=True)
    partitions: list[OffsetCommitResponsePartition] = field()


class OffsetCommitResponse(Message, kind="response", key=8, versions="2-10", flexible="8+"):
    """One result for each partition."""

    throttle_time_ms: Int32 = field("3+", ignorable=True)
    topics: list[OffsetCommitResponseTopic] = field()
