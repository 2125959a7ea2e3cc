from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int32, Message, Struct, field


class OffsetFetchRequestTopic(Struct):
    name: str = field("0-7")
    partition_indexes: list[Int32] = field("0-7")


class OffsetFetchRequestTopics(Struct):
    name: str = field("8-9", ignorable=True)
    topic_id: UUID = field("10+", ignorable=True)
    partition_indexes: list[Int32] = field("8+")


class OffsetFetchRequestGroup(Struct):
    group_id: str = field("8+")
    member_id: str | None = field("9+", nullable="9+", default=None, ignorable=True)
    member_epoch: Int32 = field("9+", default=-1, ignorable=True)
    topics: list[OffsetFetchRequestTopics] | None = field("8+", nullable="8+")  # Null for all.


class OffsetFetchRequest(Message, kind="request", key=9, versions="1-10", flexible="6+"):
    """What groups have committed; from version 8 on of several groups at once."""

    group_id: str = field("0-7")
    topics: list[OffsetFetchRequestTopic] | None = field("0-7", nullable="2-7")  # Null for all.
    groups: list[OffsetFetchRequestGroup] = field("8+")
    require_stable: bool = field("7+")  # Refuse while a transaction is open that commits offsets (KIP-447).
