from __future__ import annotations

from highwater_runtime.wire.message import Int32, Int64, Message, Struct, field


class MemberMetadata(Struct):
    member_id: str = field()
    group_instance_id: str | None = field("3+", nullable="3+", default=None, ignorable=True)
    client_id: str = field()
    client_host: str = field()
    rebalance_timeout: Int32 = field("1+", default=-1, ignorable=True)  # Milliseconds.
    session_timeout: Int32 = field()  # Milliseconds.
    subscription: bytes = field()
    assignment: bytes = field()


class GroupMetadataValue(Message, kind="coordinator", versions="0-3", flexible="none"):
    """Value under a GroupMetadataKey: a generation of a group; a record without value forgets the group."""

    protocol_type: str = field()
    generation: Int32 = field()
    protocol: str | None = field(nullable="0+")  # Name of the protocol chosen.
    leader: str | None = field(nullable="0+")  # Member id of the leader.
    # When it came into this state, milliseconds since 1970.
    current_state_timestamp: Int64 = field("2+", default=-1, ignorable=True)
    members: list[MemberMetadata] = field()
