"""ListOffsets: the first offset, the last one, or the one of a time stamp.

Rules in words: only the leader answers, in its leader epoch. The latest offset is the HW for a consumer and the LEO
for a replica. As long as a new leader's HW is below where its epoch starts, it does not know how far the log is
committed: what lies behind its HW is OFFSET_NOT_AVAILABLE then, to be asked again. A partition that is named twice is
refused, as in Kafka: its log might be searched as often.
"""

from __future__ import annotations

from collections import Counter
from typing import Final

from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.log.errors import LogError
from highwater_runtime.ports import InboundRequest
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.list_offsets_request import ListOffsetsPartition, ListOffsetsRequest
from highwater_runtime.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)

LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
FIRST_VERSION: Final = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9}
"""Since when a special timestamp has its meaning; before that it is not one (KIP-734, KIP-405, KIP-1005)."""
NONE: Final = -1
LEADER_EPOCH_SINCE: Final = 4


def handle(request: InboundRequest, replicas: ReplicaManager) -> None:
    """Answer a ListOffsetsRequest."""
    body: ListOffsetsRequest = request.body
    # Kafka's clients of old know neither the leader epoch nor OFFSET_NOT_AVAILABLE.
    unknown_end_error = ErrorCode.OFFSET_NOT_AVAILABLE if request.version >= 5 else ErrorCode.LEADER_NOT_AVAILABLE
    times = Counter((topic.name, asked.partition_index) for topic in body.topics for asked in topic.partitions)
    topics = [
        ListOffsetsTopicResponse(
            name=topic.name,
            partitions=[
                _refused(asked, ErrorCode.INVALID_REQUEST)
                if times[topic.name, asked.partition_index] > 1
                else _refused(asked, ErrorCode.UNSUPPORTED_VERSION)
                if request.version < FIRST_VERSION.get(asked.timestamp, 0)
                else _answer(
                    replicas.find_by_name(topic.name, asked.partition_index), asked, body.replica_id, unknown_end_error
                )
                for asked in topic.partitions
            ],
        )
        for topic in body.topics
    ]
    if request.version < LEADER_EPOCH_SINCE:
        for answer in (partition for topic in topics for partition in topic.partitions):
            answer.leader_epoch = NONE
    request.reply(ListOffsetsResponse(topics=topics))


def _answer(
    found: Partition | ErrorCode, asked: ListOffsetsPartition, replica_id: int, unknown_end_error: ErrorCode
) -> ListOffsetsPartitionResponse:
    index = asked.partition_index
    if isinstance(found, ErrorCode):
        return _response(index, found)
    error = found.check_leader_epoch(asked.current_leader_epoch)
    if error is not ErrorCode.NONE:
        return _response(index, error)
    assert found.leading is not None
    log, high_watermark = found.log, found.high_watermark
    limit = log.log_end_offset if replica_id >= 0 else high_watermark
    end_is_unknown = replica_id < 0 and high_watermark < found.leading.start_offset
    match asked.timestamp:
        case value if value in (EARLIEST, EARLIEST_LOCAL):
            return _response(index, offset=log.log_start_offset, leader_epoch=log.epoch_of(log.log_start_offset))
        case value if value == LATEST:
            if end_is_unknown:
                return _response(index, unknown_end_error)
            return _response(index, offset=limit, leader_epoch=found.leader_epoch)
        case value if value == LATEST_TIERED:
            return _response(index)  # nothing is tiered
        case value if value >= 0 or value == MAX_TIMESTAMP:
            try:
                position = log.offset_of_max_timestamp() if value == MAX_TIMESTAMP else log.offset_for_timestamp(value)
            except LogError as refused:
                return _response(index, ErrorCode[refused.KAFKA_ERROR])
        case _:
            return _response(index, ErrorCode.UNSUPPORTED_VERSION)
    if position is None:
        return _response(index)
    if position.offset >= limit:
        return _response(index, unknown_end_error if end_is_unknown else ErrorCode.NONE)
    return _response(index, timestamp=position.timestamp, offset=position.offset, leader_epoch=position.leader_epoch)


def _refused(asked: ListOffsetsPartition, error: ErrorCode) -> ListOffsetsPartitionResponse:
    return _response(asked.partition_index, error)


def _response(
    index: int,
    error: ErrorCode = ErrorCode.NONE,
    *,
    timestamp: int = NONE,
    offset: int = NONE,
    leader_epoch: int = NONE,
) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(
        partition_index=index, error_code=error, timestamp=timestamp, offset=offset, leader_epoch=leader_epoch
    )
