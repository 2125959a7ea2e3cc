from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, Struct, field


class PartitionState(Struct):
    partition_index: Int32 = field()
    leader_id: Int32 = field()  # -1: none.
    leader_epoch: Int32 = field()
    partition_epoch: Int32 = field()
    replicas: list[Int32] = field()
    isr: list[Int32] = field()


class TopicProperty(Struct):
    name: str = field()
    value: str = field()


class TopicState(Struct):
    error_code: Int16 = field()
    name: str = field()
    topic_id: UUID = field()
    partitions: list[PartitionState] = field()
    configs: list[TopicProperty] = field()  # Those that are set.


class MetadataReadResponse(Message, kind="response", key=10001, versions="0", flexible="0+"):
    """The metadata as of one offset."""

    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+", default=None)
    applied_offset: Int64 = field(default=-1)  # The offset of the metadata log up to which this answer is complete.
    topics: list[TopicState] = field()
