from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Records, Struct, field


class EpochEndOffset(Struct):
    epoch: Int32 = field("12+", default=-1)  # The leader's largest epoch not above the fetcher's last one.
    end_offset: Int64 = field("12+", default=-1)  # Where that epoch ends in the leader's log.


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = field("12+", default=-1)
    leader_epoch: Int32 = field("12+", default=-1)


class SnapshotId(Struct):
    end_offset: Int64 = field(default=-1)
    epoch: Int32 = field(default=-1)


class AbortedTransaction(Struct):
    producer_id: Int64 = field()
    first_offset: Int64 = field()


class PartitionData(Struct):
    partition_index: Int32 = field()
    error_code: Int16 = field()
    high_watermark: Int64 = field()  # -1 if unknown.
    last_stable_offset: Int64 = field(default=-1, ignorable=True)
    log_start_offset: Int64 = field("5+", default=-1, ignorable=True)
    diverging_epoch: EpochEndOffset = field("12+", tag=0)  # Set if the fetcher has records that the leader has not.
    current_leader: LeaderIdAndEpoch = field("12+", tag=1)
    snapshot_id: SnapshotId = field("12+", tag=2)  # Fetch this snapshot first: the offset is below the log's start.
    aborted_transactions: list[AbortedTransaction] | None = field(nullable="0+", ignorable=True)
    preferred_read_replica: Int32 = field("11+", default=-1)
    records: Records | None = field(nullable="0+", default=None)  # Whole batches; the last may be cut off.


class FetchableTopicResponse(Struct):
    topic: str = field("0-12", ignorable=True)
    topic_id: UUID = field("13+", ignorable=True)
    partitions: list[PartitionData] = field()


class NodeEndpoint(Struct):
    node_id: Int32 = field("16+")
    host: str = field("16+")
    port: Int32 = field("16+")
    rack: str | None = field("16+", nullable="16+", default=None)


class FetchResponse(Message, kind="response", key=1, versions="4-17", flexible="12+"):
    """Records, high watermarks, and where the fetcher's log diverges."""

    throttle_time_ms: Int32 = field(ignorable=True)
    error_code: Int16 = field("7+", ignorable=True)
    session_id: Int32 = field("7+")
    responses: list[FetchableTopicResponse] = field()
    node_endpoints: list[NodeEndpoint] = field("16+", tag=0)  # Endpoints of the current leaders.
