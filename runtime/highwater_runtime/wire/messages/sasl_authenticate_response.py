from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int64, Message, field


class SaslAuthenticateResponse(Message, kind="response", key=36, versions="0-2", flexible="2+"):
    """The server's next message, or why it has refused."""

    error_code: Int16 = field()
    error_message: str | None = field(nullable="0+")
    auth_bytes: bytes = field()
    session_lifetime_ms: Int64 = field("1+", ignorable=True)  # When to authenticate again (KIP-368); 0 for never.
