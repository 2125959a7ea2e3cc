from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int32, Int64, Message, Struct, field


class PartitionData(Struct):
    partition_index: Int32 = field()


class TopicData(Struct):
    topic_id: UUID = field()
    partitions: list[PartitionData] = field()


class DirectoryData(Struct):
    id: UUID = field()  # 1 (LOST): in none that is online.
    topics: list[TopicData] = field()


class AssignReplicasToDirsRequest(Message, kind="request", key=73, versions="0", flexible="0+"):
    """In which log directory a broker has which replicas (KIP-858)."""

    broker_id: Int32 = field()
    broker_epoch: Int64 = field(default=-1)
    directories: list[DirectoryData] = field()
