from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int16, Int32, Message, Struct, field


class MetadataResponseBroker(Struct):
    node_id: Int32 = field()
    host: str = field()
    port: Int32 = field()
    rack: str | None = field("1+", nullable="1+", default=None, ignorable=True)


class MetadataResponsePartition(Struct):
    error_code: Int16 = field()
    partition_index: Int32 = field()
    leader_id: Int32 = field()  # -1 if there is none.
    leader_epoch: Int32 = field("7+", default=-1, ignorable=True)
    replica_nodes: list[Int32] = field()
    isr_nodes: list[Int32] = field()
    offline_replicas: list[Int32] = field("5+", ignorable=True)


class MetadataResponseTopic(Struct):
    error_code: Int16 = field()
    name: str | None = field(nullable="12+")
    topic_id: UUID = field("10+", ignorable=True)
    is_internal: bool = field("1+", ignorable=True)
    partitions: list[MetadataResponsePartition] = field()
    topic_authorized_operations: Int32 = field("8+", default=-2147483648)  # Bit set; the minimum means "not asked".


class MetadataResponse(Message, kind="response", key=3, versions="0-13", flexible="9+"):
    """The answering broker's view of the cluster."""

    throttle_time_ms: Int32 = field("3+", ignorable=True)
    brokers: list[MetadataResponseBroker] = field()  # Brokers that are alive.
    cluster_id: str | None = field("2+", nullable="2+", default=None, ignorable=True)
    controller_id: Int32 = field("1+", default=-1, ignorable=True)  # In KRaft some live broker: it forwards.
    topics: list[MetadataResponseTopic] = field()
    cluster_authorized_operations: Int32 = field("8-10", default=-2147483648)
    error_code: Int16 = field("13+", ignorable=True)
