from __future__ import annotations

from highwater_runtime.wire.message import Int16, Message, field


class ZookeeperTouchResponse(Message, kind="response", key=10006, versions="0", flexible="0+"):
    """Only the leader takes note."""

    error_code: Int16 = field()
