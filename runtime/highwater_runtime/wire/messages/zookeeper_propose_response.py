from __future__ import annotations

from highwater_runtime.wire.message import Int16, Message, field


class ZookeeperProposeResponse(Message, kind="response", key=10004, versions="0", flexible="0+"):
    """Whether the transaction was appended; its result comes with the log."""

    error_code: Int16 = field()
