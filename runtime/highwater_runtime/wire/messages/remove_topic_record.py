from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Message, field


class RemoveTopicRecord(Message, kind="metadata", key=9, versions="0", flexible="0+"):
    """A topic and all its partitions are gone."""

    topic_id: UUID = field()
