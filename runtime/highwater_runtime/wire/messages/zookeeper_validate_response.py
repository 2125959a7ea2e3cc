from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, field


class ZookeeperValidateResponse(Message, kind="response", key=10005, versions="0", flexible="0+"):
    """The session as the leader knows it."""

    error_code: Int16 = field()
    timeout_ms: Int32 = field()  # 0 without an error: the session has ended.
