"""DescribeTopicPartitions: topics and their partitions, page by page (KIP-966).

Topics come in the order of their names. A page ends with the partition that reaches its limit, which is the request's
or, if that is less, ``max.request.partition.size.limit``; the cursor says where the next one begins. A topic that is
not there takes the place of one partition, so that a page of unknown topics ends, too.
"""

from __future__ import annotations

from collections.abc import Mapping

from highwater_runtime.broker.apis.metadata import TOPIC_OPERATIONS, live_ids, offline_replicas
from highwater_runtime.metadata import NO_LEADER, MetadataImage, PartitionRegistration
from highwater_runtime.metadata.topic_names import is_internal, is_legal
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_topic_partitions_request import DescribeTopicPartitionsRequest
from highwater_runtime.wire.messages.describe_topic_partitions_response import (
    Cursor,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)


def handle(request: InboundRequest, image: MetadataImage, limit: int) -> None:
    """Answer a DescribeTopicPartitionsRequest with a page of at most ``limit`` partitions."""
    request.reply(page(request.body, image, limit))


def page(body: DescribeTopicPartitionsRequest, image: MetadataImage, limit: int) -> DescribeTopicPartitionsResponse:
    """One page: of the topics named, or of all."""
    first_topic, first_index = ("", 0) if body.cursor is None else (body.cursor.topic_name, body.cursor.partition_index)
    if first_index < 0:
        # Kafka's answer to a cursor that no broker has given: the whole request is wrong.
        return _all_refused(body, ErrorCode.INVALID_REQUEST)
    names = {topic.name for topic in body.topics} or set(image.topics_by_name)
    live = live_ids(image)
    room = max(1, min(body.response_partition_limit, limit))
    response = DescribeTopicPartitionsResponse()
    for name in sorted(name for name in names if name >= first_topic):
        if room <= 0:
            response.next_cursor = Cursor(topic_name=name, partition_index=0)
            return response
        topic = image.topics_by_name.get(name)
        if topic is None:
            if body.topics:
                response.topics.append(_unknown(name))
                room -= 1
            continue
        indexes = sorted(index for index in topic.partitions if name != first_topic or index >= first_index)
        response.topics.append(
            DescribeTopicPartitionsResponseTopic(
                name=name,
                topic_id=topic.id,
                is_internal=is_internal(name),
                partitions=[_partition(index, topic.partitions[index], live) for index in indexes[:room]],
                topic_authorized_operations=TOPIC_OPERATIONS,
            )
        )
        if len(indexes) > room:
            response.next_cursor = Cursor(topic_name=name, partition_index=indexes[room])
            return response
        room -= len(indexes)
    return response


def _all_refused(body: DescribeTopicPartitionsRequest, error: ErrorCode) -> DescribeTopicPartitionsResponse:
    topics = [DescribeTopicPartitionsResponseTopic(name=topic.name, error_code=error) for topic in body.topics]
    return DescribeTopicPartitionsResponse(topics=topics)


def _unknown(name: str) -> DescribeTopicPartitionsResponseTopic:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return DescribeTopicPartitionsResponseTopic(name=name, error_code=error, is_internal=is_internal(name))


def _partition(
    index: int, state: PartitionRegistration, live: Mapping[int, None]
) -> DescribeTopicPartitionsResponsePartition:
    return DescribeTopicPartitionsResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if state.leader == NO_LEADER else ErrorCode.NONE,
        partition_index=index,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        eligible_leader_replicas=[],
        last_known_elr=[],
        offline_replicas=offline_replicas(state, live),
    )
