from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int32, Int64, Message, field


class BrokerHeartbeatRequest(Message, kind="request", key=63, versions="0-1", flexible="0+"):
    """Keeps the session; asks to be unfenced or to shut down."""

    broker_id: Int32 = field()
    broker_epoch: Int64 = field(default=-1)
    current_metadata_offset: Int64 = field()  # How far the broker has applied the metadata log.
    want_fence: bool = field()
    want_shut_down: bool = field()
    offline_log_dirs: list[UUID] = field("1+", tag=0, ignorable=True)
