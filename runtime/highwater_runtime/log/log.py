"""One replica's log: segments, epoch cache and producer state behind one set of offsets.

The rules that the rest of the system relies on:

* Offsets are contiguous. A leader gives them out; a follower takes batches only at its log end offset.
* Batches are opaque: an append reads headers, patches base offset and leader epoch, and writes the bytes as they came.
* Appends go to the page cache. ``recovery_point`` is the offset below which all is known to be durable; it moves by a
  flush and moves back by a truncation. Once a write or a flush fails, nothing is known about the file any more (the
  kernel forgets the error, and the pages with it), so the log goes offline until the node restarts.
* A truncation is durable when it returns, and whatever points into the log (epoch cache, producer state, checkpoints)
  is cut back in the same step.

See the package's docstring for the whole surface, and for which trace events a log emits itself.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Final, Literal
from uuid import UUID

from highwater_runtime.log.checkpoints import read_partition_metadata, write_partition_metadata
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.epoch_cache import EpochEnd
from highwater_runtime.log.errors import (
    CompressedRecords,
    CorruptRecord,
    EpochRegression,
    InconsistentTopicId,
    InvalidRecord,
    LogOffline,
    OffsetOutOfRange,
    RecordBatchTooLarge,
    RecordTooLarge,
    UnexpectedAppendOffset,
)
from highwater_runtime.log.flush import FlushDone, Flushes
from highwater_runtime.log.names import SNAPSHOT, file_name, join, offsets_in, parent
from highwater_runtime.log.producer_state import ProducerBatch, write_snapshot
from highwater_runtime.log.records import HEADER_SIZE, BatchView, Buffer, batch_at, iter_batches, patch_batch
from highwater_runtime.log.recovery import Loader, Recovery, load_producers
from highwater_runtime.log.results import AppendInfo, BatchMark, TimestampOffset
from highwater_runtime.log.segment import Segment
from highwater_runtime.ports.clock import MS, Clock, Timer
from highwater_runtime.ports.disk import Disk, DiskFile
from highwater_runtime.ports.trace import LogAppended, LogCut, LogLoaded, LogTruncated, Trace

_READ_BYTES: Final = 1 << 20

AppendOrigin = Literal["client", "raft"]
TruncationReason = Literal["diverging-epoch", "high-watermark"]


class Log:
    """See the module. ``log_start_offset`` and ``log_end_offset`` (exclusive) bound what can be read.

    ``recovery`` says how the log was found when it was opened. A caller sets ``on_recovery_point_lowered`` to be
    told, before a truncation, that the checkpoint of the recovery point says too much.
    """

    __slots__ = (
        "_clock",
        "_dir_dirty",
        "_directory",
        "_disk",
        "_epochs",
        "_flushes",
        "_loader",
        "_offline",
        "_producers",
        "_removals",
        "_roll_limits",
        "_segments",
        "_trace",
        "_trace_appends",
        "config",
        "log_end_offset",
        "log_start_offset",
        "on_recovery_point_lowered",
        "partition",
        "recovery",
        "topic_id",
    )

    def __init__(self, loader: Loader, recovery: Recovery, clock: Clock, topic_id: UUID | None) -> None:
        self._loader = loader
        self._disk: Disk = loader.disk
        self._directory: str = loader.directory
        self._clock = clock
        self._segments: list[Segment] = loader.segments
        self._epochs = loader.epochs
        self._producers = loader.producers
        self._flushes = Flushes(loader.recovery_point)
        self._removals: dict[str, Timer] = {}
        self._offline: str | None = None
        self._dir_dirty = False
        self._trace: Trace | None = None
        self._trace_appends = False
        self.partition: str = loader.directory.rpartition("/")[2]
        self.topic_id = topic_id
        self.recovery = recovery
        self.log_start_offset: int = loader.log_start_offset
        self.log_end_offset: int = self._segments[-1].end_offset
        self.on_recovery_point_lowered: Callable[[], None] | None = None
        self.update_config(loader.config)

    @classmethod
    def open(
        cls,
        disk: Disk,
        directory: str,
        config: LogConfig,
        clock: Clock,
        *,
        topic_id: UUID | None = None,
        clean: bool = False,
        recovery_point: int = 0,
        log_start_offset: int = 0,
        trace: Trace | None = None,
        trace_appends: bool = True,
    ) -> Log:
        """Open the log in ``directory``, or create it (durably, with its directory entries).

        ``clean``: the node was shut down cleanly. ``recovery_point`` and ``log_start_offset`` come from checkpoints;
        for a new log ``log_start_offset`` is where it begins. ``topic_id`` is written to ``partition.metadata`` where
        that does not exist yet.

        Raises:
            InconsistentTopicId: the directory belongs to another topic id.
            CorruptCheckpoint: ``partition.metadata`` cannot be read.
        """
        created = not disk.is_dir(directory)
        if created:
            disk.mkdir(directory)
        found = None if created else read_partition_metadata(disk, directory)
        if found is not None and topic_id is not None and found != topic_id:
            raise InconsistentTopicId(f"{directory} belongs to topic id {found.hex}, not {topic_id.hex}")
        if found is None and topic_id is not None:
            write_partition_metadata(disk, directory, topic_id)
        loader = Loader(
            disk=disk,
            directory=directory,
            config=config,
            now_ms=clock.wall_ms(),
            clean=clean or created,
            recovery_point=0 if created else recovery_point,
            log_start_offset=log_start_offset,
        )
        recovery = loader.load()
        if created:
            recovery = Recovery("created")
            disk.fsync_dir(parent(directory))
        log = cls(loader, recovery, clock, found or topic_id)
        log._report_loaded(trace, trace_appends)
        return log

    def _report_loaded(self, trace: Trace | None, trace_appends: bool) -> None:
        self._trace, self._trace_appends = trace, trace_appends
        if trace is None:
            return
        trace.emit(
            LogLoaded(
                partition=self.partition,
                topic_id=self.topic_id.hex if self.topic_id else "",
                offset=self.log_start_offset,
                end_offset=self.log_end_offset,
                reason=self.recovery.reason,
            )
        )
        for cut in self.recovery.cuts:
            trace.emit(
                LogCut(partition=self.partition, offset=cut.dropped, end_offset=cut.end_offset, reason=cut.reason)
            )

    # --- what is there -----------------------------------------------------------------------------------------------

    @property
    def recovery_point(self) -> int:
        """The offset below which everything is known to be durable."""
        return self._flushes.recovery_point

    @property
    def latest_epoch(self) -> int:
        """The last leader epoch this log knows of (a follower's "last fetched epoch"); −1: none."""
        return self._epochs.latest_epoch

    @property
    def epoch_entries(self) -> list[tuple[int, int]]:
        """(epoch, start offset) of every leader epoch known, ascending."""
        return self._epochs.entries

    @property
    def size_in_bytes(self) -> int:
        """Bytes in all segments."""
        return sum(segment.size for segment in self._segments)

    @property
    def segment_count(self) -> int:
        """Number of segments, the active one included."""
        return len(self._segments)

    @property
    def directory(self) -> str:
        """Path of the log's directory."""
        return self._directory

    @property
    def is_online(self) -> bool:
        """Whether the log can still be used: no disk error yet, not closed."""
        return self._offline is None

    def assign_topic_id(self, topic_id: UUID) -> None:
        """Write the topic id of a log that has none yet.

        Raises:
            InconsistentTopicId: it has another one.
        """
        if self.topic_id is None:
            write_partition_metadata(self._disk, self._directory, topic_id)
            self.topic_id = topic_id
        elif self.topic_id != topic_id:
            raise InconsistentTopicId(f"{self.partition} has topic id {self.topic_id.hex}, not {topic_id.hex}")

    def update_config(self, config: LogConfig) -> None:
        """Obey ``config`` from now on."""
        self.config = config
        self._roll_limits = (config.segment_bytes, config.segment_ms, config.index_max_bytes)

    # --- appending ---------------------------------------------------------------------------------------------------

    def append_as_leader(
        self, records: Buffer, leader_epoch: int, now_ms: int, *, origin: AppendOrigin = "client"
    ) -> AppendInfo:
        """Give ``records`` (whole batches) the next offsets and ``leader_epoch``, and write them.

        ``origin="raft"`` is for batches this node built itself: no CRC, control or producer checks. ``now_ms`` is the
        wall clock, by which a segment without timestamps ages.

        Raises:
            CorruptRecord, UnsupportedMessageFormat: the bytes are not intact batches v2.
            InvalidRecord: no batch at all, or one that a client may not write.
            RecordTooLarge, RecordBatchTooLarge: above ``max.message.bytes`` or ``segment.bytes``.
            InvalidProducerEpoch, OutOfOrderSequence: see :mod:`.producer_state`.
            LogOffline: an earlier disk error, or closed.
            OSError: the disk failed now.
        """
        batches = _whole_batches(records)
        if leader_epoch < self._epochs.latest_epoch:
            raise AssertionError(f"{self.partition}: append in epoch {leader_epoch} behind {self._epochs.latest_epoch}")
        if origin == "client":
            for batch in batches:
                duplicate = self._admit(batch, alone=len(batches) == 1)
                if duplicate is not None:
                    first, last, timestamp = duplicate.base_offset, duplicate.last_offset, duplicate.timestamp
                    return AppendInfo(first, last, timestamp, self.log_start_offset, True, ())
        if len(records) > self.config.segment_bytes:
            raise RecordBatchTooLarge(f"append of {len(records)} bytes, segments of {self.config.segment_bytes}")
        data = bytearray(records)
        offset = self.log_end_offset
        for batch in batches:
            patch_batch(data, batch.position, offset, leader_epoch)
            batch.last_offset += offset - batch.base_offset
            batch.base_offset, batch.leader_epoch = offset, leader_epoch
            offset = batch.last_offset + 1
        return self._write(data, batches, leader_epoch, now_ms, "leader")

    def _admit(self, batch: BatchView, *, alone: bool) -> ProducerBatch | None:
        """Check a client's batch; the original of a duplicate."""
        if batch.size_in_bytes > self.config.max_message_bytes:
            raise RecordTooLarge(f"batch of {batch.size_in_bytes} bytes, at most {self.config.max_message_bytes}")
        batch.ensure_valid()
        if batch.is_control:
            raise InvalidRecord("control batches are not for clients to write")
        if batch.record_count != batch.last_offset - batch.base_offset + 1:
            raise InvalidRecord(
                f"{batch.record_count} records in a batch from {batch.base_offset} to {batch.last_offset}"
            )
        if batch.producer_id < 0:
            return None
        if batch.base_sequence < 0 or batch.producer_epoch < 0:
            raise InvalidRecord(
                f"producer {batch.producer_id} with epoch {batch.producer_epoch}, sequence {batch.base_sequence}"
            )
        if not alone:
            raise InvalidRecord("an idempotent batch comes alone in its partition's records")
        return self._producers.check(batch)

    def append_as_follower(self, records: Buffer, *, leader_epoch: int = -1) -> AppendInfo:
        """Write batches as a leader gave them; a batch cut off at the end of ``records`` is left out.

        ``leader_epoch`` is the epoch this replica follows in, for the trace.

        Raises:
            UnexpectedAppendOffset: they do not begin at the log end offset, or leave a gap between them.
            EpochRegression: a batch of an older epoch than the log ends with.
            CorruptRecord, UnsupportedMessageFormat, InvalidRecord (no whole batch), LogOffline, OSError: as above.
        """
        batches = list(iter_batches(records))
        if not batches:
            raise InvalidRecord(f"{self.partition}: no whole batch in {len(records)} bytes")
        expected = self.log_end_offset
        epoch = self._epochs.latest_epoch
        if batches[0].leader_epoch < epoch:  # an epoch in which nothing was written does not bind
            epoch = self._epochs.epoch_of(expected - 1)
        for batch in batches:
            if batch.base_offset != expected:
                raise UnexpectedAppendOffset(
                    f"{self.partition}: batch at {batch.base_offset}, expected one at {expected}"
                )
            if batch.leader_epoch < epoch:
                raise EpochRegression(
                    f"{self.partition}: batch of epoch {batch.leader_epoch} at {expected}, behind epoch {epoch}"
                )
            batch.ensure_valid()
            expected, epoch = batch.last_offset + 1, batch.leader_epoch
        end = batches[-1].position + batches[-1].size_in_bytes
        data = records if end == len(records) else memoryview(records)[:end]
        return self._write(data, batches, leader_epoch, self._clock.wall_ms(), "follower")

    def _write(self, data: Buffer, batches: list[BatchView], leader_epoch: int, now_ms: int, role: str) -> AppendInfo:
        first_offset, last_offset = batches[0].base_offset, batches[-1].last_offset
        timestamp = max([batch.max_timestamp for batch in batches])
        self._ensure_online()
        producers, epochs = self._producers, self._epochs
        try:
            segment = self._segments[-1]
            if segment.must_roll(len(data), timestamp, last_offset, now_ms, self._roll_limits):
                segment = self._roll(now_ms)
            segment.append(data, batches)
            for batch in batches:
                if batch.leader_epoch != epochs.latest_epoch and batch.leader_epoch >= 0:
                    epochs.assign(batch.leader_epoch, batch.base_offset)
                if batch.producer_id >= 0:
                    producers.update(batch)
            self.log_end_offset = end_offset = last_offset + 1
            if end_offset - self._flushes.recovery_point >= self.config.flush_messages:
                self.flush()
        except OSError as error:
            self._go_offline(error)
            raise
        if self._trace is not None and self._trace_appends:
            self._trace.emit(
                LogAppended(
                    partition=self.partition,
                    leader_epoch=leader_epoch,
                    offset=first_offset,
                    end_offset=end_offset,
                    reason=role,
                )
            )
        marks = tuple([BatchMark(b.base_offset, b.last_offset + 1, b.leader_epoch, b.crc) for b in batches])
        return AppendInfo(first_offset, last_offset, timestamp, self.log_start_offset, False, marks)

    def _roll(self, now_ms: int) -> Segment:
        """Seal the active segment, begin a new one, and let the disk take the sealed one in its own time."""
        sealed = self._segments[-1]
        sealed.seal()
        write_snapshot(self._disk, self._directory, self.log_end_offset, self._producers)
        segment = self._new_segment(self.log_end_offset, now_ms)
        self._segments.append(segment)
        files = self._unflushed_files(sealed_only=True) or list(sealed.files)
        self._flushes.later(files, self.log_end_offset, self._after_flush)
        return segment

    def _new_segment(self, base_offset: int, now_ms: int) -> Segment:
        self._loader.now_ms, self._loader.config = now_ms, self.config
        self._dir_dirty = True
        return self._loader.open_segment(base_offset, create=True)

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, *, max_offset: int | None = None, min_one_batch: bool = True) -> bytes:
        """Whole batches from the one that holds ``offset`` on, all of one segment, at most ``max_bytes`` of them.

        Batches that hold ``max_offset`` or more are left out (the HW, for consumers). A first batch larger than
        ``max_bytes`` is given nevertheless under ``min_one_batch``. Empty at the log end offset.

        Raises:
            OffsetOutOfRange: ``offset`` is below the log start offset or above the log end offset.
            LogOffline: an earlier disk error, or closed.
        """
        end_offset = self.log_end_offset
        if not self.log_start_offset <= offset <= end_offset:
            raise OffsetOutOfRange(
                f"{self.partition}: offset {offset} is not in [{self.log_start_offset}, {end_offset}]"
            )
        self._ensure_online()
        if offset == end_offset or (max_offset is not None and max_offset <= offset):
            return b""
        segment = self._segment_of(offset)
        start = segment.position_of(offset)
        limit = segment.size if max_offset is None else segment.position_of(max_offset)
        if limit - start > max_bytes:
            limit = segment.boundary_at_most(start, start + max_bytes)
            if limit == start and min_one_batch:
                limit = start + segment.batch_size_at(start)
        return segment.read(start, limit) if limit > start else b""

    def _segment_of(self, offset: int) -> Segment:
        segments = self._segments
        if segments[-1].base_offset <= offset:
            return segments[-1]
        return segments[bisect_right(segments, offset, key=lambda segment: segment.base_offset) - 1]

    def batches_between(self, from_offset: int, to_offset: int) -> Iterator[BatchView]:
        """The batches that hold any offset of [``from_offset``, ``to_offset``), each with its bytes.

        Raises:
            OffsetOutOfRange: ``from_offset`` is outside the log.
        """
        end = min(to_offset, self.log_end_offset)
        while from_offset < end:
            for batch in iter_batches(self.read(from_offset, _READ_BYTES)):
                if batch.base_offset >= end:
                    return
                yield batch
                from_offset = batch.last_offset + 1

    def batch_marks(self, from_offset: int, to_offset: int) -> list[BatchMark]:
        """As :meth:`batches_between`, from the headers alone."""
        marks: list[BatchMark] = []
        end = min(to_offset, self.log_end_offset)
        while from_offset < end:
            segment = self._segment_of(from_offset)
            for _, batch in segment.headers(segment.position_of(from_offset)):
                if batch.base_offset >= end:
                    return marks
                marks.append(BatchMark(batch.base_offset, batch.end_offset, batch.leader_epoch, batch.crc))
            from_offset = segment.end_offset
        return marks

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record not earlier than ``timestamp`` (ms since the epoch); None where all are.

        Within a compressed batch, whose records cannot be read here, it is the batch's first offset that is told.
        """
        for segment in self._segments:
            if segment.max_timestamp < timestamp or segment.end_offset <= self.log_start_offset:
                continue
            for position, header in segment.headers(segment.position_for_timestamp(timestamp)):
                if header.max_timestamp < timestamp or header.end_offset <= self.log_start_offset:
                    continue
                found = self._in_batch(segment, position, header, timestamp)
                if found is not None:
                    return found
        return None

    def _in_batch(self, segment: Segment, position: int, header: BatchView, timestamp: int) -> TimestampOffset | None:
        batch = BatchView(segment.read(position, position + header.size_in_bytes))
        try:
            records = batch.records()
        except CompressedRecords:
            return TimestampOffset(
                batch.max_timestamp, max(batch.base_offset, self.log_start_offset), batch.leader_epoch
            )
        for record in records:
            if record.timestamp >= timestamp and record.offset >= self.log_start_offset:
                return TimestampOffset(record.timestamp, record.offset, batch.leader_epoch)
        return None

    def offset_of_max_timestamp(self) -> TimestampOffset | None:
        """The first record with the largest timestamp of all (ListOffsets −3); None where no record has one."""
        largest = max(segment.max_timestamp for segment in self._segments)
        return self.offset_for_timestamp(largest) if largest >= 0 else None

    # --- leader epochs -----------------------------------------------------------------------------------------------

    def assign_epoch_start(self, epoch: int, start_offset: int) -> None:
        """A leader's first act in ``epoch``: it begins at ``start_offset``, even if nothing is ever written in it."""
        self._ensure_online()
        try:
            self._epochs.assign(epoch, start_offset)
        except OSError as error:
            self._go_offline(error)
            raise

    def epoch_end_offset(self, epoch: int) -> EpochEnd:
        """Where ``epoch`` ends in this log (KIP-101, KIP-279); (−1, −1) where that is not known."""
        return self._epochs.end_offset_for(epoch, self.log_end_offset)

    def epoch_of(self, offset: int) -> int:
        """The leader epoch in force at ``offset``; −1 where that is not known."""
        return self._epochs.epoch_of(offset)

    # --- cutting -----------------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int, *, reason: TruncationReason = "diverging-epoch", leader_epoch: int = -1) -> bool:
        """Cut the log back so that it ends at ``offset``, or where the batch that holds ``offset`` begins.

        Epochs that begin at ``offset`` or behind it are forgotten even where no batch goes: nothing was written in
        them, and they may contradict the leader. Returns whether the log end offset moved.

        Raises:
            LogOffline, OSError: the disk.
        """
        self._ensure_online()
        old_end = self.log_end_offset
        if offset < self._segments[0].base_offset:
            self._begin_anew(offset)
        elif offset < old_end:
            self._cut_to(offset)
        else:
            self._epochs.truncate_from_end(offset)
            self._epochs.save()
            return False
        self._report_truncated(old_end, leader_epoch, reason)
        return True

    def truncate_fully_and_start_at(self, offset: int, *, leader_epoch: int = -1) -> None:
        """Drop everything and begin anew, empty, at ``offset``: the leader has deleted all that this replica has.

        Raises:
            LogOffline, OSError: the disk.
        """
        self._ensure_online()
        old_end = self.log_end_offset
        self._begin_anew(offset)
        self._report_truncated(old_end, leader_epoch, "restart-at")

    def _report_truncated(self, old_end: int, leader_epoch: int, reason: str) -> None:
        if self._trace is not None and self._trace_appends:
            self._trace.emit(
                LogTruncated(
                    partition=self.partition,
                    leader_epoch=leader_epoch,
                    offset=self.log_end_offset,
                    end_offset=old_end,
                    reason=reason,
                )
            )

    def _cut_to(self, offset: int) -> None:
        segments = self._segments
        try:
            self._will_end_at(self._segment_of(offset).truncation_point(offset))
            # The newest go first: whatever a crash leaves of this is a chain of segments without a hole.
            while segments[-1].base_offset > offset:
                self._set_aside(segments.pop())
            segments[-1].truncate_to(offset)
            # Durable before anything is written behind it: pages of the old tail between those of a new one, with
            # batches of the same sizes, would pass every check and be a log that never was.
            segments[-1].file.fsync()
            self._after_cut(segments[-1].end_offset)
        except OSError as error:
            self._go_offline(error)
            raise

    def _begin_anew(self, offset: int) -> None:
        try:
            self._will_end_at(offset)
            while self._segments:
                self._set_aside(self._segments.pop())
            self._segments.append(self._new_segment(offset, self._clock.wall_ms()))
            self.log_start_offset = offset
            self._epochs.clear()
            self._after_cut(offset)
        except OSError as error:
            self._go_offline(error)
            raise

    def _after_cut(self, end_offset: int) -> None:
        self.log_end_offset = end_offset
        self.log_start_offset = min(self.log_start_offset, end_offset)
        self._epochs.truncate_from_end(end_offset)
        self._epochs.save()
        self._remove_snapshots(lambda snapshot: snapshot > end_offset)
        if len(self._producers):
            self._producers = load_producers(self._disk, self._directory, self._segments, end_offset)
        # A name that came back after a power loss would bring the old batches back under new offsets.
        self._sync_directory()

    def _will_end_at(self, end_offset: int) -> None:
        """Take back, also from the checkpoint, that what will be cut is durable; before it is, lest a crash between
        leave a checkpoint that vouches for what is written there later."""
        if self._flushes.cut_to(end_offset) and self.on_recovery_point_lowered is not None:
            self.on_recovery_point_lowered()

    def _remove_snapshots(self, unwanted: Callable[[int], bool]) -> None:
        for snapshot in offsets_in(self._disk.list(self._directory), SNAPSHOT):
            if unwanted(snapshot):
                self._disk.unlink(join(self._directory, file_name(snapshot, SNAPSHOT)))
                self._dir_dirty = True

    def _set_aside(self, segment: Segment) -> None:
        """Take a segment's files out of the log now, and off the disk after ``file.delete.delay.ms``."""
        self._dir_dirty = True
        for path in segment.set_aside():
            earlier = self._removals.pop(path, None)
            if earlier is not None:
                earlier.cancel()
            self._removals[path] = self._clock.call_later(self.config.delete_delay_ms * MS, self._remover(path))

    def _remover(self, path: str) -> Callable[[], None]:
        def remove() -> None:
            del self._removals[path]
            self._disk.unlink(path)

        return remove

    # --- retention ---------------------------------------------------------------------------------------------------

    def advance_log_start_offset(self, offset: int) -> bool:
        """Make records below ``offset`` unreadable, to be deleted by retention; whether anything changed.

        Raises:
            OffsetOutOfRange: ``offset`` is above the log end offset.
        """
        if offset > self.log_end_offset:
            raise OffsetOutOfRange(f"{self.partition}: start offset {offset} above the end, {self.log_end_offset}")
        if offset <= self.log_start_offset:
            return False
        self._ensure_online()
        self.log_start_offset = offset
        if self._epochs.truncate_from_start(offset):
            self._epochs.save()
        return True

    def delete_old_segments(self, now_ms: int, high_watermark: int) -> int:
        """Delete segments from the oldest on, as long as one is too old, too much, or below the log start offset.

        Never the active one, and none with an offset at or above ``high_watermark``. Returns how many went.
        """
        segments = self._segments
        config = self.config
        excess = self.size_in_bytes - config.retention_bytes if config.retention_bytes >= 0 else -1
        doomed = 0
        for segment, following in pairwise(segments):
            timestamp = segment.max_timestamp
            old = config.retention_ms >= 0 and 0 <= timestamp < now_ms - config.retention_ms
            if following.base_offset > high_watermark or not (
                old or 0 <= segment.size <= excess or following.base_offset <= self.log_start_offset
            ):
                break
            excess -= segment.size
            doomed += 1
        if doomed == 0:
            return 0
        self._ensure_online()
        try:
            self.advance_log_start_offset(segments[doomed].base_offset)
            for segment in segments[:doomed]:
                self._set_aside(segment)
            del segments[:doomed]
            begin = segments[0].base_offset
            self._remove_snapshots(lambda snapshot: snapshot < begin)
        except OSError as error:
            self._go_offline(error)
            raise
        return doomed

    def remove_expired_producers(self, now_ms: int) -> int:
        """Forget producers that have not written for ``producer.id.expiration.ms``; how many they were."""
        return self._producers.remove_expired(now_ms, self.config.producer_id_expiration_ms)

    # --- durability --------------------------------------------------------------------------------------------------

    def flush(self) -> None:
        """Make everything durable before returning. Blocks the node.

        Raises:
            LogOffline, OSError: the disk.
        """
        self._ensure_online()
        try:
            self._flushes.now(self._unflushed_files(), self.log_end_offset)
        except OSError as error:
            self._go_offline(error)
            raise

    def flush_later(self, on_done: FlushDone) -> None:
        """Make everything written so far durable; ``on_done`` runs later, with the error if there was one.

        Raises:
            LogOffline, OSError: the disk failed before that.
        """
        self._ensure_online()

        def done(error: OSError | None) -> None:
            self._after_flush(error)
            on_done(error)

        files = self._unflushed_files()
        if files:
            self._flushes.later(files, self.log_end_offset, done)
        else:
            self._clock.call_later(0, lambda: on_done(None))

    def _after_flush(self, error: OSError | None) -> None:
        if error is not None:
            self._go_offline(error)

    def _unflushed_files(self, *, sealed_only: bool = False) -> list[DiskFile]:
        active = self._segments[-1]
        files: list[DiskFile] = []
        for segment in reversed(self._segments):
            if segment is active:
                if not sealed_only and segment.end_offset > self.recovery_point:
                    files.append(segment.file)
            elif segment.end_offset > self.recovery_point:
                segment.seal()
                files += segment.files
            else:
                break
        self._sync_directory()
        return files

    def _sync_directory(self) -> None:
        if self._dir_dirty:
            self._disk.fsync_dir(self._directory)
            self._dir_dirty = False

    def close(self) -> None:
        """Flush, write a producer snapshot, release the files. What was closed can be opened as ``clean``.

        Raises:
            LogOffline, OSError: the disk; the log cannot be called clean then.
        """
        self.flush()
        try:
            active = self._segments[-1]
            active.seal()
            active.offset_index.file.fsync()
            active.time_index.file.fsync()
            write_snapshot(self._disk, self._directory, self.log_end_offset, self._producers)
            self._disk.fsync_dir(self._directory)
        except OSError as error:
            self._go_offline(error)
            raise
        self.abandon("closed")

    def abandon(self, reason: str) -> None:
        """Release the files as they are; every later use raises ``LogOffline`` with ``reason``. Idempotent."""
        if self._offline is None:
            self._offline = reason
        for timer in self._removals.values():
            timer.cancel()
        self._removals.clear()
        for segment in self._segments:
            segment.close()

    def _go_offline(self, error: OSError) -> None:
        if self._offline is None:
            self._offline = f"disk error: {error}"

    def _ensure_online(self) -> None:
        if self._offline is not None:
            raise LogOffline(f"{self.partition} is offline: {self._offline}")


def _whole_batches(records: Buffer) -> list[BatchView]:
    """The batches that ``records`` consist of, to the last byte."""
    batches: list[BatchView] = []
    position, end = 0, len(records)
    while position < end:
        if end - position < HEADER_SIZE:
            raise CorruptRecord(f"{end - position} bytes behind the last batch")
        batch = batch_at(records, position)
        position += batch.size_in_bytes
        if position > end:
            raise CorruptRecord(f"batch of {batch.size_in_bytes} bytes, of which {position - end} are missing")
        batches.append(batch)
    if not batches:
        raise InvalidRecord("no batch to append")
    return batches
