from __future__ import annotations

from highwater_runtime.wire.message import Int32, Int64, Message, field


class AllocateProducerIdsRequest(Message, kind="request", key=67, versions="0", flexible="0+"):
    """A broker asks for a block of producer ids."""

    broker_id: Int32 = field()
    broker_epoch: Int64 = field(default=-1)
