from __future__ import annotations

from highwater_runtime.wire.message import Int8, Message, field


class ConfigRecord(Message, kind="metadata", key=4, versions="0", flexible="0+"):
    """One configuration value."""

    resource_type: Int8 = field()  # 2 topic, 4 broker.
    resource_name: str = field()
    name: str = field()
    value: str | None = field(nullable="0+")  # Null removes it.
