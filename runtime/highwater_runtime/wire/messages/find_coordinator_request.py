from __future__ import annotations

from highwater_runtime.wire.message import Int8, Message, field


class FindCoordinatorRequest(Message, kind="request", key=10, versions="0-6", flexible="3+"):
    """The coordinator of a group (key type 0) or of a transactional id (1)."""

    key: str = field("0-3")
    key_type: Int8 = field("1+")
    coordinator_keys: list[str] = field("4+")
