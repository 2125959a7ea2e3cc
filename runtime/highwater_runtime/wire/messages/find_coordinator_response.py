from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class Coordinator(Struct):
    key: str = field("4+")
    node_id: Int32 = field("4+")
    host: str = field("4+")
    port: Int32 = field("4+")
    error_code: Int16 = field("4+")
    error_message: str | None = field("4+", nullable="4+", ignorable=True)


class FindCoordinatorResponse(Message, kind="response", key=10, versions="0-6", flexible="3+"):
    """Where the coordinators are."""

    throttle_time_ms: Int32 = field("1+", ignorable=True)
    error_code: Int16 = field("0-3")
    error_message: str | None = field("1-3", nullable="1-3", ignorable=True)
    node_id: Int32 = field("0-3")
    host: str = field("0-3")
    port: Int32 = field("0-3")
    coordinators: list[Coordinator] = field("4+")
