from __future__ import annotations

from highwater_runtime.wire.message import Int8, Int16, Int32, Message, Struct, field


class AlterConfigsResourceResponse(Struct):
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")
    resource_type: Int8 = field()
    resource_name: str = field()


class IncrementalAlterConfigsResponse(Message, kind="response", key=44, versions="0-1", flexible="1+"):
    """One result for each resource."""

    throttle_time_ms: Int32 = field()
    responses: list[AlterConfigsResourceResponse] = field()
