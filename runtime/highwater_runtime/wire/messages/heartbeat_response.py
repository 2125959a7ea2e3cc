from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, field


class HeartbeatResponse(Message, kind="response", key=12, versions="0-4", flexible="4+"):
    """Nothing new, or REBALANCE_IN_PROGRESS: join again."""

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field()
