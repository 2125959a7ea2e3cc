from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class OffsetDeleteResponsePartition(Struct):
    partition_index: Int32 = field()
    error_code: Int16 = field()


class OffsetDeleteResponseTopic(Struct):
    name: str = field()
    partitions: list[OffsetDeleteResponsePartition] = field()


class OffsetDeleteResponse(Message, kind="response", key=47, versions="0", flexible="none"):
    """One result for each partition, where the request as a whole was fine."""

    error_code: Int16 = field()
    throttle_time_ms: Int32 = field(ignorable=True)
    topics: list[OffsetDeleteResponseTopic] = field()
