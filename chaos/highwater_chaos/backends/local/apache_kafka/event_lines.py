"""The lines that a node's process writes for the harness, read along while it writes.

:mod:`highwater_chaos.apache_kafka.node_logging` has a node write them.

Another process writes the file, so nothing of it is believed: it must be a regular file and no link, a line has a
bounded length, and no number of a line may be missing. If one of that is not so, lines may be missing, and
:attr:`EventLines.lost` says why. What comes behind is still read, but nothing can be judged by it any more.

*The trap:* a thread gets the number of its line, and the clock's time, before it waits for its turn to write. So lines
of several threads may come in another order than that of their numbers. What one caused in another is in order: the
call that logs had returned. A number is missed once :data:`_PATIENCE` lines behind it have come.

The last line of a process that was killed may be torn. It was being written by the thread that was about to act on
what it says, so no effect of it was seen, and nothing is lost.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.apache_kafka.node_logging import MAX_TEXT

_CHUNK: Final = 1 << 18
_MAX_LINE: Final = 6 * MAX_TEXT + 2048
"""A character takes at most six bytes with its escape."""
_AT_ONCE: Final = 1 << 24
"""Bytes that are read in one call."""
_PATIENCE: Final = 2000
_SHOWN: Final = 80


class Line(msgspec.Struct, frozen=True):
    """``ns``: CLOCK_MONOTONIC; ``wall``: ms of the node's wall clock."""

    seq: int
    ns: int
    wall: int
    level: str
    logger: str
    thread: str
    text: str


_decode: Final = msgspec.json.Decoder(Line).decode


class LineSequence:
    """Reads lines of one incarnation, one after the other, and misses none of their numbers."""

    def __init__(self) -> None:
        self.lost: str | None = None
        """Why lines may be missing; None: none is."""
        self._next = 1
        self._missing: dict[int, None] = {}

    def line(self, data: bytes) -> Line | None:
        """The line; None: it cannot be read."""
        try:
            line = _decode(data)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            self.lose(f"a line cannot be read ({error}): {data[:_SHOWN]!r}")
            return None
        if line.seq < self._next and line.seq not in self._missing:
            self.lose(f"there are two lines {line.seq}")
        elif line.seq > self._next + _PATIENCE:
            self.lose(f"line {line.seq} came where line {self._next} was expected")
            self._next = line.seq
        self._missing.pop(line.seq, None)
        self._missing.update(dict.fromkeys(range(self._next, line.seq)))
        self._next = max(self._next, line.seq + 1)
        if (first := next(iter(self._missing), None)) is not None and self._next - first > _PATIENCE:
            self.lose(f"there is no line {first}")
            del self._missing[first]
        return line

    def lose(self, why: str) -> None:
        """Lines may be missing, because of ``why``."""
        self.lost = self.lost or why


class EventLines:
    """Reads the lines of one incarnation. The file may not be there yet, and is replaced when it is long."""

    def __init__(self, path: Path) -> None:
        self._sequence = LineSequence()
        self._path = path
        self._fd: int | None = None
        self._partial = b""

    @property
    def lost(self) -> str | None:
        return self._sequence.lost

    def read(self) -> Iterator[Line]:
        """Whole lines that have come up since the last call, as far as they can be read."""
        left = _AT_ONCE
        while left > 0 and (self._fd is not None or self._open()):
            assert self._fd is not None
            data = os.read(self._fd, _CHUNK)
            if not data and not self._replaced():
                return
            left -= len(data)
            *lines, self._partial = (self._partial + data).split(b"\n")
            if len(self._partial) > _MAX_LINE:
                self._sequence.lose(f"a line has more than {_MAX_LINE} bytes")
                self._partial = b""
            for line in lines:
                if (found := self._sequence.line(line)) is not None:
                    yield found

    def close(self) -> None:
        """Close the file. Idempotent."""
        if self._fd is not None:
            os.close(self._fd)
            self._fd = None

    def _open(self) -> bool:
        try:
            fd = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return False
        except OSError as error:
            self._sequence.lose(f"{self._path.name} cannot be opened: {error.strerror}")
            return False
        if not stat.S_ISREG(os.fstat(fd).st_mode):
            os.close(fd)
            self._sequence.lose(f"{self._path.name} is no regular file")
            return False
        self._fd = fd
        return True

    def _replaced(self) -> bool:
        """At the end of the open file: whether another one has taken its place, which is open from now on. The caller
        must have read to the end *after* the other one came, so the first call that sees it only says so."""
        assert self._fd is not None
        try:
            there = self._path.lstat()
        except FileNotFoundError:
            return False
        mine = os.fstat(self._fd)
        if (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino):
            if there.st_size < os.lseek(self._fd, 0, os.SEEK_CUR):
                self._sequence.lose(f"{self._path.name} was cut")
                os.lseek(self._fd, 0, os.SEEK_SET)
                self._partial = b""
                return True
            return False
        if os.lseek(self._fd, 0, os.SEEK_CUR) < mine.st_size:
            return True
        if self._partial:
            self._sequence.lose(f"{self._path.name} was replaced in the middle of a line")
            self._partial = b""
        self.close()
        return True
