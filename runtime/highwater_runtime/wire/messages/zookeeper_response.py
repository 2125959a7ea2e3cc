from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int64, Message, field


class ZookeeperResponse(Message, kind="response", key=10003, versions="0", flexible="0+"):
    """Events of watches, which come before what is read, and the result."""

    error_code: Int16 = field()  # NETWORK_EXCEPTION: the server has given up this connection.
    zxid: Int64 = field()  # The state of the tree that the result belongs to.
    events: bytes = field()
    result: bytes = field()
