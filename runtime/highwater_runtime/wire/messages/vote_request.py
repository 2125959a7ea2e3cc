from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int32, Int64, Message, Struct, field


class PartitionData(Struct):
    partition_index: Int32 = field()
    replica_epoch: Int32 = field()  # Epoch of the candidate.
    replica_id: Int32 = field()  # The candidate.
    replica_directory_id: UUID = field("1+", ignorable=True)
    voter_directory_id: UUID = field("1+", ignorable=True)
    last_offset_epoch: Int32 = field()  # Epoch of the candidate's last record.
    last_offset: Int64 = field()  # End offset of the candidate's log.
    pre_vote: bool = field("2+")


class TopicData(Struct):
    topic_name: str = field()
    partitions: list[PartitionData] = field()


class VoteRequest(Message, kind="request", key=52, versions="0-2", flexible="0+"):
    """A candidate asks for a vote (KIP-595); with pre_vote, whether it would get one (KIP-996)."""

    cluster_id: str | None = field(nullable="0+", default=None)
    voter_id: Int32 = field("1+", default=-1, ignorable=True)  # Whom the request is meant for (KIP-853).
    topics: list[TopicData] = field()
