from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, field


class EpochEndOffset(Struct):
    error_code: Int16 = field()
    partition: Int32 = field()
    leader_epoch: Int32 = field("1+", default=-1, ignorable=True)
    end_offset: Int64 = field(default=-1)


class OffsetForLeaderTopicResult(Struct):
    topic: str = field()
    partitions: list[EpochEndOffset] = field()


class OffsetForLeaderEpochResponse(Message, kind="response", key=23, versions="0-4", flexible="4+"):
    """The largest epoch not above the requested one, and its end offset."""

    throttle_time_ms: Int32 = field("2+", ignorable=True)
    topics: list[OffsetForLeaderTopicResult] = field()
