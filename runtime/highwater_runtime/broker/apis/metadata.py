"""Metadata and DescribeCluster: what this broker believes of the cluster, from its published image.

Each client gets the endpoints of the listener by which it came. The controller named is a broker, chosen by the mode
of the cluster. Without authorization every client may do everything: a request for its authorized operations gets all
of them.
"""

from __future__ import annotations

from collections.abc import Collection, KeysView, Mapping
from typing import Final
from uuid import UUID

from highwater_runtime.broker.topic_creation import TopicCreation
from highwater_runtime.metadata import (
    NO_LEADER,
    BrokerRegistration,
    MetadataImage,
    PartitionRegistration,
    TopicImage,
    reachable,
)
from highwater_runtime.metadata.topic_names import is_internal, is_legal
from highwater_runtime.metadata.znodes import has_id
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.describe_cluster_request import DescribeClusterRequest
from highwater_runtime.wire.messages.describe_cluster_response import DescribeClusterBroker, DescribeClusterResponse
from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from highwater_runtime.wire.messages.metadata_response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)

ZERO = UUID(int=0)
IDS_INSTEAD_OF_NAMES_SINCE: Final = 12
_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE = 3, 4, 5, 6, 7, 8
_CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE = 9, 10, 11, 12


def _bits(*operations: int) -> int:
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS: Final = _bits(_READ, _WRITE, _CREATE, _DELETE, _ALTER, _DESCRIBE, _DESCRIBE_CONFIGS, _ALTER_CONFIGS)
"""All operations on a topic, as a set of bits by Kafka's ``AclOperation``."""

CLUSTER_OPERATIONS: Final = _bits(
    _CREATE, _ALTER, _DESCRIBE, _CLUSTER_ACTION, _DESCRIBE_CONFIGS, _ALTER_CONFIGS, _IDEMPOTENT_WRITE
)
"""All operations on the cluster."""

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


class PartitionAnswers:
    """What this broker has answered of each partition: the same as long as its state and the live brokers are the same.

    Clients ask again and again for topics of many partitions, of which few have changed.
    """

    def __init__(self) -> None:
        self._live: Mapping[int, None] = {}
        self._known: dict[UUID, dict[int, tuple[PartitionRegistration, MetadataResponsePartition]]] = {}

    def of(self, topic: TopicImage, live: Mapping[int, None]) -> list[MetadataResponsePartition]:
        """The partitions of a topic by index. They are shared: do not change them."""
        if live != self._live:
            self._known.clear()
            self._live = live
        known = self._known.setdefault(topic.id, {})
        if len(known) > len(topic.partitions):
            known.clear()
        answers = []
        for index, state in sorted(topic.partitions.items()):
            answer = known.get(index)
            if answer is None or answer[0] is not state:
                answer = known[index] = (state, _partition(index, state, live))
            answers.append(answer[1])
        return answers

    @property
    def topics(self) -> KeysView[UUID]:
        """The topics of which something is kept."""
        return self._known.keys()

    def keep_only(self, topics: Collection[UUID]) -> None:
        """Forget topics that are no more."""
        if len(self._known) > len(topics):
            self._known = {topic_id: known for topic_id, known in self._known.items() if topic_id in topics}


def handle(
    request: InboundRequest,
    image: MetadataImage,
    cluster_id: str,
    controller_id: int,
    creation: TopicCreation,
    answers: PartitionAnswers,
) -> None:
    """Answer a MetadataRequest: all topics where none are named (null; in version 0 the empty list as well), else each
    of those named, once."""
    body: MetadataRequest = request.body
    live = live_ids(image)
    answers.keep_only(image.topics_by_id)
    if body.topics is None or (request.version == 0 and not body.topics):
        topics = [_topic(topic, live, answers) for topic in image.topics_by_name.values()]
    else:
        once = list({(asked.topic_id, asked.name): asked for asked in body.topics}.values())  # as Kafka's set of names
        if body.allow_auto_topic_creation:
            creation.create_missing([asked.name for asked in once if asked.name is not None], image)
        topics = [_asked_topic(asked, image, live, answers, request.version) for asked in once]
    response = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=b.id, host=at.host, port=at.port, rack=b.rack)
            for b, at in reachable(live_brokers(image), request.listener)
        ],
        cluster_id=cluster_id,
        controller_id=controller_id,
        topics=topics,
    )
    if body.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    if body.include_topic_authorized_operations:
        for topic in topics:
            if topic.error_code == ErrorCode.NONE:
                topic.topic_authorized_operations = TOPIC_OPERATIONS
    request.reply(response)


