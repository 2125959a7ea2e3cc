"""OffsetForLeaderEpoch: where the leader's log leaves an epoch (KIP-101, KIP-279, KIP-320).

The answer for an epoch is the largest epoch of the leader's log that is not above it, and the end of that one.
Followers on Fetch ≥ 12 need not ask, they get it as diverging epoch; consumers ask after a change of leader.
"""

from __future__ import annotations

from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.offset_for_leader_epoch_request import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
)
from highwater_runtime.wire.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)


def handle(request: InboundRequest, replicas: ReplicaManager) -> None:
    """Answer an OffsetForLeaderEpochRequest."""
    body: OffsetForLeaderEpochRequest = request.body
    topics = [
        OffsetForLeaderTopicResult(
            topic=topic.topic,
            partitions=[
                _answer(replicas.find_by_name(topic.topic, asked.partition), asked) for asked in topic.partitions
            ],
        )
        for topic in body.topics
    ]
    request.reply(OffsetForLeaderEpochResponse(topics=topics))


def _answer(found: Partition | ErrorCode, asked: OffsetForLeaderPartition) -> EpochEndOffset:
    error = found if isinstance(found, ErrorCode) else found.check_leader_epoch(asked.current_leader_epoch)
    if isinstance(found, ErrorCode) or error is not ErrorCode.NONE:
        return EpochEndOffset(error_code=error, partition=asked.partition)
    end = found.log.epoch_end_offset(asked.leader_epoch)
    return EpochEndOffset(
        error_code=ErrorCode.NONE, partition=asked.partition, leader_epoch=end.epoch, end_offset=end.end_offset
    )
