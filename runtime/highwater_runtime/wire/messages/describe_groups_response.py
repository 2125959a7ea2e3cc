from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class DescribedGroupMember(Struct):
    member_id: str = field()
    group_instance_id: str | None = field("4+", nullable="4+", default=None, ignorable=True)
    client_id: str = field()
    client_host: str = field()
    member_metadata: bytes = field()
    member_assignment: bytes = field()


class DescribedGroup(Struct):
    error_code: Int16 = field()
    error_message: str | None = field("6+", nullable="6+", default=None)
    group_id: str = field()
    group_state: str = field()  # "Dead", "Empty", "PreparingRebalance", "CompletingRebalance" or "Stable".
    protocol_type: str = field()
    protocol_data: str = field()  # Name of the protocol chosen, or "".
    members: list[DescribedGroupMember] = field()
    authorized_operations: Int32 = field("3+", default=-2147483648)  # Bit set; the minimum means "not asked".


class DescribeGroupsResponse(Message, kind="response", key=15, versions="0-6", flexible="5+"):
    """One description for each group."""

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    groups: list[DescribedGroup] = field()
