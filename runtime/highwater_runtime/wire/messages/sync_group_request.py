from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class SyncGroupRequestAssignment(Struct):
    member_id: str = field()
    assignment: bytes = field()


class SyncGroupRequest(Message, kind="request", key=14, versions="0-5", flexible="4+"):
    """Send the assignment, from the group's leader; wait for the own part of it, from the other members."""

    group_id: str = field()
    generation_id: Int32 = field()
    member_id: str = field()
    group_instance_id: str | None = field("3+", nullable="3+", default=None)
    protocol_type: str | None = field("5+", nullable="5+", default=None, ignorable=True)
    protocol_name: str | None = field("5+", nullable="5+", default=None, ignorable=True)
    assignments: list[SyncGroupRequestAssignment] = field()  # Empty if not from the leader.
