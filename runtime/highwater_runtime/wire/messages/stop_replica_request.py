from __future__ import annotations

from highwater_runtime.wire.message import Int32, Int64, Message, Struct, field


class StopReplicaPartitionV0(Struct):
    topic_name: str = field("0")
    partition_index: Int32 = field("0")


class StopReplicaTopicV1(Struct):
    name: str = field("1-2")
    partition_indexes: list[Int32] = field("1-2")


class StopReplicaPartitionState(Struct):
    partition_index: Int32 = field("3+")
    leader_epoch: Int32 = field("3+", default=-1)  # -2 if the topic is being deleted.
    delete_partition: bool = field("3+")


class StopReplicaTopicState(Struct):
    topic_name: str = field("3+")
    partition_states: list[StopReplicaPartitionState] = field("3+")


class StopReplicaRequest(Message, kind="request", key=5, versions="0-4", flexible="2+"):
    """Stop following or leading; delete the log if ``delete_partition(s)`` is set."""

    controller_id: Int32 = field()
    is_kraft_controller: bool = field("4+")
    controller_epoch: Int32 = field()
    broker_epoch: Int64 = field("1+", default=-1, ignorable=True)
    sequence: Int64 = field("2+", tag=100, default=-1, ignorable=True)  # Ours, see LeaderAndIsrRequest.
    delete_partitions: bool = field("0-2")
    ungrouped_partitions: list[StopReplicaPartitionV0] = field("0")
    topics: list[StopReplicaTopicV1] = field("1-2")
    topic_states: list[StopReplicaTopicState] = field("3+")
