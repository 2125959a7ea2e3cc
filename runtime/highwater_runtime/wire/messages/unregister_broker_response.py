from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, field


class UnregisterBrokerResponse(Message, kind="response", key=64, versions="0", flexible="0+"):
    """Whether the broker is forgotten."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")
