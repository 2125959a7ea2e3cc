from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Message, field


class TopicRecord(Message, kind="metadata", key=2, versions="0", flexible="0+"):
    """A topic has been created."""

    name: str = field()
    topic_id: UUID = field()
