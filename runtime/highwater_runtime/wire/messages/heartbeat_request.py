from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, field


class HeartbeatRequest(Message, kind="request", key=12, versions="0-4", flexible="4+"):
    """A member is alive."""

    group_id: str = field()
    generation_id: Int32 = field()
    member_id: str = field()
    group_instance_id: str | None = field("3+", nullable="3+", default=None)
