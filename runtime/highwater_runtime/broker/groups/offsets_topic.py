"""FindCoordinator, and the making of ``__consumer_offsets`` on the first one of a cluster.

The coordinator of a group is the leader of its partition of ``__consumer_offsets``; any broker can say who that is.
As long as there is no such topic (or its partition has no leader) the answer is COORDINATOR_NOT_AVAILABLE, by which
clients ask again, and the controller is asked to create the topic: ``offsets.topic.num.partitions`` partitions, each on
``offsets.topic.replication.factor`` brokers. With fewer brokers than that it is refused, as in Apache Kafka, and no
group works: a cluster of one or two brokers sets the property accordingly.

There are no transactions here: who asks for a transaction's coordinator learns that at once, by an error
that clients do not retry (TRANSACTIONAL_ID_AUTHORIZATION_FAILED).
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.broker.groups.records import partition_for
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.broker.topic_creation import TopicCreation
from highwater_runtime.broker.work_queue import answer_in_slices
from highwater_runtime.metadata import BrokerRegistration
from highwater_runtime.metadata.topic_names import GROUP_OFFSETS_TOPIC
from highwater_runtime.ports import Clock, InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableTopic,
    CreatableTopicConfig,
)
from highwater_runtime.wire.messages.find_coordinator_request import FindCoordinatorRequest
from highwater_runtime.wire.messages.find_coordinator_response import Coordinator, FindCoordinatorResponse

GROUP_KEY: Final = 0
MANY_SINCE: Final = 4
"""The version from which on one request asks for several coordinators."""


class OffsetsTopic:
    """Where the coordinator of a group is."""

    def __init__(self, replicas: ReplicaManager, creation: TopicCreation, clock: Clock) -> None:
        self._replicas = replicas
        self._clock = clock
        self._creation = creation

    def handle(self, request: InboundRequest) -> None:
        """Answer a FindCoordinatorRequest: each key once, however often it is named."""
        body: FindCoordinatorRequest = request.body
        if request.version >= MANY_SINCE:
            answer_in_slices(
                self._clock,
                dict.fromkeys(body.coordinator_keys),
                lambda key: self._find(key, body.key_type, request.listener),
                lambda found: request.reply(FindCoordinatorResponse(coordinators=found)),
            )
            return
        only = self._find(body.key, body.key_type, request.listener)
        request.reply(
            FindCoordinatorResponse(
                error_code=only.error_code,
                error_message=only.error_message,
                node_id=only.node_id,
                host=only.host,
                port=only.port,
            )
        )

    def _find(self, key: str, key_type: int, listener: str) -> Coordinator:
        if key_type != GROUP_KEY:
            # The one error that ends a transactional producer of every client at once; the others are tried again.
            error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
            return _nobody(key, error, "only groups have coordinators here: no transactions")
        leader = self._leader_for(key)
        at = None if leader is None else leader.endpoint_for(listener)
        if leader is None or at is None:
            return _nobody(key, ErrorCode.COORDINATOR_NOT_AVAILABLE, None)
        return Coordinator(
            key=key,
            node_id=leader.id,
            host=at.host,
            port=at.port,
            error_code=ErrorCode.NONE,
            error_message=None,
        )

    def _leader_for(self, group_id: str) -> BrokerRegistration | None:
        image = self._replicas.image
        topic = image.topics_by_name.get(GROUP_OFFSETS_TOPIC)
        if topic is None:
            self._create()
            return None
        leader = image.brokers.get(topic.partitions[partition_for(group_id, len(topic.partitions))].leader)
        return None if leader is None or leader.fenced else leader

    def _create(self) -> None:
        config = self._replicas.options.config
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(config.offsets_topic_segment_bytes),
        }
        topic = CreatableTopic(
            name=GROUP_OFFSETS_TOPIC,
            num_partitions=config.offsets_topic_num_partitions,
            replication_factor=config.offsets_topic_replication_factor,
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in configs.items()],
        )
        self._creation.create([topic])


def _nobody(key: str, error: ErrorCode, message: str | None) -> Coordinator:
    return Coordinator(key=key, node_id=-1, host="", port=-1, error_code=error, error_message=message)
