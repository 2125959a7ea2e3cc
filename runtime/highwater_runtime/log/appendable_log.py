"""The half of a log that grows: appends as leader and as follower, new segments, flushes.

What cuts a log, at either end, is in :mod:`.log`, with the rules that all of it keeps.
"""

from __future__ import annotations

from typing import Literal
from uuid import UUID

from highwater_runtime.log.admission import Admission, check_client_batch, whole_batches
from highwater_runtime.log.errors import (
    CorruptRecordError,
    EpochRegressionError,
    InvalidRecordError,
    LogOfflineError,
    RecordBatchTooLargeError,
    UnexpectedAppendOffsetError,
)
from highwater_runtime.log.flush import FlushDone
from highwater_runtime.log.producer_state import write_snapshot
from highwater_runtime.log.readable_log import ReadableLog
from highwater_runtime.log.records import BatchView, Buffer, iter_batches, patch_batch, set_max_timestamp, stamp_batch
from highwater_runtime.log.recovery import Loader, Recovery
from highwater_runtime.log.results import AppendInfo
from highwater_runtime.ports.clock import Clock
from highwater_runtime.ports.disk import DiskFile
from highwater_runtime.ports.trace import LogAppended, Transition, TransitionTaken

AppendOrigin = Literal["client", "raft"]


