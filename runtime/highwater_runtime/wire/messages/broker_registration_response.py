from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, field


class BrokerRegistrationResponse(Message, kind="response", key=62, versions="0-4", flexible="0+"):
    """The broker epoch."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    broker_epoch: Int64 = field(default=-1)
