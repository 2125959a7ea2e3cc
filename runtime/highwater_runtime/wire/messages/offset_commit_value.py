from __future__ import annotations

from highwater_runtime.wire.message import Int32, Int64, Message, field


class OffsetCommitValue(Message, kind="coordinator", versions="0-3", flexible="none"):
    """Value under an OffsetCommitKey; a record without value takes the commit back."""

    offset: Int64 = field()  # The offset to read next.
    leader_epoch: Int32 = field("3+", default=-1, ignorable=True)
    metadata: str = field()
    commit_timestamp: Int64 = field()  # Milliseconds since 1970.
    expire_timestamp: Int64 = field("1", default=-1, ignorable=True)
