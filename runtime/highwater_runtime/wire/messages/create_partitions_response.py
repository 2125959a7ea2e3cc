from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class CreatePartitionsTopicResult(Struct):
    name: str = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+", default=None)


class CreatePartitionsResponse(Message, kind="response", key=37, versions="0-3", flexible="2+"):
    """One result for each topic."""

    throttle_time_ms: Int32 = field()
    results: list[CreatePartitionsTopicResult] = field()
