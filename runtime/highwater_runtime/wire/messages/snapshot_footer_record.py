from __future__ import annotations

from highwater_runtime.wire.message import Int16, Message, field


class SnapshotFooterRecord(Message, kind="data", versions="0", flexible="0+"):
    """The last record of a snapshot: without it the snapshot is incomplete."""

    version: Int16 = field()
