from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class DeletableGroupResult(Struct):
    group_id: str = field()
    error_code: Int16 = field()


class DeleteGroupsResponse(Message, kind="response", key=42, versions="0-2", flexible="2+"):
    """One result for each group."""

    throttle_time_ms: Int32 = field()
    results: list[DeletableGroupResult] = field()
