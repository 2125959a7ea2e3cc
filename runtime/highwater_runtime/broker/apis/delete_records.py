"""DeleteRecords: move the beginning of partitions forward, on all their replicas (KIP-107).

Rules in words: the leader moves its log start offset, never beyond the HW and never back; −1 stands for the HW. What
is below is unreadable from then on; whole segments of it go with the next retention pass. Followers learn of the
new log start with their next fetch, and tell with the one after that they have it. The request is answered when the
*low watermark*, the least log start offset of all replicas whose brokers are alive, has arrived, or when its time is
up (REQUEST_TIMED_OUT: the leader's log begins there all the same). Records of internal topics are not deleted;
nor are those of topics whose ``cleanup.policy`` has no ``delete`` (POLICY_VIOLATION).
"""

from __future__ import annotations

from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.log.errors import LogError
from highwater_runtime.metadata.topic_names import is_internal
from highwater_runtime.ports import MS, InboundRequest
from highwater_runtime.ports.trace import RecordsDeleted, RecordsDeletionAsked
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.delete_records_request import DeleteRecordsRequest
from highwater_runtime.wire.messages.delete_records_response import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

HIGH_WATERMARK = -1
UNKNOWN = -1

_Waiting = tuple[Partition, int, DeleteRecordsPartitionResult]
"""Partition, the offset that its low watermark must reach, and the answer that is prepared for that."""


def handle(request: InboundRequest, replicas: ReplicaManager) -> None:
    """Answer a DeleteRecordsRequest, at once or when all replicas have followed."""
    body: DeleteRecordsRequest = request.body
    waiting: list[_Waiting] = []
    response = DeleteRecordsResponse()
    for topic in body.topics:
        result = DeleteRecordsTopicResult(name=topic.name)
        response.topics.append(result)
        for asked in topic.partitions:
            answer = DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=UNKNOWN)
            result.partitions.append(answer)
            if is_internal(topic.name):
                answer.error_code = ErrorCode.INVALID_TOPIC_EXCEPTION
                continue
            found = replicas.find_by_name(topic.name, asked.partition_index)
            match _delete(found, asked.offset):
                case (partition, offset):
                    waiting.append((partition, offset, answer))
                case error:
                    answer.error_code = error
    delayed = DelayedDeletion(request, response, waiting, replicas)
    replicas.deletions.park(delayed, [partition.name for partition, _, _ in waiting], max(0, body.timeout_ms) * MS)


def _delete(found: Partition | ErrorCode, offset: int) -> tuple[Partition, int] | ErrorCode:
    if isinstance(found, ErrorCode):
        return found
    if found.leading is None:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if not found.log.config.deletes:
        return ErrorCode.POLICY_VIOLATION
    target = found.high_watermark if offset == HIGH_WATERMARK else offset
    if not 0 <= target <= found.high_watermark:
        return ErrorCode.OFFSET_OUT_OF_RANGE
    found.context.trace.emit(RecordsDeletionAsked(partition=found.name, topic_id=found.topic_id.hex, offset=offset))
    try:
        found.begin_at(target, "delete-records")
    except LogError as error:
        return ErrorCode[error.KAFKA_ERROR]
    return found, target


def low_watermark(partition: Partition, replicas: ReplicaManager) -> int:
    """The least log start offset of the leader and the followers whose brokers are alive; −1: one is not known yet."""
    assert partition.leading is not None
    followers = partition.leading.followers
    waited_for = (followers[b].log_start_offset for b in _living_followers(partition, replicas))
    return min([partition.log.log_start_offset, *waited_for])


def _living_followers(partition: Partition, replicas: ReplicaManager) -> list[int]:
    assert partition.leading is not None
    brokers = ((b, replicas.image.brokers.get(b)) for b in partition.leading.followers)
    return [b for b, broker in brokers if broker is not None and not broker.fenced]


class DelayedDeletion:
    """A deletion that waits for the followers."""

    __slots__ = ("_replicas", "_request", "_response", "_waiting")

    def __init__(
        self,
        request: InboundRequest,
        response: DeleteRecordsResponse,
        waiting: list[_Waiting],
        replicas: ReplicaManager,
    ) -> None:
        self._request = request
        self._response = response
        self._waiting = waiting
        self._replicas = replicas

    def try_complete(self) -> bool:
        """Answer once every partition's outcome is known."""
        self._waiting = [entry for entry in self._waiting if not self._decide(entry)]
        if self._waiting:
            return False
        self._request.reply(self._response)
        return True

    def expire(self) -> None:
        """Answer with how far the followers have come."""
        for entry in self._waiting:
            if not self._decide(entry):
                partition, _, answer = entry
                answer.error_code = ErrorCode.REQUEST_TIMED_OUT
                answer.low_watermark = low_watermark(partition, self._replicas)
        self._request.reply(self._response)

    def _decide(self, entry: _Waiting) -> bool:
        partition, target, answer = entry
        failed = partition.log.failure is not None
        if failed or partition.leading is None:
            answer.error_code = ErrorCode.KAFKA_STORAGE_ERROR if failed else ErrorCode.NOT_LEADER_OR_FOLLOWER
            return True
        reached = low_watermark(partition, self._replicas)
        if reached < target:
            return False
        answer.low_watermark = reached
        partition.context.trace.emit(
            RecordsDeleted(
                partition=partition.name,
                topic_id=partition.topic_id.hex,
                leader_epoch=partition.leader_epoch,
                offset=target,
                replicas=[partition.context.broker_id, *_living_followers(partition, self._replicas)],
            )
        )
        return True
