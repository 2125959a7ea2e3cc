from __future__ import annotations

from highwater_runtime.wire.message import Int16, Message, field


class SaslHandshakeResponse(Message, kind="response", key=17, versions="0-1", flexible="none"):
    """Whether the listener has the mechanism."""

    error_code: Int16 = field()
    mechanisms: list[str] = field()  # Those that it has.
