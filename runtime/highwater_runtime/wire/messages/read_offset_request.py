from __future__ import annotations

from highwater_runtime.wire.message import Int32, Int64, Message, Struct, field


class PartitionData(Struct):
    partition_index: Int32 = field()


class TopicData(Struct):
    topic_name: str = field()
    partitions: list[PartitionData] = field()


class ReadOffsetRequest(Message, kind="request", key=10000, versions="0", flexible="0+"):
    """Ask how far the quorum's leader has applied the log (KIP-650). An API of ours, with a key that is not Kafka's."""

    cluster_id: str | None = field(nullable="0+", default=None)
    read_timestamp: Int64 = field()  # When the read began, in milliseconds by the wall clock of the node that asks.
    topics: list[TopicData] = field()
