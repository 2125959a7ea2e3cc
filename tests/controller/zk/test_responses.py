"""What the controller of ZooKeeper mode takes from the answers of brokers."""

from __future__ import annotations

import pytest

from highwater_runtime.controller.zk.commands import EPOCH_DURING_DELETE
from highwater_runtime.controller.zk.context import PartitionKey
from highwater_runtime.controller.zk.responses import stopped_replicas
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.stop_replica_request import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from highwater_runtime.wire.messages.stop_replica_response import StopReplicaPartitionError, StopReplicaResponse


@pytest.mark.parametrize(
    ("leader_epoch", "error", "is_gone"),
    [
        (EPOCH_DURING_DELETE, ErrorCode.NONE, True),
        (EPOCH_DURING_DELETE, ErrorCode.KAFKA_STORAGE_ERROR, False),
        (11, ErrorCode.NONE, False),
    ],
)
def test_only_the_deletion_of_its_topic_confirms_that_a_replica_is_gone(
    leader_epoch: int, error: ErrorCode, is_gone: bool
) -> None:
    """Found by ``campaign random``, seed 780734: a replica moved away and back, and its broker, cut off for a while,
    had not taken the second command when it answered the first."""
    state = StopReplicaPartitionState(partition_index=0, leader_epoch=leader_epoch, delete_partition=True)
    topic = StopReplicaTopicState(topic_name="orders", partition_states=[state])
    answer = StopReplicaPartitionError(topic_name="orders", partition_index=0, error_code=error)
    response = StopReplicaResponse(error_code=ErrorCode.NONE, partition_errors=[answer])
    found = stopped_replicas(StopReplicaRequest(topic_states=[topic]), response)
    assert found == ([PartitionKey("orders", 0)] if is_gone else [])
