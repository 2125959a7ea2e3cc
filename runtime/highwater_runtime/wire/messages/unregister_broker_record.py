from __future__ import annotations

from highwater_runtime.wire.message import Int32, Int64, Message, field


class UnregisterBrokerRecord(Message, kind="metadata", key=1, versions="0", flexible="0+"):
    """A broker is gone for good."""

    broker_id: Int32 = field()
    broker_epoch: Int64 = field()
