from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Message, Struct, field


class MetadataRequestTopic(Struct):
    topic_id: UUID = field("10+", ignorable=True)
    name: str | None = field(nullable="10+")  # Null if asked by id.


class MetadataRequest(Message, kind="request", key=3, versions="0-13", flexible="9+"):
    """Brokers, topics and their leaders. Topics of null mean all; in version 0 an empty list does."""

    topics: list[MetadataRequestTopic] | None = field(nullable="1+")  # Topics to describe.
    allow_auto_topic_creation: bool = field("4+", default=True)  # Whether a missing topic may be created.
    include_cluster_authorized_operations: bool = field("8-10")
    include_topic_authorized_operations: bool = field("8+")
