from __future__ import annotations

from highwater_runtime.wire.message import Message, Struct, field


class MemberIdentity(Struct):
    member_id: str = field("3+")
    group_instance_id: str | None = field("3+", nullable="3+", default=None)
    reason: str | None = field("5+", nullable="5+", default=None, ignorable=True)


class LeaveGroupRequest(Message, kind="request", key=13, versions="0-5", flexible="4+"):
    """Members leave; from version 3 on several at once."""

    group_id: str = field()
    member_id: str = field("0-2")
    members: list[MemberIdentity] = field("3+")
