from __future__ import annotations

from highwater_runtime.wire.message import Int8, Int16, Int32, Message, Struct, field


class CredentialInfo(Struct):
    mechanism: Int8 = field()  # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    iterations: Int32 = field()


class DescribeUserScramCredentialsResult(Struct):
    user: str = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")
    credential_infos: list[CredentialInfo] = field()


class DescribeUserScramCredentialsResponse(Message, kind="response", key=50, versions="0", flexible="0+"):
    """Mechanisms and iterations of each user; never anything to log in with."""

    throttle_time_ms: Int32 = field()
    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")
    results: list[DescribeUserScramCredentialsResult] = field()
