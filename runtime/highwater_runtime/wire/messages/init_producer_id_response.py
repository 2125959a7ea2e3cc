from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, field


class InitProducerIdResponse(Message, kind="response", key=22, versions="0-5", flexible="2+"):
    """The producer id and its epoch."""

    throttle_time_ms: Int32 = field(ignorable=True)
    error_code: Int16 = field()
    producer_id: Int64 = field(default=-1)
    producer_epoch: Int16 = field()
