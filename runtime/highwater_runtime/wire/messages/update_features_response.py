from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class UpdatableFeatureResult(Struct):
    feature: str = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")


class UpdateFeaturesResponse(Message, kind="response", key=57, versions="0-1", flexible="0+"):
    """One result for each feature, where the request as a whole was fine."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")
    results: list[UpdatableFeatureResult] = field(ignorable=True)
