from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, field


class PartitionData(Struct):
    partition_index: Int32 = field()
    error_code: Int16 = field()
    applied_offset: Int64 = field(default=-1)  # The last applied offset on the leader; -1 with an error.
    leader_id: Int32 = field(default=-1)  # -1 if unknown.
    leader_epoch: Int32 = field(default=-1)


class TopicData(Struct):
    topic_name: str = field()
    partitions: list[PartitionData] = field()


class ReadOffsetResponse(Message, kind="response", key=10000, versions="0", flexible="0+"):
    """What a read must have applied before it is answered. The errors and the leader are additions to the draft."""

    error_code: Int16 = field()
    cluster_id: str | None = field(nullable="0+", default=None)
    topics: list[TopicData] = field()
