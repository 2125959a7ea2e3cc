from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class LeaderAndIsrPartitionError(Struct):
    topic_name: str = field("0-4", ignorable=True)
    partition_index: Int32 = field()
    error_code: Int16 = field()


class LeaderAndIsrTopicError(Struct):
    topic_id: UUID = field("5+")
    partition_errors: list[LeaderAndIsrPartitionError] = field("5+")


class LeaderAndIsrResponse(Message, kind="response", key=4, versions="0-7", flexible="4+"):
    """One result for each partition."""

    error_code: Int16 = field()
    partition_errors: list[LeaderAndIsrPartitionError] = field("0-4")
    topics: list[LeaderAndIsrTopicError] = field("5+")
