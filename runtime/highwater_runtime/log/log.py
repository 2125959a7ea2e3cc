"""One replica's log: segments, epoch cache and producer state behind one set of offsets.

The rules that the rest of the system relies on:

* Offsets are contiguous. A leader gives them out; a follower takes batches only at its log end offset.
* Batches are opaque: an append reads headers, patches base offset and leader epoch, and writes the bytes as they came.
* Appends go to the page cache. ``recovery_point`` is the offset below which all is known to be durable; it moves by a
  flush and moves back by a truncation. Once a write or a flush fails, nothing is known about the file any more (the
  kernel forgets the error, and the pages with it), so the log goes offline until the node restarts. That is the end of
  this log and of nothing else: an ``OSError`` of a log's own files does not leave this class, ``LogOfflineError`` does.
* A truncation is durable when it returns. Before it begins, no checkpoint may vouch for what it cuts: if one does, the
  call raises ``TruncationPendingError`` until a lower recovery point has been written behind it. Apache Kafka syncs
  nothing then and writes the recovery point afterwards: that is the switch ``truncation-sync``. Whatever points into
  the log (epoch cache, producer state) is cut back in the same step.
* The checkpoint of epochs is written behind (:mod:`.epoch_cache`).

See the package's docstring for the whole surface, and for which trace events a log emits itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Literal
from uuid import UUID

from highwater_runtime.log.admission import Admission
from highwater_runtime.log.appendable_log import AppendableLog
from highwater_runtime.log.checkpoints import read_partition_metadata, write_partition_metadata
from highwater_runtime.log.compaction import Compaction
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.creation import Creation
from highwater_runtime.log.errors import (
    CorruptRecordError,
    InconsistentTopicIdError,
    LogOfflineError,
    OffsetOutOfRangeError,
    TruncationPendingError,
)
from highwater_runtime.log.loading import FoundLog
from highwater_runtime.log.producer_state import write_snapshot
from highwater_runtime.log.recovery import Loader, Recovery, load_producers
from highwater_runtime.log.retention import deletable
from highwater_runtime.log.write_behind import Closing, DiskTask, do_now
from highwater_runtime.ports.clock import Clock
from highwater_runtime.ports.disk import Disk
from highwater_runtime.ports.trace import (
    LogCut,
    LogFlushed,
    LogLoaded,
    LogStartMoved,
    LogTruncated,
    Trace,
)

TruncationReason = Literal["diverging-epoch", "high-watermark"]
StartReason = Literal["delete-records", "leader"]


class Log(AppendableLog):
    """What opens, cuts and closes a log; what adds to it is in :class:`.appendable_log.AppendableLog`.

    A caller sets ``lower_recovery_point`` if there is a checkpoint of it: called with an offset, it returns whether no
    checkpoint vouches for anything behind that, not even one that is being written; if one does, it has one written
    that does not.
    """

    __slots__ = ("compaction_limit", "lower_recovery_point")

    def __init__(self, loader: Loader, recovery: Recovery, clock: Clock, topic_id: UUID | None) -> None:
        super().__init__(loader, recovery, clock, topic_id)
        self.lower_recovery_point: Callable[[int], bool] | None = None
        self.compaction_limit = 0
        """Below which offset the last compaction that began looks at records."""

    @classmethod
    def created(cls, task: Creation, clock: Clock, trace: Trace | None, *, trace_appends: bool = True) -> Log:
        """The log that ``task`` has made."""
        log = cls(task.loader, Recovery("created"), clock, task.topic_id)
        log._report_loaded(trace, trace_appends)
        return log

    @classmethod
    def loaded(cls, found: FoundLog, clock: Clock, trace: Trace | None, *, trace_appends: bool = True) -> Log:
        """The log that was ``found`` on the disk."""
        log = cls(found.loader, found.recovery, clock, found.topic_id)
        log._report_loaded(trace, trace_appends)
        return log

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
            InconsistentTopicIdError: the directory belongs to another topic id.
            CorruptCheckpointError: ``partition.metadata`` cannot be read.
        """
        if not disk.is_dir(directory):
            task = Creation(
                disk,
                directory,
                config,
                topic_id=topic_id,
                now_ms=clock.wall_ms(),
                log_start_offset=log_start_offset,
                done=lambda _: None,
            )
            do_now(disk, task)
            return cls.created(task, clock, trace, trace_appends=trace_appends)
        found = read_partition_metadata(disk, directory)
        if found is not None and topic_id is not None and found != topic_id:
            raise InconsistentTopicIdError(f"{directory} belongs to topic id {found.hex}, not {topic_id.hex}")
        if found is None and topic_id is not None:
            write_partition_metadata(disk, directory, topic_id)
        loader = Loader(
            disk=disk,
            directory=directory,
            config=config,
            now_ms=clock.wall_ms(),
            clean=clean,
            recovery_point=recovery_point,
            log_start_offset=log_start_offset,
        )
        return cls.loaded(FoundLog(loader, loader.load(), found or topic_id), clock, trace, trace_appends=trace_appends)

    def _report_flushed(self, offset: int) -> None:
        if self._trace is not None and self._offline is None:  # of a log that was removed, nobody may hear more
            self._trace.emit(LogFlushed(partition=self.partition, offset=offset))

    def _report_loaded(self, trace: Trace | None, trace_appends: bool) -> None:
        self._trace, self._trace_appends = trace, trace_appends
        if trace is None:
            return
        if trace_appends:
            self._flushes.on_advance = self._report_flushed
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
        if self.recovery.producer_snapshot:
            self._took("producer-snapshot-loaded")

    # --- what is there -----------------------------------------------------------------------------------------------

    def assign_topic_id(self, topic_id: UUID) -> None:
        """Write the topic id of a log that has none yet.

        Raises:
            InconsistentTopicIdError: it has another one.
            LogOfflineError: the disk failed.
        """
        if self.topic_id is None:
            self._ensure_online()
            with self._failures_end_it():
                write_partition_metadata(self._disk, self._directory, topic_id)
            self.topic_id = topic_id
        elif self.topic_id != topic_id:
            raise InconsistentTopicIdError(f"{self.partition} has topic id {self.topic_id.hex}, not {topic_id.hex}")

    def update_config(self, config: LogConfig) -> None:
        """Obey ``config`` from now on."""
        self.config = self._chain.config = config
        self._admission = Admission(config.max_message_bytes, config.compacts)

    # --- cutting -----------------------------------------------------------------------------------------------------

    def truncate_to(self, offset: int, *, reason: TruncationReason = "diverging-epoch", leader_epoch: int = -1) -> bool:
        """Cut the log back so that it ends at ``offset``, or where the batch that holds ``offset`` begins.

        Epochs that begin at ``offset`` or behind it are forgotten even where no batch goes: nothing was written in
        them, and they may contradict the leader. Returns whether the log end offset moved.

        Raises:
            LogOfflineError: the disk failed.
            TruncationPendingError: not yet; nothing has changed.
        """
        self._ensure_online()
        old_end = self.log_end_offset
        if offset < self._chain.base_offset:
            self._begin_anew(offset)
        elif offset < old_end:
            self._cut_to(offset)
        else:
            self._epochs.truncate_from_end(offset)
            return False
        self._report_truncated(old_end, leader_epoch, reason)
        return True

    def leave_hole(self, offset: int) -> None:
        """Let the next append begin at ``offset``, behind the end: there are no records between.

        Only a follower of Kafka 1.1.1 does that (KAFKA-6361). What is not appended by the next start is forgotten.
        """
        assert offset >= self.log_end_offset
        self.log_end_offset = offset

    def truncate_fully_and_start_at(self, offset: int, *, leader_epoch: int = -1) -> None:
        """Drop everything and begin again, empty, at ``offset``: the leader has deleted all that this replica has.

        Raises:
            LogOfflineError: the disk failed.
            TruncationPendingError: not yet; nothing has changed.
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
        with self._failures_end_it():
            end_offset = self._chain.truncation_point(offset)
        with self._recovery_point_at(end_offset), self._failures_end_it():
            self._chain.truncate_to(offset)
            self._after_cut()

    def _begin_anew(self, offset: int) -> None:
        with self._recovery_point_at(offset), self._failures_end_it():
            self._chain.restart_at(offset)
            self._chain.remove_snapshots(lambda _: True)
            self.log_start_offset = offset
            self._epochs.clear()
            self._after_cut()

    def _after_cut(self) -> None:
        """Let everything that points into the log fit its new end."""
        self.is_touched = True
        self.log_end_offset = end_offset = self._chain.end_offset
        self.log_start_offset = min(self.log_start_offset, end_offset)
        self._epochs.truncate_from_end(end_offset)
        self._chain.remove_snapshots(lambda snapshot: snapshot > end_offset)
        if self.config.truncation_sync:
            self._chain.sync_directory()
        if len(self._producers):
            self._producers, _ = load_producers(self._disk, self._directory, self._chain.segments, end_offset)

    @contextmanager
    def _recovery_point_at(self, end_offset: int) -> Iterator[None]:
        """Around a truncation to ``end_offset``: what is cut is no longer durable, nor may a checkpoint say so.

        The checkpoint is lowered first, lest a crash between leave one that vouches for what is written there later.
        """
        self._flushes.cut_to(end_offset)
        lower, sync = self.lower_recovery_point, self.config.truncation_sync
        if sync and lower is not None and not lower(end_offset):
            raise TruncationPendingError(f"{self.partition}: its recovery point is not lowered to {end_offset} yet")
        yield
        if not sync and lower is not None:
            lower(end_offset)

    # --- retention ---------------------------------------------------------------------------------------------------

    def advance_log_start_offset(self, offset: int, *, reason: StartReason = "delete-records") -> bool:
        """Make records below ``offset`` unreadable, to be deleted by retention; whether anything changed.

        Raises:
            OffsetOutOfRangeError: ``offset`` is above the log end offset.
        """
        if offset > self.log_end_offset:
            raise OffsetOutOfRangeError(f"{self.partition}: start offset {offset} above the end, {self.log_end_offset}")
        old = self.log_start_offset
        if not self._begin_at(offset):
            return False
        self._report_start(old, offset, reason)
        return True

    def _begin_at(self, offset: int) -> bool:
        if offset <= self.log_start_offset:
            return False
        self._ensure_online()
        self.log_start_offset = offset
        self._epochs.truncate_from_start(offset)
        if self.on_start_moved is not None:
            self.on_start_moved()
        return True

    def _report_start(self, old: int, new: int, reason: str, age_ms: int = -1, size_left: int = -1) -> None:
        if self._trace is None or not self._trace_appends or new <= old:
            return
        limits = self.config
        self._trace.emit(
            LogStartMoved(
                partition=self.partition,
                topic_id=self.topic_id.hex if self.topic_id else "",
                offset=old,
                end_offset=new,
                reason=reason,
                retention_ms=limits.retention_ms if limits.deletes else -1,
                retention_bytes=limits.retention_bytes if limits.deletes else -1,
                age_ms=age_ms,
                size_left=size_left,
            )
        )

    def delete_old_segments(self, now_ms: int, high_watermark: int) -> int:
        """Delete segments from the oldest on, as long as one is too old, too much, or below the log start offset.

        Never the active one, and none with an offset at or above ``high_watermark``. Returns how many went.
        """
        segments = self._chain.segments
        reasons = deletable(segments, self.config, self.log_start_offset, now_ms, high_watermark)
        doomed = len(reasons)
        if doomed == 0:
            return 0
        if "below-start" in reasons:
            self._took("segments-below-start-deleted")
        self._ensure_online()
        with self._failures_end_it():
            old, left = self.log_start_offset, self.size_in_bytes
            self._begin_at(segments[doomed].base_offset)
            for reason, segment in zip(reasons, segments[:doomed], strict=True):
                left -= segment.size
                age = now_ms - segment.max_timestamp if segment.max_timestamp >= 0 else -1
                self._report_start(old, segment.end_offset, reason, age, left)
                old = max(old, segment.end_offset)
            self._drop_oldest(doomed)
        return doomed

    def delete_segments_below_start(self, now_ms: int) -> int:
        """Delete the segments that lie below the log start offset as a whole; returns how many went."""
        kept = replace(self.config, retention_ms=-1, retention_bytes=-1)
        doomed = len(deletable(self._chain.segments, kept, self.log_start_offset, now_ms, self.log_end_offset))
        if doomed:
            self._took("segments-below-start-deleted")
            self._ensure_online()
            with self._failures_end_it():
                self._drop_oldest(doomed)
        return doomed

    def _drop_oldest(self, count: int) -> None:
        self._chain.drop_oldest(count)
        begin = self._chain.base_offset
        self._chain.remove_snapshots(lambda snapshot: snapshot < begin)

    # --- compaction --------------------------------------------------------------------------------------------------

    def dirty_share(self, high_watermark: int, cleaned_to: int) -> float:
        """How much of what :meth:`compact_later` may rewrite lies behind ``cleaned_to``: 0 nothing, 1 all of it."""
        limit = min(high_watermark, self.recovery_point)
        sealed = [s for s in self._chain.segments if s is not self._chain.active and s.end_offset <= limit]
        dirty = sum(segment.size for segment in sealed if segment.end_offset > cleaned_to)
        return dirty / sum(segment.size for segment in sealed) if dirty else 0.0

    def compact_later(self, high_watermark: int, on_done: Callable[[int], None]) -> Compaction:
        """Begin to compact what is committed, durable and sealed (see :mod:`.compaction`), in events of its own.

        ``on_done`` gets the offset up to which the log is compacted then; not if the pass is aborted or the log goes
        offline.
        """

        def guard(step: Callable[[], None]) -> None:
            if self._offline is None:
                try:
                    step()
                except (OSError, CorruptRecordError, LogOfflineError) as error:
                    self._go_offline(error)  # a step is an event of its own: nobody is there to hear of it

        def done() -> None:
            self._took("compacted")
            on_done(limit)

        self._took("compaction-begun")
        limit = min(high_watermark, self.recovery_point, self._chain.active.base_offset)
        self.compaction_limit = limit
        return Compaction(
            self._chain,
            self._clock,
            limit=limit,
            delete_retention_ms=self.config.delete_retention_ms,
            guard=guard,
            on_done=done,
        )

    def remove_expired_producers(self, now_ms: int) -> int:
        """Forget producers that have not written for ``producer.id.expiration.ms``; how many they were."""
        return self._producers.remove_expired(now_ms, self.config.producer_id_expiration_ms)

    # --- closing -----------------------------------------------------------------------------------------------------

    @property
    def epochs_are_stale(self) -> bool:
        """Whether the checkpoint of epochs has to be written."""
        return self._offline is None and self._epochs.is_stale

    def save_epochs_later(self, on_done: Callable[[], None]) -> DiskTask:
        """A task that writes the checkpoint of epochs; ``on_done`` runs at its end, whether or not it failed."""

        def done(error: OSError | None) -> None:
            if error is not None:
                self._go_offline(error)
            on_done()

        return self._epochs.save_later(done)

    def close(self) -> None:
        """Flush, write a producer snapshot, release the files. What was closed can be opened as ``clean``.

        The checkpoint of epochs is not among that: see :meth:`save_epochs_later`.

        Raises:
            LogOfflineError: the disk failed; the log cannot be called clean then.
        """
        self._ensure_online()
        task = self.close_later(lambda: None)
        with self._failures_end_it():
            do_now(self._disk, task)
        task.done(None)
        self.abandon("closed")

    def close_later(self, on_done: Callable[[], None]) -> DiskTask:
        """As :meth:`close`, as a task; nothing else may be done with the log from now on."""
        chain, end_offset, producers = self._chain, self.log_end_offset, self._producers
        recovery_point = self.recovery_point

        def prepare() -> list[str]:
            snapshot = write_snapshot(self._disk, self._directory, end_offset, producers)
            return [*chain.seal(recovery_point), snapshot]

        def done(error: OSError | None) -> None:
            if error is not None:
                self._go_offline(error)
            self._flushes.when_idle(closed)  # an fsync under way may fail: the one above would not hear of it

        def closed() -> None:
            if self.failure is None:
                self._flushes.recovery_point = end_offset
                if len(producers):
                    self._took("producer-snapshot-written")
            self.abandon("closed")
            on_done()

        return Closing(self._directory, prepare, done)

    def abandon(self, reason: str) -> None:
        """Release the files as they are; every later use raises ``LogOfflineError`` with ``reason``. Idempotent."""
        if self._offline is None:
            self._offline = reason
        self._chain.release()
