from __future__ import annotations

from highwater_runtime.wire.message import Int8, Message, field


class DescribeClusterRequest(Message, kind="request", key=60, versions="0-2", flexible="0+"):
    """Brokers, or (endpoint type 2) controllers."""

    include_cluster_authorized_operations: bool = field()
    endpoint_type: Int8 = field("1+", default=1)  # 1 brokers, 2 controllers.
    include_fenced_brokers: bool = field("2+")  # Also those that serve nobody at the moment (KIP-1073).