def describe_cluster(request: InboundRequest, image: MetadataImage, cluster_id: str, controller_id: int) -> None:
    """Answer a DescribeClusterRequest about brokers; about controllers one asks a controller (KIP-919)."""
    body: DescribeClusterRequest = request.body
    if body.endpoint_type != _BROKERS:
        known = body.endpoint_type == _CONTROLLERS
        request.reply(
            DescribeClusterResponse(
                error_code=ErrorCode.MISMATCHED_ENDPOINT_TYPE if known else ErrorCode.UNSUPPORTED_ENDPOINT_TYPE,
                error_message=f"this is a broker (endpoint type {_BROKERS}), not of type {body.endpoint_type}",
                endpoint_type=_BROKERS,
                cluster_id=cluster_id,
            )
        )
        return
    listed = [image.brokers[b] for b in sorted(image.brokers)] if body.include_fenced_brokers else live_brokers(image)
    response = DescribeClusterResponse(
        cluster_id=cluster_id,
        controller_id=controller_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=b.id,
                host=at.host,
                port=at.port,
                rack=b.rack,
                is_fenced=b.fenced and body.include_fenced_brokers,
            )
            for b, at in reachable(listed, request.listener)
        ],
    )
    if body.include_cluster_authorized_operations:
        response.cluster_authorized_operations = CLUSTER_OPERATIONS
    request.reply(response)


def live_brokers(image: MetadataImage) -> list[BrokerRegistration]:
    """Unfenced brokers by id: those that clients may turn to."""
    return [image.brokers[b] for b in sorted(image.brokers) if not image.brokers[b].fenced]


def live_ids(image: MetadataImage) -> dict[int, None]:
    """Return the ids of brokers that serve clients. Computed once for all partitions of an answer."""
    return {broker.id: None for broker in image.brokers.values() if not broker.fenced}


def offline_replicas(state: PartitionRegistration, live: Mapping[int, None]) -> list[int]:
    """Return the replicas whose brokers do not serve clients; ``live`` is :func:`live_ids`."""
    return [b for b in state.replicas if b not in live]


def _asked_topic(
    asked: MetadataRequestTopic, image: MetadataImage, live: Mapping[int, None], answers: PartitionAnswers, version: int
) -> MetadataResponseTopic:
    if asked.topic_id != ZERO:
        topic = image.topics_by_id.get(asked.topic_id)
        if topic is None:
            name = None if version >= IDS_INSTEAD_OF_NAMES_SINCE else ""
            return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, topic_id=asked.topic_id, name=name)
        return _topic(topic, live, answers)
    topic = image.topics_by_name.get(asked.name or "")
    return _unknown(asked.name or "") if topic is None else _topic(topic, live, answers)


def _unknown(name: str) -> MetadataResponseTopic:
    error = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if is_legal(name) else ErrorCode.INVALID_TOPIC_EXCEPTION
    return MetadataResponseTopic(error_code=error, name=name, is_internal=is_internal(name))


def _topic(topic: TopicImage, live: Mapping[int, None], answers: PartitionAnswers) -> MetadataResponseTopic:
    return MetadataResponseTopic(
        error_code=ErrorCode.NONE,
        name=topic.name,
        topic_id=topic.id if has_id(topic.name, topic.id) else ZERO,
        is_internal=is_internal(topic.name),
        partitions=answers.of(topic, live),
    )


def _partition(index: int, state: PartitionRegistration, live: Mapping[int, None]) -> MetadataResponsePartition:
    return MetadataResponsePartition(
        error_code=ErrorCode.LEADER_NOT_AVAILABLE if state.leader == NO_LEADER else ErrorCode.NONE,
        partition_index=index,
        leader_id=state.leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=list(state.replicas),
        isr_nodes=list(state.isr),
        offline_replicas=offline_replicas(state, live),
    )
