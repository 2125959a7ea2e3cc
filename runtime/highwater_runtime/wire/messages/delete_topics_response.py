from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class DeletableTopicResult(Struct):
    name: str | None = field(nullable="6+")
    topic_id: UUID = field("6+", ignorable=True)
    error_code: Int16 = field()
    error_message: str | None = field("5+", nullable="5+", default=None, ignorable=True)


class DeleteTopicsResponse(Message, kind="response", key=20, versions="1-6", flexible="4+"):
    """One result for each topic."""

    throttle_time_ms: Int32 = field(ignorable=True)
    responses: list[DeletableTopicResult] = field()
