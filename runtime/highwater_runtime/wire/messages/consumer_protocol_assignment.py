from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class TopicPartition(Struct):
    topic: str = field()
    partitions: list[Int32] = field()


class ConsumerProtocolAssignment(Message, kind="data", versions="0-3", flexible="none"):
    """What a consumer is to read: the bytes that SyncGroup carries."""

    assigned_partitions: list[TopicPartition] = field()
    user_data: bytes | None = field(nullable="0+", default=None)
