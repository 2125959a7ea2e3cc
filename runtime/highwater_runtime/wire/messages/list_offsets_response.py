from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, field


class ListOffsetsPartitionResponse(Struct):
    partition_index: Int32 = field()
    error_code: Int16 = field()
    timestamp: Int64 = field(default=-1)
    offset: Int64 = field(default=-1)  # -1 if there is no such offset.
    leader_epoch: Int32 = field("4+", default=-1)


class ListOffsetsTopicResponse(Struct):
    name: str = field()
    partitions: list[ListOffsetsPartitionResponse] = field()


class ListOffsetsResponse(Message, kind="response", key=2, versions="1-11", flexible="6+"):
    """One offset for each partition."""

    throttle_time_ms: Int32 = field("2+", ignorable=True)
    topics: list[ListOffsetsTopicResponse] = field()
