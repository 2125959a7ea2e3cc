"""One segment: a file of batches and its two indexes.

Reads find their position from a short in-memory list of the newest batches (where followers and tailing consumers
read) and otherwise from the sparse index and a walk over batch headers. Nothing here knows of epochs or producers.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Final, TypeVar

from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.errors import CorruptRecordError, LogOfflineError
from highwater_runtime.log.index import MAX_RELATIVE_OFFSET, OffsetIndex, TimeIndex
from highwater_runtime.log.names import DELETED, LOG, OFFSET_INDEX, SEGMENT_SUFFIXES, TIME_INDEX, file_name, join
from highwater_runtime.log.records import HEADER_SIZE, BatchView, Buffer
from highwater_runtime.ports.disk import Disk, DiskFile, FileRange

Extract = TypeVar("Extract", bytes, bytes | FileRange)

_WALK_BYTES: Final = 8192
_RECENT_MOST: Final = 4096
_RECENT_LEAST: Final = 2048


class Segment:
    """Batches from ``base_offset`` up to ``end_offset`` (exclusive), contiguous; ``suffix`` ends its files' names.

    ``max_timestamp`` is the largest of any batch (−1: none) and belongs to the batch that ends with
    ``max_timestamp_offset``. ``first_timestamp`` is the first batch's, by which the segment ages (−1: unknown).
    """

    __slots__ = (
        "_disk",
        "_interval",
        "_path",
        "_recent_last",
        "_recent_position",
        "_recent_start",
        "_since_index_entry",
        "_suffix",
        "base_offset",
        "created_ms",
        "end_offset",
        "file",
        "first_timestamp",
        "max_timestamp",
        "max_timestamp_offset",
        "offset_index",
        "size",
        "time_index",
    )

    def __init__(
        self,
        disk: Disk,
        directory: str,
        base_offset: int,
        interval: int,
        now_ms: int,
        *,
        create: bool = False,
        suffix: str = "",
    ) -> None:
        self._disk = disk
        self._path = join(directory, file_name(base_offset, ""))
        self._suffix = suffix
        self._interval = interval
        self.base_offset = base_offset
        self.created_ms = now_ms
        self.file: DiskFile = disk.open(self._path + LOG + suffix, create=create)
        self.offset_index = OffsetIndex(disk, self._path + OFFSET_INDEX + suffix, base_offset)
        self.time_index = TimeIndex(disk, self._path + TIME_INDEX + suffix, base_offset)
        self.size = self.file.size()
        self._begin_empty()

    def _begin_empty(self) -> None:
        self.end_offset = self.base_offset
        self.first_timestamp = -1
        self.max_timestamp = -1
        self.max_timestamp_offset = self.base_offset
        self._since_index_entry = 0
        self._forget_recent(self.base_offset)

    def _forget_recent(self, start: int) -> None:
        self._recent_last: list[int] = []
        self._recent_position: list[int] = []
        self._recent_start = start

    # --- loading -----------------------------------------------------------------------------------------------------

    def load(self) -> int | None:
        """Trust the file and the indexes as they are; walk only the batches behind the last index entry.

        Returns the leader epoch of the last batch (−1: the segment is empty), or None where something does not fit
        together and the segment must be recovered instead.
        """
        if not (self.offset_index.load() and self.time_index.load()):
            return None
        self.max_timestamp, self.max_timestamp_offset = self.time_index.last
        self.end_offset, last_epoch = self.base_offset, -1
        end = self.offset_index.last_position
        expected = self.base_offset if end == 0 else None
        try:
            for position, batch in self.headers(end):
                if expected is None:
                    expected = batch.base_offset
                    self._forget_recent(expected)
                    if batch.last_offset != self.offset_index.last_offset:
                        return None
                if batch.magic != 2 or batch.base_offset != expected:
                    return None
                self._note(batch, position)
                expected, last_epoch = self.end_offset, batch.leader_epoch
                end = position + batch.size_in_bytes
        except CorruptRecordError:
            return None
        if end != self.size or (len(self.time_index) and self.time_index.last[1] >= self.end_offset):
            return None
        if self.size:
            self.first_timestamp = BatchView(self.file.read(0, HEADER_SIZE)).max_timestamp
        self._since_index_entry = self.size - self.offset_index.last_position
        return last_epoch

    def begin_recovery(self) -> None:
        """Forget the indexes and the state in memory. :meth:`recovered` then adds each batch that is intact."""
        self.offset_index.reset()
        self.time_index.reset()
        self._begin_empty()

    def recovered(self, batch: BatchView, position: int) -> None:
        """A valid batch at ``position``, next in order."""
        self._index(batch, position)

    def cut_at(self, position: int) -> None:
        """Drop everything from ``position`` on, all of it behind the last batch that was :meth:`recovered`."""
        self.file.truncate(position)
        self.size = position

    # --- appending ---------------------------------------------------------------------------------------------------

    def append(self, data: Buffer, batches: list[BatchView]) -> None:
        """Write ``data``, which is ``batches`` one after the other with their final offsets."""
        position = self.file.append(data)
        if position != self.size:
            raise LogOfflineError(f"{self._path}{LOG}: written at byte {position}, expected {self.size}")
        self.size += len(data)
        for batch in batches:
            self._index(batch, position)
            position += batch.size_in_bytes

    def _index(self, batch: BatchView, position: int) -> None:
        self._note(batch, position)
        if position == 0:
            self.first_timestamp = batch.max_timestamp
        if self._since_index_entry > self._interval:
            self.offset_index.append(batch.last_offset, position)
            self.time_index.append(self.max_timestamp, self.max_timestamp_offset)
            self._since_index_entry = 0
        self._since_index_entry += batch.size_in_bytes

    def _note(self, batch: BatchView, position: int) -> None:
        last_offset = batch.last_offset
        if batch.max_timestamp > self.max_timestamp:
            self.max_timestamp = batch.max_timestamp
            self.max_timestamp_offset = last_offset
        self.end_offset = last_offset + 1
        recent = self._recent_last
        recent.append(last_offset)
        self._recent_position.append(position)
        if len(recent) > _RECENT_MOST:
            self._recent_start = recent[_RECENT_LEAST - 1] + 1
            del recent[:_RECENT_LEAST], self._recent_position[:_RECENT_LEAST]

    def must_roll(self, size: int, max_timestamp: int, last_offset: int, now_ms: int, config: LogConfig) -> bool:
        """Whether an append of ``size`` bytes up to ``last_offset`` needs a new segment.

        A segment ages by the timestamps of its batches where they have any, else by the time since it was made.
        """
        if self.size == 0:
            return False
        if self.size + size > config.segment_bytes or last_offset - self.base_offset > MAX_RELATIVE_OFFSET:
            return True
        first = self.first_timestamp
        age = max_timestamp - first if first >= 0 and max_timestamp >= 0 else now_ms - self.created_ms
        most = config.index_max_bytes
        return age > config.segment_ms or self.offset_index.is_full(most) or self.time_index.is_full(most)

    # --- reading -----------------------------------------------------------------------------------------------------

    def position_of(self, offset: int) -> int:
        """Where the batch that holds ``offset`` begins; ``size`` where none does."""
        if offset >= self.end_offset:
            return self.size
        if offset >= self._recent_start and self._recent_last:
            return self._recent_position[bisect_left(self._recent_last, offset)]
        for position, batch in self.headers(self.offset_index.position_at_most(offset)):
            if batch.last_offset >= offset:
                return position
        return self.size

    def boundary_at_most(self, start: int, limit: int) -> int:
        """The last beginning of a batch (or the end of the file) in [start, limit]; ``start`` is one itself."""
        if limit >= self.size:
            return self.size
        recent = self._recent_position
        if recent and limit >= recent[0]:
            return recent[bisect_right(recent, limit) - 1]
        boundary = max(start, self.offset_index.boundary_at_most(limit))
        for position, batch in self.headers(boundary):
            if position + batch.size_in_bytes > limit:
                break
            boundary = position + batch.size_in_bytes
        return boundary

    def batch_size_at(self, position: int) -> int:
        """Size in bytes of the batch that begins at ``position``."""
        return BatchView(self.file.read(position, HEADER_SIZE)).size_in_bytes

    def read(self, start: int, end: int) -> bytes:
        """The bytes [start, end).

        Raises:
            LogOfflineError: the file is shorter than it was written.
        """
        return self._whole(self.file.read(start, end - start), start, end)

    def lend(self, start: int, end: int) -> bytes | FileRange:
        """As :meth:`read`, or a range of the file in its place."""
        return self._whole(self.file.lend(start, end - start), start, end)

    def _whole(self, data: Extract, start: int, end: int) -> Extract:
        if len(data) != end - start:
            raise LogOfflineError(f"{self._path}{LOG}: {len(data)} bytes at {start}, expected {end - start}")
        return data

    def headers(self, position: int) -> Iterator[tuple[int, BatchView]]:
        """(position, header) of each batch from ``position`` on; the views hold the header only.

        Raises:
            CorruptRecordError: a batch that is smaller than its header, or runs over the end of the file.
        """
        buffer, start = b"", position
        while position < self.size:
            at = position - start
            if at + HEADER_SIZE > len(buffer):
                buffer, start, at = self.file.read(position, _WALK_BYTES), position, 0
                if len(buffer) < HEADER_SIZE:
                    raise CorruptRecordError(f"{self._path}{LOG}: {len(buffer)} bytes at {position} are no batch")
            batch = BatchView(buffer, at)
            size = batch.size_in_bytes
            if size < HEADER_SIZE or position + size > self.size:
                raise CorruptRecordError(f"{self._path}{LOG}: batch of {size} bytes at {position}, file of {self.size}")
            yield position, batch
            position += size

    def position_for_timestamp(self, timestamp: int) -> int:
        """A batch's beginning before which every batch is earlier than ``timestamp``."""
        return self.offset_index.position_at_most(self.time_index.offset_before(timestamp))

    # --- cutting, sealing, removing ----------------------------------------------------------------------------------

    def truncation_point(self, offset: int) -> int:
        """Where a truncation to ``offset`` would make the log end: not within a batch."""
        position = self.position_of(offset)
        return (
            self.end_offset if position >= self.size else BatchView(self.file.read(position, HEADER_SIZE)).base_offset
        )

    def truncate_to(self, offset: int) -> None:
        """Drop the batch that holds ``offset`` and all behind it; ``end_offset`` becomes that batch's base offset."""
        position = self.position_of(offset)
        if position >= self.size:
            return
        end_offset = self.truncation_point(offset)
        self.file.truncate(position)
        self.size = position
        self.offset_index.truncate_to(end_offset)
        self.time_index.truncate_to(end_offset)
        if position == 0:
            self._begin_empty()
            return
        keep = bisect_left(self._recent_last, end_offset)
        del self._recent_last[keep:], self._recent_position[keep:]
        if not self._recent_last:
            self._recent_start = end_offset
        self.end_offset = end_offset
        self.max_timestamp, self.max_timestamp_offset = self.time_index.last
        for _, batch in self.headers(self.offset_index.last_position):
            if batch.max_timestamp > self.max_timestamp:
                self.max_timestamp, self.max_timestamp_offset = batch.max_timestamp, batch.last_offset
        self._since_index_entry = self.size - self.offset_index.last_position

    def seal(self) -> None:
        """No more appends for now: complete both indexes, in the page cache."""
        self.time_index.append(self.max_timestamp, self.max_timestamp_offset)
        self.offset_index.write()
        self.time_index.write()

    @property
    def files(self) -> tuple[DiskFile, DiskFile, DiskFile]:
        """Log, offset index and time index; the indexes are open for the caller alone, until it drops them."""
        return self.file, self.offset_index.open(), self.time_index.open()

    @property
    def paths(self) -> tuple[str, str, str]:
        """Where log, offset index and time index are."""
        return (
            self._path + LOG + self._suffix,
            self._path + OFFSET_INDEX + self._suffix,
            self._path + TIME_INDEX + self._suffix,
        )

    def close(self) -> None:
        """Release the log's file; those of the indexes are not kept open."""
        self.file.close()

    def set_aside(self) -> list[str]:
        """Close, and rename the files to ``….deleted``; returns their new paths, to be unlinked later."""
        self.close()
        aside = []
        for suffix in SEGMENT_SUFFIXES:
            path = self._path + suffix
            if suffix == LOG or self._disk.exists(path):
                self._disk.rename(path, path + DELETED)
                aside.append(path + DELETED)
        return aside

    def remove(self) -> None:
        """Close, and unlink the files at once."""
        self.close()
        for suffix in SEGMENT_SUFFIXES:
            self._unlink(self._path + suffix + self._suffix)

    def _unlink(self, path: str) -> None:
        if self._disk.exists(path):  # an index that never had an entry may have no file
            self._disk.unlink(path)

    def take_place_of(self, old: Segment, sync_directory: Callable[[], None]) -> None:
        """Put the files of this segment, made under other names, in the place of ``old``'s; durably, step by step.

        The log itself is durable already. An index must never be found beside a log that it was not made for, so the
        old ones go before the new log comes, and the new ones come after it.
        """
        self.seal()
        self.offset_index.open().fsync()
        self.time_index.open().fsync()
        old.close()
        for suffix in (OFFSET_INDEX, TIME_INDEX):
            self._unlink(self._path + suffix)
        sync_directory()
        self._disk.rename(self._path + LOG + self._suffix, self._path + LOG)
        sync_directory()
        self.offset_index.rename(self._path + OFFSET_INDEX)
        self.time_index.rename(self._path + TIME_INDEX)
        sync_directory()
        self._suffix = ""
