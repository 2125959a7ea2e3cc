from __future__ import annotations

from highwater_runtime.wire.message import Int64, Message, field


class ZookeeperValidateRequest(Message, kind="request", key=10005, versions="0", flexible="0+"):
    """A server asks the leader whether a session lives, for a client that comes by a new connection."""

    session_id: Int64 = field()
    password: bytes = field()
    connection: Int64 = field()
