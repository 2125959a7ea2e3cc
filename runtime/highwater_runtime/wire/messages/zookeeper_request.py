from __future__ import annotations

from highwater_runtime.wire.message import Int64, Message, field


class ZookeeperRequest(Message, kind="request", key=10003, versions="0", flexible="0+"):
    """What a client asks by its connection: an operation, the end of its session, or only for events."""

    connection: Int64 = field()
    number: Int64 = field()  # 1, 2, 3 … of the connection; -2 (ZooKeeper's xid of pings): only to be heard from.
    operation: bytes = field()  # Empty: answer when a watch fires, or another request comes, or after a while.
    watch: bool = field()
    close: bool = field()  # End the session.
