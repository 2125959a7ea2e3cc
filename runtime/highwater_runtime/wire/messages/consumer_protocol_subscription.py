from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class TopicPartition(Struct):
    topic: str = field("1+")
    partitions: list[Int32] = field("1+")


class ConsumerProtocolSubscription(Message, kind="data", versions="0-3", flexible="none"):
    """What a consumer wants to read: the metadata of its JoinGroup."""

    topics: list[str] = field()
    user_data: bytes | None = field(nullable="0+", default=None)
    # What it reads now, for cooperative rebalances (KIP-429).
    owned_partitions: list[TopicPartition] = field("1+", ignorable=True)
    generation_id: Int32 = field("2+", default=-1, ignorable=True)  # The generation in which it came to own them.
    rack_id: str | None = field("3+", nullable="3+", default=None, ignorable=True)