class AppendableLog(ReadableLog):
    """What adds to a log and makes it durable; what reads it is in :class:`.readable_log.ReadableLog`."""

    __slots__ = ("_admission", "is_touched")

    def __init__(self, loader: Loader, recovery: Recovery, clock: Clock, topic_id: UUID | None) -> None:
        super().__init__(loader, recovery, clock, topic_id)
        self._admission = Admission(self.config.max_message_bytes, self.config.compacts)
        self.is_touched = recovery.reason == "recovered"
        """Whether the files hold anything else than what the last clean stop left, or a creation."""

    def _took(self, transition: Transition) -> None:
        if self._trace is not None:
            self._trace.emit(TransitionTaken(reason=transition, partition=self.partition))

    # --- appending ---------------------------------------------------------------------------------------------------

    def append_as_leader(
        self, records: Buffer, leader_epoch: int, now_ms: int, *, origin: AppendOrigin = "client"
    ) -> AppendInfo:
        """Give ``records`` (whole batches) the next offsets and ``leader_epoch``, and write them.

        ``origin="raft"`` is for batches this node built itself: no CRC, size, control or producer checks. ``now_ms`` is
        the wall clock, by which a segment without timestamps ages.

        Raises:
            CorruptRecordError, UnsupportedMessageFormatError: the bytes are not intact batches v2.
            InvalidRecordError, InvalidTimestampError, UnknownCompressionError, TransactionalRecordsError: no batch at
                all, or one that a client may not write (:mod:`.admission`).
            RecordTooLargeError, RecordBatchTooLargeError: above ``max.message.bytes`` or ``segment.bytes``.
            InvalidProducerEpochError, OutOfOrderSequenceError: see :mod:`.producer_state`.
            LogOfflineError: the disk failed, now or earlier, or the log was closed.
        """
        batches = whole_batches(records)
        if leader_epoch < self._epochs.latest_epoch:
            raise AssertionError(f"{self.partition}: append in epoch {leader_epoch} behind {self._epochs.latest_epoch}")
        latest: int | None = None
        if origin == "client":
            for batch in batches:
                latest = check_client_batch(batch, self._admission, alone=len(batches) == 1)
                duplicate = self._producers.check(batch) if batch.producer_id >= 0 else None
                if duplicate is not None:
                    is_own = self._epochs.epoch_of(duplicate.last_offset) == leader_epoch
                    self._took("duplicate-answered" if is_own else "duplicate-answered-by-new-leader")
                    first, last, timestamp = duplicate.base_offset, duplicate.last_offset, duplicate.timestamp
                    return AppendInfo(first, last, timestamp, self.log_start_offset, True, ())
        if origin == "client" and len(records) > self.config.segment_bytes:
            raise RecordBatchTooLargeError(f"append of {len(records)} bytes, segments of {self.config.segment_bytes}")
        data = bytearray(records)
        offset = self.log_end_offset
        for batch in batches:
            if latest is not None and self.config.log_append_time:
                stamp_batch(data, batch, now_ms)
            elif latest is not None and latest != batch.max_timestamp:
                set_max_timestamp(data, batch, latest)
            patch_batch(data, batch.position, offset, leader_epoch)
            batch.last_offset += offset - batch.base_offset
            batch.base_offset, batch.leader_epoch = offset, leader_epoch
            offset = batch.last_offset + 1
        return self._write(data, batches, leader_epoch, now_ms, "leader")

    def append_as_follower(self, records: Buffer, *, leader_epoch: int = -1, epochs_ascend: bool = True) -> AppendInfo:
        """Write batches as a leader gave them; a batch cut off at the end of ``records`` is left out.

        Raises as :meth:`append_batches`, and InvalidRecordError if there is no whole batch.
        """
        batches = list(iter_batches(records))
        if not batches:
            raise InvalidRecordError(f"{self.partition}: no whole batch in {len(records)} bytes")
        return self.append_batches(records, batches, leader_epoch=leader_epoch, epochs_ascend=epochs_ascend)

    def append_batches(
        self, records: Buffer, batches: list[BatchView], *, leader_epoch: int, epochs_ascend: bool
    ) -> AppendInfo:
        """Write ``batches``, with which ``records`` begin, as a leader gave them.

        ``leader_epoch`` is the epoch this replica follows in, for the trace. ``epochs_ascend``: refuse batches of an
        older epoch (Kafka does not).

        Raises:
            UnexpectedAppendOffsetError: they do not begin at the log end offset, or leave a gap between them.
            EpochRegressionError: a batch of an older epoch than the log ends with.
            CorruptRecordError, LogOfflineError: as above.
        """
        expected = self.log_end_offset
        epoch = self._epochs.latest_epoch
        if batches[0].leader_epoch < epoch:  # an epoch in which nothing was written does not bind
            epoch = self._epochs.epoch_of(expected - 1)
        for batch in batches:
            if batch.base_offset != expected:
                raise UnexpectedAppendOffsetError(
                    f"{self.partition}: batch at {batch.base_offset}, expected one at {expected}"
                )
            if epochs_ascend and batch.leader_epoch < epoch:
                raise EpochRegressionError(
                    f"{self.partition}: batch of epoch {batch.leader_epoch} at {expected}, behind epoch {epoch}"
                )
            batch.ensure_valid()
            expected, epoch = batch.last_offset + 1, batch.leader_epoch
        end = batches[-1].position + batches[-1].size_in_bytes
        data = records if end == len(records) else memoryview(records)[:end]
        return self._write(data, batches, leader_epoch, self._clock.wall_ms(), "follower")

    def _write(self, data: Buffer, batches: list[BatchView], leader_epoch: int, now_ms: int, role: str) -> AppendInfo:
        first_offset, last_offset = batches[0].base_offset, batches[-1].last_offset
        timestamp = batches[0].max_timestamp if len(batches) == 1 else max([batch.max_timestamp for batch in batches])
        self._ensure_online()
        self.is_touched = True
        producers, epochs = self._producers, self._epochs
        try:
            if self._chain.must_roll(len(data), timestamp, last_offset, now_ms):
                self._roll(now_ms)
            self._chain.append(data, batches)
            for batch in batches:
                if batch.leader_epoch != epochs.latest_epoch and batch.leader_epoch >= 0:
                    epochs.assign(batch.leader_epoch, batch.base_offset)
                if batch.producer_id >= 0:
                    producers.update(batch)
            self.log_end_offset = end_offset = last_offset + 1
            if end_offset - self._flushes.recovery_point >= self.config.flush_messages:
                self.flush()
        except (OSError, CorruptRecordError, LogOfflineError) as error:
            raise self._go_offline(error) from error
        if self._trace is not None and self._trace_appends and self._trace.follows_records:
            self._trace.emit(
                LogAppended(
                    partition=self.partition,
                    leader_epoch=leader_epoch,
                    offset=first_offset,
                    end_offset=end_offset,
                    reason=role,
                )
            )
        return AppendInfo(first_offset, last_offset, timestamp, self.log_start_offset, False, batches)

    def _roll(self, now_ms: int) -> None:
        """Begin a new segment, and let the disk take the sealed one in its own time."""
        sealed = self._chain.roll(now_ms)
        snapshot = write_snapshot(self._disk, self._directory, self.log_end_offset, self._producers)
        self._took("segment-rolled")
        if len(self._producers):
            self._took("producer-snapshot-written")
        files = self._chain.unflushed_files(self.recovery_point, sealed_only=True) or list(sealed.files)
        self._flush_with_directory([*files, self._disk.open(snapshot)], self._after_flush)

    def _flush_with_directory(self, files: list[DiskFile], on_done: FlushDone) -> None:
        """A flush of all below the log end offset that includes the names in the directory."""
        done = self._flushes.begin(self.log_end_offset, len(files) + 1, on_done)
        for file in files:
            file.fsync_later(done)
        self._chain.sync_directory_later(done)

    # --- leader epochs -----------------------------------------------------------------------------------------------

    def assign_epoch_start(self, epoch: int, start_offset: int) -> None:
        """A leader's first act in ``epoch``: it begins at ``start_offset``, even if nothing is ever written in it."""
        self._ensure_online()
        self._epochs.assign(epoch, start_offset)

    # --- durability --------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Make everything durable before returning. Blocks the node.

        Raises:
            LogOfflineError: the disk failed.
        """
        self._ensure_online()
        with self._failures_end_it():
            self._chain.sync_directory()
            self._flushes.now(self._chain.unflushed_files(self.recovery_point), self.log_end_offset)

    def flush_later(self, on_done: FlushDone) -> None:
        """Make everything written so far durable; ``on_done`` runs later, with the error if there was one.

        Raises:
            LogOfflineError: the disk failed before that.
        """
        self._ensure_online()

        def done(error: OSError | None) -> None:
            self._after_flush(error)
            on_done(error)

        with self._failures_end_it():
            files = self._chain.unflushed_files(self.recovery_point)
        if not self._chain.directory_is_durable:
            self._flush_with_directory(files, done)
        elif files:
            self._flushes.later(files, self.log_end_offset, done)
        else:
            self._clock.call_later(0, lambda: on_done(None))

    def _after_flush(self, error: OSError | None) -> None:
        if error is not None:
            self._go_offline(error)
