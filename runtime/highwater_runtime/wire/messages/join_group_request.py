from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class JoinGroupRequestProtocol(Struct):
    name: str = field()
    metadata: bytes = field()


class JoinGroupRequest(Message, kind="request", key=11, versions="0-9", flexible="6+"):
    """A member enters a consumer group, or stays in it through a rebalance."""

    group_id: str = field()
    session_timeout_ms: Int32 = field()  # Without a heartbeat for so long, the member is taken for dead.
    # How long the group waits for members to join again.
    rebalance_timeout_ms: Int32 = field("1+", default=-1, ignorable=True)
    member_id: str = field()  # Empty for a new member.
    group_instance_id: str | None = field("5+", nullable="5+", default=None)  # Set for a static member (KIP-345).
    protocol_type: str = field()  # "consumer", or "connect".
    protocols: list[JoinGroupRequestProtocol] = field()  # What the member could agree to, the best first.
    reason: str | None = field("8+", nullable="8+", default=None, ignorable=True)  # Why it joins, for logs (KIP-800).
