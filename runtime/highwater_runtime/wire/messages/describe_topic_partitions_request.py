from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class TopicRequest(Struct):
    name: str = field()


class Cursor(Struct):
    topic_name: str = field()
    partition_index: Int32 = field()


class DescribeTopicPartitionsRequest(Message, kind="request", key=75, versions="0", flexible="0+"):
    """Topics and their partitions, page by page (KIP-966)."""

    topics: list[TopicRequest] = field()  # Empty for all.
    response_partition_limit: Int32 = field(default=2000)  # At most so many partitions in one answer.
    cursor: Cursor | None = field(nullable="0+", default=None)  # Where to begin.
