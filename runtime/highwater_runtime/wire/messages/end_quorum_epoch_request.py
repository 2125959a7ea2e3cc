from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int32, Message, Struct, UInt16, field


class ReplicaInfo(Struct):
    candidate_id: Int32 = field("1+")
    candidate_directory_id: UUID = field("1+")


class PartitionData(Struct):
    partition_index: Int32 = field()
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()
    preferred_successors: list[Int32] = field("0", ignorable=True)
    preferred_candidates: list[ReplicaInfo] = field("1+", ignorable=True)


class TopicData(Struct):
    topic_name: str = field()
    partitions: list[PartitionData] = field()


class LeaderEndpoint(Struct):
    name: str = field("1+")
    host: str = field("1+")
    port: UInt16 = field("1+")


class EndQuorumEpochRequest(Message, kind="request", key=54, versions="0-1", flexible="1+"):
    """A leader resigns and names its successors in order of preference."""

    cluster_id: str | None = field(nullable="0+", default=None)
    topics: list[TopicData] = field()
    leader_endpoints: list[LeaderEndpoint] = field("1+", ignorable=True)
