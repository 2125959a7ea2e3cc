from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class JoinGroupResponseMember(Struct):
    member_id: str = field()
    group_instance_id: str | None = field("5+", nullable="5+", default=None, ignorable=True)
    metadata: bytes = field()


class JoinGroupResponse(Message, kind="response", key=11, versions="0-9", flexible="6+"):
    """The new generation. Only the leader gets the members, since it computes the assignment."""

    throttle_time_ms: Int32 = field("2+", ignorable=True)
    error_code: Int16 = field()
    generation_id: Int32 = field(default=-1)
    protocol_type: str | None = field("7+", nullable="7+", default=None, ignorable=True)
    protocol_name: str | None = field(nullable="7+")  # The protocol that all members have in common.
    leader: str = field()  # Member id of the leader.
    skip_assignment: bool = field("9+")  # The leader is to leave the assignment as it is (KIP-814).
    member_id: str = field()
    members: list[JoinGroupResponseMember] = field()
