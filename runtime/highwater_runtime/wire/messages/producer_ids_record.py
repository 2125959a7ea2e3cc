from __future__ import annotations

from highwater_runtime.wire.message import Int32, Int64, Message, field


class ProducerIdsRecord(Message, kind="metadata", key=15, versions="0", flexible="0+"):
    """A block of producer ids has been given to a broker."""

    broker_id: Int32 = field()
    broker_epoch: Int64 = field()
    next_producer_id: Int64 = field()  # The first id not yet given.
