from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int8, Int32, Int64, Message, Struct, field


class LeaderAndIsrPartitionState(Struct):
    topic_name: str = field("0-1", ignorable=True)
    partition_index: Int32 = field()
    controller_epoch: Int32 = field()  # Of the controller that wrote the state.
    leader: Int32 = field()
    leader_epoch: Int32 = field()
    isr: list[Int32] = field()
    partition_epoch: Int32 = field()  # Version of the state's znode.
    replicas: list[Int32] = field()
    adding_replicas: list[Int32] = field("3+", ignorable=True)
    removing_replicas: list[Int32] = field("3+", ignorable=True)
    is_new: bool = field("1+", ignorable=True)
    leader_recovery_state: Int8 = field("6+")


class LeaderAndIsrTopicState(Struct):
    topic_name: str = field("2+")
    topic_id: UUID = field("5+", ignorable=True)
    partition_states: list[LeaderAndIsrPartitionState] = field("2+")


class LeaderAndIsrLiveLeader(Struct):
    broker_id: Int32 = field()
    host_name: str = field()
    port: Int32 = field()


class LeaderAndIsrRequest(Message, kind="request", key=4, versions="0-7", flexible="4+"):
    """Command a broker to lead or follow partitions, from the controller of ZooKeeper mode."""

    controller_id: Int32 = field()
    is_kraft_controller: bool = field("7+")
    controller_epoch: Int32 = field()  # Refused if it is below one that the broker has seen.
    # For which incarnation of the broker this is meant (KIP-380).
    broker_epoch: Int64 = field("2+", default=-1, ignorable=True)
    # Ours: a controller numbers its commands, in the order in which it sends them. A copy has the number of the first.
    sequence: Int64 = field("4+", tag=100, default=-1, ignorable=True)
    type: Int8 = field("5+")  # 1 some partitions; 2 all of them: what the broker has besides is stray (KAFKA-7362).
    ungrouped_partition_states: list[LeaderAndIsrPartitionState] = field("0-1")
    topic_states: list[LeaderAndIsrTopicState] = field("2+")
    live_leaders: list[LeaderAndIsrLiveLeader] = field()
