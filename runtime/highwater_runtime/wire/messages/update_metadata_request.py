from __future__ import annotations

from uuid import UUID

from highwater_runtime.wire.message import Int8, Int16, Int32, Int64, Message, Struct, field


class UpdateMetadataPartitionState(Struct):
    topic_name: str = field("0-4", ignorable=True)
    partition_index: Int32 = field()
    controller_epoch: Int32 = field()
    leader: Int32 = field()
    leader_epoch: Int32 = field()
    isr: list[Int32] = field()
    zk_version: Int32 = field()
    replicas: list[Int32] = field()
    offline_replicas: list[Int32] = field("4+", ignorable=True)


class UpdateMetadataTopicState(Struct):
    topic_name: str = field("5+")
    topic_id: UUID = field("7+", ignorable=True)
    partition_states: list[UpdateMetadataPartitionState] = field("5+")


class UpdateMetadataEndpoint(Struct):
    port: Int32 = field("1+")
    host: str = field("1+")
    listener: str = field("3+", ignorable=True)
    security_protocol: Int16 = field("1+")


class UpdateMetadataBroker(Struct):
    id: Int32 = field()
    v0_host: str = field("0", ignorable=True)
    v0_port: Int32 = field("0", ignorable=True)
    endpoints: list[UpdateMetadataEndpoint] = field("1+", ignorable=True)
    rack: str | None = field("2+", nullable="0+", ignorable=True)


class UpdateMetadataRequest(Message, kind="request", key=6, versions="0-8", flexible="6+"):
    """Send the cluster's metadata to a broker, from the controller of ZooKeeper mode."""

    controller_id: Int32 = field()
    is_kraft_controller: bool = field("8+")
    type: Int8 = field("8+", tag=0)
    controller_epoch: Int32 = field()
    broker_epoch: Int64 = field("5+", default=-1, ignorable=True)
    sequence: Int64 = field("6+", tag=100, default=-1, ignorable=True)  # Ours, see LeaderAndIsrRequest.
    ungrouped_partition_states: list[UpdateMetadataPartitionState] = field("0-4")
    topic_states: list[UpdateMetadataTopicState] = field("5+")
    live_brokers: list[UpdateMetadataBroker] = field()
