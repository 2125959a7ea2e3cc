from __future__ import annotations

from highwater_runtime.wire.message import Int64, Message, field


class ZookeeperProposeRequest(Message, kind="request", key=10004, versions="0", flexible="0+"):
    """A server asks the leader to append a transaction of one of its clients."""

    connection: Int64 = field()
    number: Int64 = field()  # 1, 2, 3 … of the proposals of the connection.
    transaction: bytes = field()
