from __future__ import annotations

from highwater_runtime.wire.message import Message


class NoOpRecord(Message, kind="metadata", key=20, versions="0", flexible="0+"):
    """Nothing: lets the high watermark advance and brokers see that they are current (KIP-835)."""
