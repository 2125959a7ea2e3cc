from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, field


class RequestHeader(Message, kind="header", versions="0-2", flexible="2+"):
    """In front of every request. The client id keeps its old form in every version, so that any broker can read it."""

    request_api_key: Int16 = field()
    request_api_version: Int16 = field()
    correlation_id: Int32 = field()  # Comes back in the response.
    client_id: str | None = field("1+", nullable="1+", inflexible=True)
