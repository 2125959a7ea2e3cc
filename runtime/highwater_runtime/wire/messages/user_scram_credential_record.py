from __future__ import annotations

from highwater_runtime.wire.message import Int8, Int32, Message, field


class UserScramCredentialRecord(Message, kind="metadata", key=11, versions="0", flexible="0+"):
    """What a user authenticates with; it replaces the one of the same user and mechanism."""

    name: str = field()
    mechanism: Int8 = field()  # 1 SCRAM-SHA-256, 2 SCRAM-SHA-512.
    salt: bytes = field()
    stored_key: bytes = field()
    server_key: bytes = field()
    iterations: Int32 = field()
