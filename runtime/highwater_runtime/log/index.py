"""The two sparse indexes of a segment: offset → position, and timestamp → offset.

Both are kept whole in memory (an entry for every ``log.index.interval.bytes`` of log) and appended to their files
when the segment is flushed, sealed or closed, not on every append: after an unclean stop the indexes of every segment
that was not flushed are rebuilt from the log anyway. A file that does not make sense is rebuilt likewise. It is
made when there is something to write: a broker has many logs, most of whose active segments have no entries yet. And
it is open only while it is written to, since a process may have only so many open files: one for each segment.

Files: offset index, entries of (offset relative to the segment's base u32, position u32); time index, entries of
(timestamp i64, relative offset u32); big endian. Kafka allocates these files at full size and trims them on close;
these grow as they are written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_left, bisect_right
from struct import Struct
from typing import Final

from highwater_runtime.log.checkpoints import read_whole
from highwater_runtime.ports.disk import Disk, DiskFile

_OFFSET_ENTRY: Final = Struct(">II")
_TIME_ENTRY: Final = Struct(">qI")
MAX_RELATIVE_OFFSET: Final = 2**31 - 1


class _Index(ABC):
    """Two ascending columns and the file that holds them; ``_written`` entries of them are in the file."""

    __slots__ = ("_base_offset", "_disk", "_entry", "_first", "_path", "_second", "_written")

    def __init__(self, disk: Disk, path: str, base_offset: int, entry: Struct) -> None:
        self._disk = disk
        self._path = path
        self._base_offset = base_offset
        self._entry = entry
        self._first = array("q")
        self._second = array("q")
        self._written = 0

    def __len__(self) -> int:
        return len(self._first)

    @abstractmethod
    def _encode(self, first: int, second: int) -> bytes:
        """One entry as it stands in the file."""

    @abstractmethod
    def _decode(self, first: int, second: int) -> tuple[int, int]:
        """The columns of an entry from the fields in the file."""

    def is_full(self, max_bytes: int) -> bool:
        """Whether one more entry would not fit into ``max_bytes``."""
        return (len(self._first) + 1) * self._entry.size > max_bytes

    def load(self) -> bool:
        """Read the file, if there is one. False where it is not a whole number of entries in ascending order."""
        content = read_whole(self._disk, self._path) or b""
        if len(content) % self._entry.size:
            return False
        first, second = array("q"), array("q")
        last_first = last_second = -1
        for raw_first, raw_second in self._entry.iter_unpack(content):
            one, two = self._decode(raw_first, raw_second)
            if (first and (one <= last_first or two <= last_second)) or one < 0:
                return False
            first.append(one)
            second.append(two)
            last_first, last_second = one, two
        self._first, self._second, self._written = first, second, len(first)
        return True

    def reset(self) -> None:
        """Forget every entry, in the file too."""
        self._keep(0)
        if self._disk.exists(self._path):
            self._truncate(0)

    def _keep(self, count: int) -> None:
        del self._first[count:], self._second[count:]
        if self._written > count:
            self._written = count
            self._truncate(count * self._entry.size)

    def _truncate(self, length: int) -> None:
        file = self.open()
        file.truncate(length)
        file.close()

    def write(self) -> None:
        """Bring the file up to date, in the page cache; it is there then, if empty."""
        file, written, count = self.open(), self._written, len(self._first)
        if written < count:
            encode = self._encode
            entries = [encode(self._first[i], self._second[i]) for i in range(written, count)]
            file.append(b"".join(entries))
            self._written = count
        file.close()

    def rename(self, path: str) -> None:
        """Give the file another name."""
        self._disk.rename(self._path, path)
        self._path = path

    def open(self) -> DiskFile:
        """The file, for the caller to close; it is made if there is none."""
        return self._disk.open(self._path, create=True)


class OffsetIndex(_Index):
    """(last offset of a batch, position where that batch begins)."""

    __slots__ = ()

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        super().__init__(disk, path, base_offset, _OFFSET_ENTRY)

    def _encode(self, first: int, second: int) -> bytes:
        return _OFFSET_ENTRY.pack(first - self._base_offset, second)

    def _decode(self, first: int, second: int) -> tuple[int, int]:
        return first + self._base_offset, second

    def append(self, last_offset: int, position: int) -> None:
        """Add the batch that ends with ``last_offset`` and begins at ``position``."""
        self._first.append(last_offset)
        self._second.append(position)

    def position_at_most(self, offset: int) -> int:
        """Where to begin to look for ``offset``: the last indexed batch that ends at or before it, or 0."""
        index = bisect_right(self._first, offset)
        return self._second[index - 1] if index else 0

    def boundary_at_most(self, position: int) -> int:
        """The last indexed beginning of a batch at or before ``position``, or 0."""
        index = bisect_right(self._second, position)
        return self._second[index - 1] if index else 0

    @property
    def last_position(self) -> int:
        """Where the last indexed batch begins; 0 where none is."""
        return self._second[-1] if self._second else 0

    @property
    def last_offset(self) -> int:
        """Where the last indexed batch ends (inclusive); one before the base offset where none is indexed."""
        return self._first[-1] if self._first else self._base_offset - 1

    def truncate_to(self, offset: int) -> None:
        """Drop batches that do not end before ``offset``."""
        self._keep(bisect_left(self._first, offset))


class TimeIndex(_Index):
    """(largest timestamp so far, last offset of the batch that had it)."""

    __slots__ = ()

    def __init__(self, disk: Disk, path: str, base_offset: int) -> None:
        super().__init__(disk, path, base_offset, _TIME_ENTRY)

    def _encode(self, first: int, second: int) -> bytes:
        return _TIME_ENTRY.pack(first, second - self._base_offset)

    def _decode(self, first: int, second: int) -> tuple[int, int]:
        return first, second + self._base_offset

    def append(self, timestamp: int, offset: int) -> None:
        """Add an entry, if it is later than the last one."""
        if timestamp >= 0 and (not self._first or timestamp > self._first[-1]):
            self._first.append(timestamp)
            self._second.append(offset)

    def offset_before(self, timestamp: int) -> int:
        """An offset such that all before it are earlier than ``timestamp``; the base offset at least."""
        index = bisect_left(self._first, timestamp)
        return self._second[index - 1] if index else self._base_offset

    @property
    def last(self) -> tuple[int, int]:
        """The last entry: (timestamp, offset); (−1, base offset) where there is none."""
        return (self._first[-1], self._second[-1]) if self._first else (-1, self._base_offset)

    def truncate_to(self, offset: int) -> None:
        """Drop entries at or behind ``offset``."""
        self._keep(bisect_left(self._second, offset))
