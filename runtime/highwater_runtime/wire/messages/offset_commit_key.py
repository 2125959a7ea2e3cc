from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, field


class OffsetCommitKey(Message, kind="coordinator", versions="0-1", flexible="none"):
    """Key of a record of ``__consumer_offsets``: what a group committed for a partition."""

    group: str = field()
    topic: str = field()
    partition: Int32 = field()
