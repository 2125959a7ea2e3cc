from __future__ import annotations

from highwater_runtime.wire.message import Message, field


class SaslHandshakeRequest(Message, kind="request", key=17, versions="0-1", flexible="none"):
    """Which mechanism the client wants to authenticate with. From version 1 on SaslAuthenticate requests follow."""

    mechanism: str = field()
