from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, field


class UnregisterBrokerRequest(Message, kind="request", key=64, versions="0", flexible="0+"):
    """Forget a broker for good."""

    broker_id: Int32 = field()
