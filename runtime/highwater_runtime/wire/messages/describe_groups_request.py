from __future__ import annotations

from highwater_runtime.wire.message import Message, field


class DescribeGroupsRequest(Message, kind="request", key=15, versions="0-6", flexible="5+"):
    """Ask for the members of groups and their assignments."""

    groups: list[str] = field()
    include_authorized_operations: bool = field("3+")
