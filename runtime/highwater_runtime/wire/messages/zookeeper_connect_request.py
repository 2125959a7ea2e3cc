from __future__ import annotations

from highwater_runtime.wire.message import Int32, Int64, Message, field


class ZookeeperConnectRequest(Message, kind="request", key=10002, versions="0", flexible="0+"):
    """Begin a session of the simulator's ZooKeeper, or go on with one by another connection. An API of ours."""

    session_id: Int64 = field()  # 0: a new session.
    password: bytes = field()
    timeout_ms: Int32 = field()
    last_zxid: Int64 = field()  # The newest state that the client has seen.
