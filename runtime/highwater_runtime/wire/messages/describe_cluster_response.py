from __future__ import annotations

from highwater_runtime.wire.message import Int8, Int16, Int32, Message, Struct, field


class DescribeClusterBroker(Struct):
    broker_id: Int32 = field()
    host: str = field()
    port: Int32 = field()
    rack: str | None = field(nullable="0+", default=None)
    is_fenced: bool = field("2+")


class DescribeClusterResponse(Message, kind="response", key=60, versions="0-2", flexible="0+"):
    """The nodes of the cluster."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+", default=None)
    endpoint_type: Int8 = field("1+", default=1)
    cluster_id: str = field()
    controller_id: Int32 = field(default=-1)
    brokers: list[DescribeClusterBroker] = field()
    cluster_authorized_operations: Int32 = field(default=-2147483648)
