from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, field


class BrokerHeartbeatResponse(Message, kind="response", key=63, versions="0-1", flexible="0+"):
    """What the controller holds of the broker."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    is_caught_up: bool = field()
    is_fenced: bool = field(default=True)
    should_shut_down: bool = field()
