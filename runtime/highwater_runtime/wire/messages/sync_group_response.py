from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, field


class SyncGroupResponse(Message, kind="response", key=14, versions="0-5", flexible="4+"):
    """What the member is to read."""

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field()
    protocol_type: str | None = field("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field("5+", nullable="5+", default=None, ignorable=True)
    assignment: bytes = field()
