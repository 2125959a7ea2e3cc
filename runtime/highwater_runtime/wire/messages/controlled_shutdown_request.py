from __future__ import annotations

from highwater_runtime.wire.message import Int32, Int64, Message, field


class ControlledShutdownRequest(Message, kind="request", key=7, versions="1-3", flexible="3+"):
    """A broker of the ZooKeeper mode wants to go and asks for its leaderships to be moved."""

    broker_id: Int32 = field()
    broker_epoch: Int64 = field("2+", default=-1, ignorable=True)
