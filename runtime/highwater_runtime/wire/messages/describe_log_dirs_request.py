from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class DescribableLogDirTopic(Struct):
    topic: str = field()
    partitions: list[Int32] = field()


class DescribeLogDirsRequest(Message, kind="request", key=35, versions="1-4", flexible="2+"):
    """How large is what this broker has (KIP-113)?"""

    topics: list[DescribableLogDirTopic] | None = field(nullable="0+")  # Null for all.
