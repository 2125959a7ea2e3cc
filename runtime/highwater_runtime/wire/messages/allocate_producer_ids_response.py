from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, field


class AllocateProducerIdsResponse(Message, kind="response", key=67, versions="0", flexible="0+"):
    """A block of producer ids that is the broker's alone."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    producer_id_start: Int64 = field()
    producer_id_len: Int32 = field()
