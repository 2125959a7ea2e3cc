from __future__ import annotations

from highwater_runtime.wire.message import Int8, Int32, Message, Struct, field


class TopicPartitions(Struct):
    topic: str = field()
    partitions: list[Int32] = field()


class ElectLeadersRequest(Message, kind="request", key=43, versions="0-2", flexible="2+"):
    """Elect the preferred replica, or any live one if need be."""

    election_type: Int8 = field("1+")  # 0 preferred, 1 unclean.
    topic_partitions: list[TopicPartitions] | None = field(nullable="0+")  # Null for all partitions.
    timeout_ms: Int32 = field(default=60000)
