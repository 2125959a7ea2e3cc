"""Produce: append to leaders, and wait for the ISR where the producer asks for that (acks −1).

Rules in words:

* acks −1 is refused before the append while the committed ISR is below ``min.insync.replicas`` (NOT_ENOUGH_REPLICAS).
  After the append the request waits until the HW has passed it. If the ISR is too small by then, the answer is
  NOT_ENOUGH_REPLICAS_AFTER_APPEND, since the record may be on too few replicas.
* Internal topics are written by the coordinators that keep their records there, and by no producer.
* A duplicate of an idempotent producer's batch is answered with the offset of the original, and waits for the HW like
  the original did.
* acks 0 is answered as well; the host sends nothing of that answer to a real client, who does not expect any.
* If leadership is lost while a request waits, the outcome is open and the producer gets NOT_LEADER_OR_FOLLOWER.
"""

from __future__ import annotations

from typing import Final

from highwater_runtime.broker import metrics
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.log.errors import InvalidRecordError, LogError, OutOfOrderSequenceError, UnknownCompressionError
from highwater_runtime.log.records import HEADER_SIZE, BatchView, iter_batches, peek_batch
from highwater_runtime.log.results import AppendInfo
from highwater_runtime.metadata import reachable
from highwater_runtime.metadata.topic_names import is_internal
from highwater_runtime.ports import MS, InboundRequest
from highwater_runtime.ports.trace import Transition, TransitionTaken
from highwater_runtime.wire.codec import ZERO_UUID
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.produce_request import ProduceRequest
from highwater_runtime.wire.messages.produce_response import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceResponse,
    TopicProduceResponse,
)

ACKS_NONE: Final = 0
ACKS_LEADER: Final = 1
ACKS_ALL: Final = -1
ZSTD_SINCE: Final = 7
CURRENT_LEADER_SINCE: Final = 10

_Waiting = tuple[Partition, int, PartitionProduceResponse]
"""Partition, the offset that its HW must reach, and the answer that is prepared for that."""


