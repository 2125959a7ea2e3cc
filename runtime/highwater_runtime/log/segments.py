"""The segments of one log as a chain: each begins where the one before it ends, the last one takes the appends.

Everything that a log does with files is here: which segment holds an offset, how the chain grows, is cut at either end
and begins again, what a flush has to cover, and what is removed when. Files that leave the chain are renamed at once
(``….deleted``) and unlinked ``file.delete.delay.ms`` later. The log (:mod:`.log`) decides; nothing is checked here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator
from typing import Final

from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.errors import CompressedRecordsError, CorruptRecordError, LogOfflineError
from highwater_runtime.log.names import SNAPSHOT, file_name, join, offsets_in
from highwater_runtime.log.records import BatchView, Buffer, iter_batches
from highwater_runtime.log.results import BatchMark, TimestampOffset
from highwater_runtime.log.segment import Segment
from highwater_runtime.ports.clock import MS, Clock, Timer
from highwater_runtime.ports.disk import Disk, DiskFile, DiskJob, FileRange

_READ_BYTES: Final = 1 << 20


class SegmentChain:
    """``segments``, oldest first, never empty; ``active`` is the last."""

    __slots__ = (
        "_changes",
        "_clock",
        "_directory",
        "_disk",
        "_removals",
        "_synced_changes",
        "active",
        "config",
        "cuts",
        "on_error",
        "segments",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        clock: Clock,
        config: LogConfig,
        segments: list[Segment],
        *,
        directory_changed: bool = False,
    ) -> None:
        self._disk = disk
        self._directory = directory
        self._clock = clock
        self._changes = int(directory_changed)
        """How often names in the directory came or went; ``_synced_changes`` of them are durable."""
        self._synced_changes = 0
        self._removals: dict[str, Timer] = {}
        self.cuts = 0
        """How often the end was cut off, or everything."""
        self.config = config
        self.on_error: Callable[[OSError], object] | None = None
        """Gets a disk error of what the chain does by itself, in events of its own."""
        self.segments = segments
        self.active = segments[-1]

    @property
    def base_offset(self) -> int:
        """The first offset that there are bytes of (or where the next ones come)."""
        return self.segments[0].base_offset

    @property
    def end_offset(self) -> int:
        """The offset behind the last batch."""
        return self.active.end_offset

    @property
    def size_in_bytes(self) -> int:
        return sum(segment.size for segment in self.segments)

    def holding(self, offset: int) -> Segment:
        """The segment that holds ``offset``, which is not below the chain's beginning."""
        if self.active.base_offset <= offset:
            return self.active
        return self.segments[bisect_right(self.segments, offset, key=lambda segment: segment.base_offset) - 1]

    # --- growing -----------------------------------------------------------------------------------------------------

    def append(self, data: Buffer, batches: list[BatchView]) -> None:
        """Write ``data``, which is ``batches`` with their final offsets."""
        self.active.append(data, batches)

    def must_roll(self, size: int, max_timestamp: int, last_offset: int, now_ms: int) -> bool:
        """Whether this append needs a new segment first."""
        return self.active.must_roll(size, max_timestamp, last_offset, now_ms, self.config)

    def roll(self, now_ms: int) -> Segment:
        """Seal the active segment and begin a new one; returns the sealed one."""
        sealed = self.active
        sealed.seal()
        self._begin_segment(sealed.end_offset, now_ms)
        return sealed

    def _begin_segment(self, base_offset: int, now_ms: int) -> None:
        interval = self.config.index_interval_bytes
        self.active = Segment(self._disk, self._directory, base_offset, interval, now_ms, create=True)
        self.segments.append(self.active)
        self._changes += 1

    # --- reading -----------------------------------------------------------------------------------------------------

    def read(self, offset: int, max_bytes: int, max_offset: int | None, *, min_one_batch: bool) -> bytes:
        segment, start, limit = self._extent(offset, max_bytes, max_offset, min_one_batch=min_one_batch)
        return segment.read(start, limit) if limit > start else b""

    def lend(self, offset: int, max_bytes: int, max_offset: int | None, *, min_one_batch: bool) -> bytes | FileRange:
        """As :meth:`read`, or a range of the segment's file in its place."""
        segment, start, limit = self._extent(offset, max_bytes, max_offset, min_one_batch=min_one_batch)
        return segment.lend(start, limit) if limit > start else b""

    def _extent(
        self, offset: int, max_bytes: int, max_offset: int | None, *, min_one_batch: bool
    ) -> tuple[Segment, int, int]:
        """The segment to read, from which byte on, and up to which."""
        segment = self.holding(offset)
        start = segment.position_of(offset)
        limit = segment.size if max_offset is None else segment.position_of(max_offset)
        if limit - start > max_bytes:
            limit = segment.boundary_at_most(start, start + max_bytes)
            if limit == start and min_one_batch:
                limit = start + segment.batch_size_at(start)
        return segment, start, limit

    def batches_between(self, from_offset: int, end: int) -> Iterator[BatchView]:
        """See :meth:`.log.Log.batches_between`; ``end`` is not behind the chain's."""
        while from_offset < end:
            data = self.read(from_offset, _READ_BYTES, None, min_one_batch=True)
            if not data:
                raise LogOfflineError(f"{self._directory}: no batch holds offset {from_offset}, below its end")
            for batch in iter_batches(data):
                if batch.base_offset >= end:
                    return
                yield batch
                from_offset = batch.last_offset + 1

    def marks_between(self, from_offset: int, end: int) -> list[BatchMark]:
        """As :meth:`batches_between`, from the headers alone."""
        marks: list[BatchMark] = []
        while from_offset < end:
            segment = self.holding(from_offset)
            for _, batch in segment.headers(segment.position_of(from_offset)):
                if batch.base_offset >= end:
                    return marks
                marks.append(BatchMark.of(batch))
            if segment.end_offset <= from_offset:
                raise LogOfflineError(f"{self._directory}: no batch holds offset {from_offset}, below its end")
            from_offset = segment.end_offset
        return marks

    def extents(self, from_offset: int, to_offset: int) -> list[tuple[str, int]]:
        return [
            (segment.paths[0], segment.position_of(to_offset))
            for segment in self.segments
            if segment.base_offset < to_offset and segment.end_offset > from_offset
        ]

    def headers(self, from_offset: int) -> Iterator[BatchView]:
        for segment in self.segments:
            if segment.end_offset > from_offset:
                for _, batch in segment.headers(segment.position_of(max(from_offset, segment.base_offset))):
                    yield batch

    def first_not_earlier(self, timestamp: int, start_offset: int) -> TimestampOffset | None:
        """The first record at or behind ``start_offset`` that is not earlier than ``timestamp``."""
        for segment in self.segments:
            if segment.max_timestamp < timestamp or segment.end_offset <= start_offset:
                continue
            for position, header in segment.headers(segment.position_for_timestamp(timestamp)):
                if header.max_timestamp < timestamp or header.end_offset <= start_offset:
                    continue
                batch = BatchView(segment.read(position, position + header.size_in_bytes))
                found = _first_in_batch(batch, timestamp, start_offset)
                if found is not None:
                    return found
        return None

    @property
    def max_timestamp(self) -> int:
        """The largest timestamp of all batches; −1 where none has one."""
        return max(segment.max_timestamp for segment in self.segments)

    # --- cutting -----------------------------------------------------------------------------------------------------

    def truncation_point(self, offset: int) -> int:
        """Where a truncation to ``offset`` would make the chain end: not within a batch."""
        return self.holding(offset).truncation_point(offset)

    def truncate_to(self, offset: int) -> None:
        """Drop the batch that holds ``offset`` and all behind it; durably, unless the switch is off."""
        self.cuts += 1
        # The newest go first: whatever a crash leaves of this is a chain without a hole.
        while self.active.base_offset > offset:
            self._set_aside(self.segments.pop())
            self.active = self.segments[-1]
        self.active.truncate_to(offset)
        # Durable before anything is written behind it: pages of the old tail between those of a new one, with
        # batches of the same sizes, would pass every check and be a log that never was.
        if self.config.truncation_sync:
            self.active.file.fsync()
            self.sync_directory()

    def restart_at(self, offset: int) -> None:
        """Drop everything and begin again at ``offset``; durably, unless the switch is off."""
        self.cuts += 1
        while self.segments:
            self._set_aside(self.segments.pop())
        self._begin_segment(offset, self._clock.wall_ms())
        if self.config.truncation_sync:
            self.sync_directory()

    def drop_oldest(self, count: int) -> None:
        """Drop the first ``count`` segments, which leaves one at least.

        One after the other durably: were a later one gone and an earlier one still there after a power loss, the log
        would end at the gap.
        """
        for segment in self.segments[:count]:
            self._set_aside(segment)
            self.sync_directory()
        del self.segments[:count]

    def remove_snapshots(self, unwanted: Callable[[int], bool]) -> None:
        """Remove the producer snapshots at the offsets that are ``unwanted``."""
        for offset in offsets_in(self._disk.list(self._directory), SNAPSHOT):
            if unwanted(offset):
                self._disk.unlink(join(self._directory, file_name(offset, SNAPSHOT)))
                self._changes += 1

    def _set_aside(self, segment: Segment) -> None:
        self._changes += 1
        for path in segment.set_aside():
            earlier = self._removals.pop(path, None)
            if earlier is not None:
                earlier.cancel()
            self._removals[path] = self._clock.call_later(self.config.delete_delay_ms * MS, self._remover(path))

    def _remover(self, path: str) -> Callable[[], None]:
        def steps() -> DiskJob:
            if self._disk.exists(path):  # it may have been taken for another file of that name, and removed
                self._disk.unlink(path)
            yield

        def removed(error: OSError | None) -> None:
            if error is not None:
                if self.on_error is None:
                    raise error
                self.on_error(error)

        def remove() -> None:
            del self._removals[path]
            self._disk.run_later(steps(), removed)

        return remove

    # --- compaction --------------------------------------------------------------------------------------------------

    def make_replacement(self, old: Segment, suffix: str) -> Segment:
        """An empty segment that may take the place of ``old``, in files whose names end with ``suffix``."""
        interval = self.config.index_interval_bytes
        return Segment(
            self._disk, self._directory, old.base_offset, interval, old.created_ms, create=True, suffix=suffix
        )

    def replace(self, old: Segment, new: Segment) -> None:
        """Let ``new``, from :meth:`make_replacement` and with the same offsets, take the place of ``old``, durably."""
        new.take_place_of(old, lambda: self._disk.fsync_dir(self._directory))
        self.segments[self.segments.index(old)] = new

    # --- durability --------------------------------------------------------------------------------------------------

    @property
    def directory_is_durable(self) -> bool:
        """Whether all names in the directory are."""
        return self._synced_changes == self._changes

    def unflushed_files(self, recovery_point: int, *, sealed_only: bool = False) -> list[DiskFile]:
        """Return the files that an fsync must cover, beside the directory, to make everything durable.

        The indexes of the active segment are left out: recovery rebuilds them if its end is above the recovery point.
        """
        files: list[DiskFile] = []
        for segment in self._above(recovery_point):
            if segment is not self.active:
                segment.seal()
                files += segment.files
            elif not sealed_only:
                files.append(segment.file)
        return files

    def _above(self, recovery_point: int) -> list[Segment]:
        """The segments that are not known to be durable as a whole."""
        first = len(self.segments)
        while first and self.segments[first - 1].end_offset > recovery_point:
            first -= 1
        return self.segments[first:]

    def sync_directory_later(self, on_done: Callable[[OSError | None], None]) -> None:
        """Make names durable that came or went, without blocking."""
        changes = self._changes

        def steps() -> DiskJob:
            self._disk.fsync_dir(self._directory)
            yield

        def done(error: OSError | None) -> None:
            if error is None:
                self._synced_changes = max(self._synced_changes, changes)
            on_done(error)

        self._disk.run_later(steps(), done)

    def sync_directory(self) -> None:
        """Make names durable that came or went."""
        if not self.directory_is_durable:
            self._disk.fsync_dir(self._directory)
            self._synced_changes = self._changes

    def seal(self, recovery_point: int) -> list[str]:
        """Make all indexes complete; returns the files that may not be durable, if all below ``recovery_point`` is."""
        unsynced = dict.fromkeys([*self._above(recovery_point), self.active])
        for segment in unsynced:
            segment.seal()
        return [path for segment in unsynced for path in segment.paths]

    def release(self) -> None:
        """Close the files as they are; what was to be removed later is left to the next start."""
        for timer in self._removals.values():
            timer.cancel()
        self._removals.clear()
        for segment in self.segments:
            segment.close()


def _first_in_batch(batch: BatchView, timestamp: int, start_offset: int) -> TimestampOffset | None:
    try:
        records = batch.records()
    except (CompressedRecordsError, CorruptRecordError):  # the latter: written before records were validated
        return TimestampOffset(batch.max_timestamp, max(batch.base_offset, start_offset), batch.leader_epoch)
    for record in records:
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return TimestampOffset(record.timestamp, record.offset, batch.leader_epoch)
    return None
