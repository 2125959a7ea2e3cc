from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, UInt16, field


class ReplicaState(Struct):
    replica_id: Int32 = field()
    replica_directory_id: UUID = field("2+")  # Zero if unknown (KIP-853).
    log_end_offset: Int64 = field()  # -1 if unknown.
    # Milliseconds by the leader's clock; -1 if unknown.
    last_fetch_timestamp: Int64 = field("1+", default=-1, ignorable=True)
    last_caught_up_timestamp: Int64 = field("1+", default=-1, ignorable=True)


class PartitionData(Struct):
    partition_index: Int32 = field()
    error_code: Int16 = field()
    error_message: str | None = field("2+", nullable="2+", ignorable=True)
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()
    high_watermark: Int64 = field()
    current_voters: list[ReplicaState] = field()
    observers: list[ReplicaState] = field()


class TopicData(Struct):
    topic_name: str = field()
    partitions: list[PartitionData] = field()


class Listener(Struct):
    name: str = field("2+")
    host: str = field("2+")
    port: UInt16 = field("2+")


class Node(Struct):
    node_id: Int32 = field("2+")
    listeners: list[Listener] = field("2+")


class DescribeQuorumResponse(Message, kind="response", key=55, versions="0-2", flexible="0+"):
    """The leader's view of the quorum."""

    error_code: Int16 = field()
    error_message: str | None = field("2+", nullable="2+", ignorable=True)
    topics: list[TopicData] = field()
    nodes: list[Node] = field("2+")  # Where the replicas can be reached.
