from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class PartitionData(Struct):
    partition_index: Int32 = field()
    error_code: Int16 = field()


class TopicData(Struct):
    topic_id: UUID = field()
    partitions: list[PartitionData] = field()


class DirectoryData(Struct):
    id: UUID = field()
    topics: list[TopicData] = field()


class AssignReplicasToDirsResponse(Message, kind="response", key=73, versions="0", flexible="0+"):
    """What became of each replica."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    directories: list[DirectoryData] = field()
