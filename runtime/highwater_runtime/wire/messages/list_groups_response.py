from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class ListedGroup(Struct):
    group_id: str = field()
    protocol_type: str = field()
    group_state: str = field("4+", ignorable=True)
    group_type: str = field("5+", ignorable=True)  # "classic", here always.


class ListGroupsResponse(Message, kind="response", key=16, versions="0-5", flexible="3+"):
    """The groups that this broker coordinates."""

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field()
    groups: list[ListedGroup] = field()
