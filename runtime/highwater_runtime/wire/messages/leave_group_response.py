from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class MemberResponse(Struct):
    member_id: str = field("3+")
    group_instance_id: str | None = field("3+", nullable="3+")
    error_code: Int16 = field("3+")


class LeaveGroupResponse(Message, kind="response", key=13, versions="0-5", flexible="4+"):
    """One result for each member, from version 3 on."""

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field()
    members: list[MemberResponse] = field("3+")
