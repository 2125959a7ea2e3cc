from __future__ import annotations

from highwater_runtime.wire.message import Int32, Message, Struct, field


class PartitionData(Struct):
    partition_index: Int32 = field()


class TopicData(Struct):
    topic_name: str = field()
    partitions: list[PartitionData] = field()


class DescribeQuorumRequest(Message, kind="request", key=55, versions="0-2", flexible="0+"):
    """How far are the voters and observers?"""

    topics: list[TopicData] = field()
