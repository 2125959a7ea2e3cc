from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int8, Int16, Int32, Message, Struct, field


class PartitionData(Struct):
    partition_index: Int32 = field()
    error_code: Int16 = field()
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()
    isr: list[Int32] = field()
    leader_recovery_state: Int8 = field("1+", ignorable=True)
    partition_epoch: Int32 = field()


class TopicData(Struct):
    topic_name: str = field("0-1", ignorable=True)
    topic_id: UUID = field("2+", ignorable=True)
    partitions: list[PartitionData] = field()


class AlterPartitionResponse(Message, kind="response", key=56, versions="0-3", flexible="0+"):
    """The committed state of each partition, or why the proposal was refused."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    topics: list[TopicData] = field()
