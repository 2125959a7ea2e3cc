from __future__ import annotations

from highwater_runtime.wire.message import Int64, Message, field


class ZookeeperTouchRequest(Message, kind="request", key=10006, versions="0", flexible="0+"):
    """Report to the ensemble's leader from which sessions a server has heard."""

    session_ids: list[Int64] = field()
