from __future__ import annotations

from highwater_runtime.wire.message import Int8, Int32, Int64, Message, Struct, field


class ListOffsetsPartition(Struct):
    partition_index: Int32 = field()
    current_leader_epoch: Int32 = field("4+", default=-1, ignorable=True)
    timestamp: Int64 = field()


class ListOffsetsTopic(Struct):
    name: str = field()
    partitions: list[ListOffsetsPartition] = field()


class ListOffsetsRequest(Message, kind="request", key=2, versions="1-11", flexible="6+"):
    """The offset for a timestamp, or the earliest (-2), latest (-1) or largest-timestamp (-3) one."""

    replica_id: Int32 = field()  # Broker id of a follower, -1 for a consumer.
    isolation_level: Int8 = field("2+")
    topics: list[ListOffsetsTopic] = field()
    timeout_ms: Int32 = field("10+", ignorable=True)  # For offsets that lie in tiered storage.
