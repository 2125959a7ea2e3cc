from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Records, Struct, UInt16, field


class SnapshotId(Struct):
    end_offset: Int64 = field()
    epoch: Int32 = field()


class LeaderIdAndEpoch(Struct):
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()


class PartitionSnapshot(Struct):
    index: Int32 = field()
    error_code: Int16 = field()
    snapshot_id: SnapshotId = field()
    current_leader: LeaderIdAndEpoch = field(tag=0)
    size: Int64 = field()  # Size of the whole snapshot in bytes.
    position: Int64 = field()
    unaligned_records: Records = field()  # Bytes from position on; batches may be cut anywhere.


class TopicSnapshot(Struct):
    name: str = field()
    partitions: list[PartitionSnapshot] = field()


class NodeEndpoint(Struct):
    node_id: Int32 = field("1+")
    host: str = field("1+")
    port: UInt16 = field("1+")


class FetchSnapshotResponse(Message, kind="response", key=59, versions="0-1", flexible="0+"):
    """Bytes of a snapshot."""

    throttle_time_ms: Int32 = field(ignorable=True)
    error_code: Int16 = field(ignorable=True)
    topics: list[TopicSnapshot] = field()
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0, ignorable=True)
