"""Append to a partition of ``__consumer_offsets`` on its leader, and call back when the append is committed.

This works like a Produce request with acks=all: the append is refused while the ISR is too small, and then waits for
the HW. The errors of a producer are translated into those of a coordinator. The tables follow Kafka's classic
coordinator (up to 3.9), except that a commit that times out is COORDINATOR_NOT_AVAILABLE, as in Kafka 4.0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from highwater_runtime.broker.apis.produce import outcome
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.log.errors import LogError
from highwater_runtime.log.records import Record, build_batch
from highwater_runtime.ports import MS
from highwater_runtime.wire.errors import ErrorCode

FOR_OFFSETS: Final[Mapping[ErrorCode, ErrorCode]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
    ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.INVALID_COMMIT_OFFSET_SIZE,
}
"""The error of an OffsetCommit by the error of its append. Other errors stay as they are."""

FOR_GROUPS: Final[Mapping[ErrorCode, ErrorCode]] = {
    **FOR_OFFSETS,
    ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
    ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
}
"""The error of a SyncGroup by the error of the append of the group."""


class Written(NamedTuple):
    """Outcome of an append; ``base_offset`` is that of its first record, −1 where nothing was appended."""

    error: ErrorCode
    base_offset: int = -1


OnWritten = Callable[[Written], None]


class OffsetsLog:
    """Writes to those partitions of ``__consumer_offsets`` that this broker leads."""

    def __init__(self, replicas: ReplicaManager) -> None:
        self._replicas = replicas
        self._timeout_ns = replicas.options.config.offsets_commit_timeout_ms * MS

    def append(self, partition: Partition, leader_epoch: int, records: list[Record], on_written: OnWritten) -> None:
        """Append ``records`` as one batch to ``partition``, if it is led here in ``leader_epoch``.

        ``on_written`` is called once, when they are committed or with the error of a produce; perhaps before this
        returns.
        """
        if partition.leading is None or partition.leader_epoch != leader_epoch:
            on_written(Written(ErrorCode.NOT_LEADER_OR_FOLLOWER))
            return
        if partition.under_min_isr:
            on_written(Written(ErrorCode.NOT_ENOUGH_REPLICAS))
            return
        try:
            appended = partition.leading.append(build_batch(records, timestamp_ms=self._replicas.ports.clock.wall_ms()))
        except LogError as error:
            on_written(Written(ErrorCode[error.KAFKA_ERROR]))
            return
        waiting = _Append(partition, appended.first_offset, appended.end_offset, on_written)
        self._replicas.produces.park(waiting, [partition.name], self._timeout_ns)


class _Append:
    """An append that waits for its commit."""

    __slots__ = ("_base_offset", "_end_offset", "_on_written", "_partition")

    def __init__(self, partition: Partition, base_offset: int, end_offset: int, on_written: OnWritten) -> None:
        self._partition = partition
        self._base_offset = base_offset
        self._end_offset = end_offset
        self._on_written = on_written

    def try_complete(self) -> bool:
        """Tell once the outcome is known."""
        error = outcome(self._partition, self._end_offset)
        if error is None:
            return False
        self._on_written(Written(error, self._base_offset))
        return True

    def expire(self) -> None:
        """Time out: the record is in the log, but it is unknown whether it will be committed."""
        self._on_written(Written(ErrorCode.REQUEST_TIMED_OUT, self._base_offset))
