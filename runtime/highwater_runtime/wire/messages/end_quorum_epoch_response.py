from __future__ import annotations

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, UInt16, field


class PartitionData(Struct):
    partition_index: Int32 = field()
    error_code: Int16 = field()
    leader_id: Int32 = field()
    leader_epoch: Int32 = field()


class TopicData(Struct):
    topic_name: str = field()
    partitions: list[PartitionData] = field()


class NodeEndpoint(Struct):
    node_id: Int32 = field("1+")
    host: str = field("1+")
    port: UInt16 = field("1+")


class EndQuorumEpochResponse(Message, kind="response", key=54, versions="0-1", flexible="1+"):
    """The leader and epoch that the voter knows."""

    error_code: Int16 = field()
    topics: list[TopicData] = field()
    node_endpoints: list[NodeEndpoint] = field("1+", tag=0, ignorable=True)
