from __future__ import annotations

from highwater_runtime.wire.message import Message, Struct, field


class UserName(Struct):
    name: str = field()


class DescribeUserScramCredentialsRequest(Message, kind="request", key=50, versions="0", flexible="0+"):
    """Which users have SCRAM credentials (KIP-554)?"""

    users: list[UserName] | None = field(nullable="0+")  # Null or empty for all.
