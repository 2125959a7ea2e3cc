"""OffsetForLeaderEpoch: where the leader's log leaves an epoch (KIP-101, KIP-279, KIP-320).

The answer for an epoch is the largest epoch of the leader's log that is not above it, and the end of that one.
Followers on Fetch ≥ 12 need not ask, they get it as diverging epoch; consumers ask after a change of leader.

Versions 0 and 1 are those of followers with an older protocol of truncation
(:mod:`highwater_runtime.broker.truncation`): they are not fenced, and the answer of version 0 is an offset alone.
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.broker.truncation import EpochEnd, end_without_epoch
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

ANY_LEADER_EPOCH: Final = -1
NO_OFFSET: Final = -1
EPOCH_SINCE: Final = 1
FENCED_SINCE: Final = 2


def handle(request: InboundRequest, replicas: ReplicaManager) -> None:
    """Answer an OffsetForLeaderEpochRequest."""
    body: OffsetForLeaderEpochRequest = request.body
    topics = [
        OffsetForLeaderTopicResult(
            topic=topic.topic,
            partitions=[
                _answer(replicas.find_by_name(topic.topic, asked.partition), asked, request.version)
                for asked in topic.partitions
            ],
        )
        for topic in body.topics
    ]
    request.reply(OffsetForLeaderEpochResponse(topics=topics))


def _answer(found: Partition | ErrorCode, asked: OffsetForLeaderPartition, version: int) -> EpochEndOffset:
    if isinstance(found, ErrorCode):
        return EpochEndOffset(error_code=found, partition=asked.partition)
    error = found.check_leader_epoch(asked.current_leader_epoch if version >= FENCED_SINCE else ANY_LEADER_EPOCH)
    if error is not ErrorCode.NONE:
        return EpochEndOffset(error_code=error, partition=asked.partition)
    end = found.log.epoch_end_offset(asked.leader_epoch)
    if version < EPOCH_SINCE:
        known = EpochEnd(end.epoch, end.end_offset) if end.end_offset >= 0 else None
        entries = found.log.epoch_entries
        offset = end_without_epoch(asked.leader_epoch, known, entries[0][0] if entries else ANY_LEADER_EPOCH)
        return EpochEndOffset(
            error_code=ErrorCode.NONE, partition=asked.partition, end_offset=NO_OFFSET if offset is None else offset
        )
    return EpochEndOffset(
        error_code=ErrorCode.NONE, partition=asked.partition, leader_epoch=end.epoch, end_offset=end.end_offset
    )
