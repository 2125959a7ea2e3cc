from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, field


class ResponseHeader(Message, kind="header", versions="0-1", flexible="1+"):
    """In front of every response."""

    correlation_id: Int32 = field()
