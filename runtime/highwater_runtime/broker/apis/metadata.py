"""Metadata and DescribeCluster: what this broker believes of the cluster, from its published image.

Topics are never created by asking for them. The controller named is this broker: administrative requests sent to it are
forwarded to the active controller.
"""

from __future__ import annotations

from uuid import UUID

from highwater_runtime.metadata import NO_LEADER, BrokerRegistration, MetadataImage, PartitionRegistration, TopicImage
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from highwater_runtime.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ZERO = UUID(int=0)


def handle(request: InboundRequest, image: MetadataImage, cluster_id: str, broker_id: int) -> None:
    """Answer a MetadataRequest: all topics where none are named (null; in version 0 the empty list as well)."""
    body: MetadataRequest = request.body
    if body.topics is None or (request.version == 0 and not body.topics):
        topics = [_topic(topic, image) for topic in image.topics_by_name.values()]
    else:
        topics = [_asked_topic(asked, image) for asked in body.topics]
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=b.id, host=b.endpoint.host, port=b.endpoint.port, rack=b.rack)
            for b in live_brokers(image)
        ],
        cluster_id=cluster_id,
        controller_id=broker_id,
        topics=topics,
    )
    request.reply(response)


def describe_cluster(request: InboundRequest, image: MetadataImage, cluster_id: str, broker_id: int) -> None:
    """Answer a DescribeClusterRequest about brokers."""
    response = DescribeClusterResponse(
        cluster_id=cluster_id,
        controller_id=broker_id,
        brokers=[
            DescribeClusterBroker(broker_id=b.id, host=b.endpoint.host, port=b.endpoint.port, rack=b.rack)
            for b in live_brokers(image)
        ],
    )
    request.reply(response)


def live_brokers(image: MetadataImage) -> list[BrokerRegistration]:
    """Unfenced brokers by id: those that clients may turn to."""
    return [image.brokers[b] for b in sorted(image.brokers) if not image.brokers[b].fenced]


def _asked_topic(asked: MetadataRequestTopic, image: MetadataImage) -> MetadataResponseTopic:
    if asked.topic_id != ZERO:
        topic = image.topics_by_id.get(asked.topic_id)
        if topic is None:
            return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, topic_id=asked.topic_id, name=None)
    else:
        topic = image.topics_by_name.get(asked.name or "")
        if topic is None:
            return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, name=asked.name or "")
    return _topic(topic, image)


def _topic(topic: TopicImage, image: MetadataImage) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.id,
        partitions=[_partition(index, state, image) for index, state in sorted(topic.partitions.items())],
    )


def _partition(index: int, state: PartitionRegistration, image: MetadataImage) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if state.leader == NO_LEADER else ErrorCode.NONE,
        partition_index=index,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        offline_replicas=[b for b in state.replicas if b not in image.brokers or image.brokers[b].fenced],
    )
