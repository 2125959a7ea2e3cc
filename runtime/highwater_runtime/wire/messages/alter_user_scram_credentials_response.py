from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class AlterUserScramCredentialsResult(Struct):
    user: str = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")


class AlterUserScramCredentialsResponse(Message, kind="response", key=51, versions="0", flexible="0+"):
    """One result for each user."""

    throttle_time_ms: Int32 = field()
    results: list[AlterUserScramCredentialsResult] = field()
