from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class ReassignablePartitionResponse(Struct):
    partition_index: Int32 = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")


class ReassignableTopicResponse(Struct):
    name: str = field()
    partitions: list[ReassignablePartitionResponse] = field()


class AlterPartitionReassignmentsResponse(Message, kind="response", key=45, versions="0", flexible="0+"):
    """One result for each partition; the moves go on after it."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")
    responses: list[ReassignableTopicResponse] = field()
