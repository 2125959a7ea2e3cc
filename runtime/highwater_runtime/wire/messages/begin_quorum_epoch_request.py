from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int32, Message, Struct, UInt16, field


class PartitionData(Struct):
    partition_index: Int32 = field()
    voter_directory_id: UUID = field("1+", ignorable=True)
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()


class TopicData(Struct):
    topic_name: str = field()
    partitions: list[PartitionData] = field()


class LeaderEndpoint(Struct):
    name: str = field("1+")
    host: str = field("1+")
    port: UInt16 = field("1+")


class BeginQuorumEpochRequest(Message, kind="request", key=53, versions="0-1", flexible="1+"):
    """A new leader makes itself known to the voters."""

    cluster_id: str | None = field(nullable="0+", default=None)
    voter_id: Int32 = field("1+", default=-1, ignorable=True)
    topics: list[TopicData] = field()
    leader_endpoints: list[LeaderEndpoint] = field("1+", ignorable=True)
