from __future__ import annotations

from highwater_runtime.wire.message import Message, field


class DescribeGroupsRequest(Message, kind="request", key=15, versions="0-6", flexible="5+"):
    """Who is in these groups, and what do they read?"""

    groups: list[str] = field()
    include_authorized_operations: bool = field("3+")
