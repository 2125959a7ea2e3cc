from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int32, Int64, Message, Struct, field


class SnapshotId(Struct):
    end_offset: Int64 = field()
    epoch: Int32 = field()


class PartitionSnapshot(Struct):
    partition: Int32 = field()
    current_leader_epoch: Int32 = field()
    snapshot_id: SnapshotId = field()
    position: Int64 = field()  # Where in the snapshot's bytes to begin.
    replica_directory_id: UUID = field("1+", tag=0, ignorable=True)


class TopicSnapshot(Struct):
    name: str = field()
    partitions: list[PartitionSnapshot] = field()


class FetchSnapshotRequest(Message, kind="request", key=59, versions="0-1", flexible="0+"):
    """A piece of a metadata snapshot (KIP-630)."""

    cluster_id: str | None = field(nullable="0+", tag=0, default=None, ignorable=True)
    replica_id: Int32 = field(default=-1)
    max_bytes: Int32 = field(default=0x7FFFFFFF)
    topics: list[TopicSnapshot] = field()