def handle(request: InboundRequest, replicas: ReplicaManager) -> None:
    """Answer a ProduceRequest, at once or when the ISR has it."""
    body: ProduceRequest = request.body
    counter = replicas.ports.metrics.counter
    waiting: list[_Waiting] = []
    topics: list[TopicProduceResponse] = []
    for topic in body.topic_data:
        answers: list[PartitionProduceResponse] = []
        for data in topic.partition_data:
            counter(metrics.PRODUCE_REQUESTS)
            if is_internal(topic.name):
                answers.append(_refuse(data.index, ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic.name} is internal"))
                counter(metrics.FAILED_PRODUCE_REQUESTS)
                continue
            found = replicas.find_by_name(topic.name, data.index)
            if isinstance(found, ErrorCode):
                answers.append(_not_here(replicas, topic.name, data.index, found, request.version))
                counter(metrics.FAILED_PRODUCE_REQUESTS)
                continue
            answer, appended = _append(found, data.records, body.acks, request.version)
            answers.append(answer)
            if appended is None:
                counter(metrics.FAILED_PRODUCE_REQUESTS)
                continue
            if not appended.duplicate:
                counter(metrics.BYTES_IN, len(data.records or b""))
                counter(metrics.MESSAGES_IN, appended.end_offset - appended.first_offset)
            if body.acks == ACKS_ALL:
                waiting.append((found, appended.end_offset, answer))
        topics.append(TopicProduceResponse(name=topic.name, partition_responses=answers))
    response = ProduceResponse(responses=topics)
    if not waiting:
        if request.version >= CURRENT_LEADER_SINCE:
            _name_leaders(request, response, replicas)
        request.reply(response)
        return
    delayed = DelayedProduce(request, response, waiting, replicas)
    replicas.produces.park(delayed, [p.name for p, _, _ in waiting], max(0, body.timeout_ms) * MS)


def _append(
    partition: Partition, records: bytes | None, acks: int, version: int
) -> tuple[PartitionProduceResponse, AppendInfo | None]:
    """Append to one partition; the prepared answer, and what was appended unless it was refused."""
    leading = partition.leading
    if acks not in (ACKS_ALL, ACKS_NONE, ACKS_LEADER):
        return _refuse(partition.index, ErrorCode.INVALID_REQUIRED_ACKS), None
    if leading is None:
        return _not_leader(partition, version), None
    if acks == ACKS_ALL and partition.under_min_isr:
        _took(partition, "not-enough-replicas")
        return _refuse(partition.index, ErrorCode.NOT_ENOUGH_REPLICAS), None
    try:
        appended = leading.append(_one_batch(records, version))
    except LogError as error:
        if isinstance(error, OutOfOrderSequenceError):
            _took(partition, "out-of-order-sequence-refused")
        refusal = _refuse(partition.index, ErrorCode[error.KAFKA_ERROR], str(error))
        if isinstance(error, InvalidRecordError):
            refusal.record_errors = [
                BatchIndexAndErrorMessage(batch_index=index, batch_index_error_message=message)
                for index, message in error.record_errors
            ]
        return refusal, None
    answer = PartitionProduceResponse(
        index=partition.index,
        error_code=ErrorCode.NONE,
        base_offset=appended.first_offset,
        log_append_time_ms=appended.max_timestamp if partition.log.config.log_append_time else -1,
        log_start_offset=appended.log_start_offset,
    )
    return answer, appended


def _one_batch(records: bytes | None, version: int) -> bytes:
    """Produce v3 and above carry exactly one batch per partition, compressed with zstd from v7 on (KIP-110)."""
    if not records:
        raise InvalidRecordError("a produce without records")
    if version < ZSTD_SINCE and len(records) >= HEADER_SIZE and BatchView(records).codec == "zstd":
        raise UnknownCompressionError(f"zstd needs Produce v{ZSTD_SINCE} or later, not v{version}")
    if len(records) >= HEADER_SIZE and peek_batch(records, 0)[1] == len(records):
        return records  # whether it is intact, the log finds out
    first = next(iter_batches(records), None)
    size = 0 if first is None else first.size_in_bytes
    if size != len(records):
        raise InvalidRecordError(f"expected exactly one record batch; the first has {size} of {len(records)} bytes")
    return records


def _refuse(index: int, error: ErrorCode, message: str | None = None) -> PartitionProduceResponse:
    return PartitionProduceResponse(index=index, error_code=error, base_offset=-1, error_message=message)


def _not_leader(partition: Partition, version: int) -> PartitionProduceResponse:
    answer = _refuse(partition.index, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    if version >= CURRENT_LEADER_SINCE:
        answer.current_leader = LeaderIdAndEpoch(leader_id=partition.leader_id, leader_epoch=partition.leader_epoch)
    return answer


def _not_here(
    replicas: ReplicaManager, topic: str, index: int, error: ErrorCode, version: int
) -> PartitionProduceResponse:
    answer = _refuse(index, error)
    if error is ErrorCode.NOT_LEADER_OR_FOLLOWER and version >= CURRENT_LEADER_SINCE:
        leader, epoch = replicas.leader_of(topic, ZERO_UUID, index)
        answer.current_leader = LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)
    return answer


def _name_leaders(request: InboundRequest, response: ProduceResponse, replicas: ReplicaManager) -> None:
    """Say where the leaders listen that the response names (KIP-951)."""
    named = {answer.current_leader.leader_id for topic in response.responses for answer in topic.partition_responses}
    brokers = replicas.image.brokers
    response.node_endpoints = [
        NodeEndpoint(node_id=b.id, host=at.host, port=at.port, rack=b.rack)
        for b, at in reachable([brokers[b] for b in sorted(named) if b in brokers], request.listener)
    ]


def _took(partition: Partition, transition: Transition) -> None:
    partition.context.trace.emit(TransitionTaken(reason=transition, partition=partition.name))


def outcome(partition: Partition, end_offset: int) -> ErrorCode | None:
    """How a waiting acks=all append ended, ``None`` while it has not."""
    if partition.leading is None:
        failed = partition.log.failure is not None
        return ErrorCode.KAFKA_STORAGE_ERROR if failed else ErrorCode.NOT_LEADER_OR_FOLLOWER
    if partition.high_watermark < end_offset:
        return None
    return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND if partition.under_min_isr else ErrorCode.NONE


class DelayedProduce:
    """A produce that waits for the HW of its partitions."""

    __slots__ = ("_replicas", "_request", "_response", "_waiting")

    def __init__(
        self, request: InboundRequest, response: ProduceResponse, waiting: list[_Waiting], replicas: ReplicaManager
    ) -> None:
        self._request = request
        self._response = response
        self._waiting = waiting
        self._replicas = replicas

    def try_complete(self) -> bool:
        """Answer once every partition's outcome is known."""
        undecided: list[_Waiting] = []
        for entry in self._waiting:
            partition, end_offset, answer = entry
            error = outcome(partition, end_offset)
            if error is None:
                undecided.append(entry)
            elif error is not ErrorCode.NONE:
                too_few = error is ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
                _took(partition, "not-enough-replicas-after-append" if too_few else "produce-lost-leadership")
                self._fail(answer, error)
            elif partition.leading is not None:
                partition.leading.acknowledged(answer.base_offset, end_offset)
        self._waiting = undecided
        if undecided:
            return False
        self._request.reply(self._response)
        return True

    def expire(self) -> None:
        """Too late for those still waiting: they are appended, but nobody knows whether they will stay."""
        for partition, _, answer in self._waiting:
            _took(partition, "produce-expired")
            self._fail(answer, ErrorCode.REQUEST_TIMED_OUT)
        self._request.reply(self._response)

    def _fail(self, answer: PartitionProduceResponse, error: ErrorCode) -> None:
        self._replicas.ports.metrics.counter(metrics.FAILED_PRODUCE_REQUESTS)
        answer.error_code = error
        answer.base_offset = -1
