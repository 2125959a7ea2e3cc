from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Int64, Message, field


class ZookeeperConnectResponse(Message, kind="response", key=10002, versions="0", flexible="0+"):
    """The session, or that it has ended."""

    error_code: Int16 = field()  # NETWORK_EXCEPTION: this server takes no clients, or not this one, now.
    session_id: Int64 = field()  # 0 without an error: the session has expired.
    password: bytes = field()
    timeout_ms: Int32 = field()
    connection: Int64 = field()  # Names this connection in all requests that follow.
    zxid: Int64 = field()
