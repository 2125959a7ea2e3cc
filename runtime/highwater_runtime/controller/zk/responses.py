"""What brokers answer, partition by partition."""

from __future__ import annotations

from highwater_runtime.controller.zk.commands import EPOCH_DURING_DELETE
from highwater_runtime.controller.zk.context import PartitionKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.leader_and_isr_request import LeaderAndIsrRequest
from highwater_runtime.wire.messages.leader_and_isr_response import LeaderAndIsrResponse
from highwater_runtime.wire.messages.stop_replica_request import StopReplicaRequest
from highwater_runtime.wire.messages.stop_replica_response import StopReplicaResponse


def stopped_replicas(request: StopReplicaRequest, response: StopReplicaResponse) -> list[PartitionKey]:
    """The partitions that the broker has deleted because their topic is deleted.

    Not those that were moved away from it before: a later LeaderAndIsr, which it has not taken yet, may have moved them
    back. (Apache Kafka counts these, too.)
    """
    failed = {
        (error.topic_name, error.partition_index)
        for error in response.partition_errors
        if error.error_code != ErrorCode.NONE
    }
    return [
        PartitionKey(topic.topic_name, state.partition_index)
        for topic in request.topic_states
        for state in topic.partition_states
        if state.leader_epoch == EPOCH_DURING_DELETE and (topic.topic_name, state.partition_index) not in failed
    ]


def failed_replicas(request: LeaderAndIsrRequest, response: LeaderAndIsrResponse) -> list[PartitionKey]:
    """The partitions whose log directory on the broker has failed (KAFKA_STORAGE_ERROR)."""
    names = {topic.topic_id: topic.topic_name for topic in request.topic_states}
    by_name = [
        PartitionKey(error.topic_name, error.partition_index)
        for error in response.partition_errors
        if error.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    ]
    by_id = [
        PartitionKey(names[topic.topic_id], error.partition_index)
        for topic in response.topics
        if topic.topic_id in names
        for error in topic.partition_errors
        if error.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    ]
    return by_name + by_id
