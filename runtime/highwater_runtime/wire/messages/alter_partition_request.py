from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int8, Int32, Int64, Message, Struct, field


class BrokerState(Struct):
    broker_id: Int32 = field("3+")
    broker_epoch: Int64 = field("3+", default=-1)  # -1 if the epoch is not to be checked.


class PartitionData(Struct):
    partition_index: Int32 = field()
    leader_epoch: Int32 = field()
    new_isr: list[Int32] = field("0-2")
    new_isr_with_epochs: list[BrokerState] = field("3+")
    leader_recovery_state: Int8 = field("1+")  # 1 while recovering from an unclean election.
    partition_epoch: Int32 = field()  # The epoch that the change is based on.


class TopicData(Struct):
    topic_name: str = field("0-1", ignorable=True)
    topic_id: UUID = field("2+", ignorable=True)
    partitions: list[PartitionData] = field()


class AlterPartitionRequest(Message, kind="request", key=56, versions="0-3", flexible="0+"):
    """A leader proposes a new ISR (KIP-497); from version 3 on with the broker epoch of every member (KIP-903)."""

    broker_id: Int32 = field()
    broker_epoch: Int64 = field(default=-1)
    topics: list[TopicData] = field()
