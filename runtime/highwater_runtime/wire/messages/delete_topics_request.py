from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int32, Message, Struct, field


class DeleteTopicState(Struct):
    name: str | None = field("6+", nullable="6+", default=None)
    topic_id: UUID = field("6+")


class DeleteTopicsRequest(Message, kind="request", key=20, versions="1-6", flexible="4+"):
    """Delete topics by name or, from version 6 on, by id."""

    topics: list[DeleteTopicState] = field("6+")
    topic_names: list[str] = field("0-5", ignorable=True)
    timeout_ms: Int32 = field()
