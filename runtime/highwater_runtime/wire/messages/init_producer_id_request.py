from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, field


class InitProducerIdRequest(Message, kind="request", key=22, versions="0-5", flexible="2+"):
    """A producer id for an idempotent producer."""

    transactional_id: str | None = field(nullable="0+")  # Null if the producer is only idempotent.
    transaction_timeout_ms: Int32 = field()
    producer_id: Int64 = field("3+", default=-1)  # The id that it has, to bump its epoch (KIP-360).
    producer_epoch: Int16 = field("3+", default=-1)
