from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int64, Message, field


class SnapshotHeaderRecord(Message, kind="data", versions="0", flexible="0+"):
    """The first record of a snapshot."""

    version: Int16 = field()
    last_contained_log_timestamp: Int64 = field()  # Milliseconds since 1970, of the last record in the snapshot.
