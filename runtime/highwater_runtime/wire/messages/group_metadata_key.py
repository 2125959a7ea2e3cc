from __future__ import annotations

from highwater_runtime.wire.message import Message, field


class GroupMetadataKey(Message, kind="coordinator", versions="2", flexible="none"):
    """Key of a record of ``__consumer_offsets``: a group. Its version distinguishes it from an OffsetCommitKey."""

    group: str = field()
