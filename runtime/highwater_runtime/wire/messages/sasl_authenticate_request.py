from __future__ import annotations

from highwater_runtime.wire.message import Message, field


class SaslAuthenticateRequest(Message, kind="request", key=36, versions="0-2", flexible="2+"):
    """One message of the mechanism's conversation."""

    auth_bytes: bytes = field()
