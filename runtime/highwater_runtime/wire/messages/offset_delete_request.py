from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class OffsetDeleteRequestPartition(Struct):
    partition_index: Int32 = field()


class OffsetDeleteRequestTopic(Struct):
    name: str = field()
    partitions: list[OffsetDeleteRequestPartition] = field()


class OffsetDeleteRequest(Message, kind="request", key=47, versions="0", flexible="none"):
    """Forget what a group committed for partitions that it no longer reads (KIP-496)."""

    group_id: str = field()
    topics: list[OffsetDeleteRequestTopic] = field()
