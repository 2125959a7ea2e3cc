from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int32, Int64, Message, Struct, field


class OffsetCommitRequestPartition(Struct):
    partition_index: Int32 = field()
    committed_offset: Int64 = field()  # The offset to read next.
    # Epoch of the last record read; -1 if unknown.
    committed_leader_epoch: Int32 = field("6+", default=-1, ignorable=True)
    committed_metadata: str | None = field(nullable="0+")  # Whatever the consumer wants to keep with it.


class OffsetCommitRequestTopic(Struct):
    name: str = field("0-9", ignorable=True)
    topic_id: UUID = field("10+", ignorable=True)
    partitions: list[OffsetCommitRequestPartition] = field()


class OffsetCommitRequest(Message, kind="request", key=8, versions="2-10", flexible="8+"):
    """How far a group has read."""

    group_id: str = field()
    # -1 from consumers that manage their partitions themselves.
    generation_id_or_member_epoch: Int32 = field(default=-1, ignorable=True)
    member_id: str = field(ignorable=True)
    group_instance_id: str | None = field("7+", nullable="7+", default=None)
    retention_time_ms: Int64 = field("2-4", default=-1, ignorable=True)
    topics: list[OffsetCommitRequestTopic] = field()
