"""Lines of files that grow, merged by time.

Each file is in order of time, and a process writes its lines soon after their time. So a line is returned once every
file has a later line, or once its time is *settled*: some seconds ago. Only a process that was stopped or starved in
between writes a line later than that. This raises :class:`LateLineError`, and the reader starts again and waits longer.
So the order is always that of a merge of the finished files, and does not depend on when they were read.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from typing import Final

_CHUNK: Final = 1 << 20
"""Bytes of a file that are read at once."""

_WAITING: Final = 1 << 13
"""Rows of a file that may wait for the other files before it is not read on."""

Row = tuple[int, bytes]
"""Time, and a line."""
TimeOf = Callable[[bytes], int | None]
"""The time of a line; None: it is no row, and is passed over."""

_TIME: Final = itemgetter(0)


class LateLineError(Exception):
    """A line came after later ones had been handed out."""


class _File:
    """One of the files: what was read of it and not handed out yet."""

    def __init__(self, path: Path, number: int) -> None:
        self.number: Final = number
        self.rows: list[Row] = []
        self.has_more = True
        """Whether the file went on when it was last looked at."""
        self._path: Final = path
        self._position = 0
        """Where the first line begins that was not read as a whole."""
        self._size = _CHUNK
        """Bytes that are read next: more than a chunk in a line that is longer."""

    def read(self, time_of: TimeOf, after: int, *, ended: bool) -> None:
        """Read on, unless many rows of several times are waiting. Raises :class:`LateLineError`, ``OSError``."""
        while True:
            if len(self.rows) >= _WAITING and self.rows[0][0] != self.rows[-1][0]:
                self.has_more = True  # perhaps: it is not looked at
                return
            self._read_chunk(time_of, after, ended=ended)
            if not self.has_more or (self.rows and self.rows[0][0] != self.rows[-1][0]):
                return

    def _read_chunk(self, time_of: TimeOf, after: int, *, ended: bool) -> None:
        try:
            with self._path.open("rb") as file:
                file.seek(self._position)
                data = file.read(self._size)
        except FileNotFoundError:
            data = b""
        self.has_more = len(data) == self._size
        # A line without its end is read again: if its writer was killed, it is cut off, and others take its place.
        end = data.rfind(b"\n") + 1
        self._position += end
        self._size = 2 * self._size if self.has_more and not end else _CHUNK
        for line in data[: end - 1].split(b"\n") if end else ():
            if (time := time_of(line)) is None:
                continue
            if time < after:
                if not ended:
                    raise LateLineError(f"{self._path}: a line of {time} ns came after those before {after} ns")
                time = after
            # A file that is not by time keeps the order of its lines.
            self.rows.append((max(time, self.rows[-1][0]) if self.rows else time, line))


class Merge:
    """Merges files whose lines ``time_of`` reads the time of. Lines of one time are in the order of the files.

    ``ended``: whether the files are complete, so that no line can be late.
    """

    def __init__(self, time_of: TimeOf, *, ended: bool = False) -> None:
        self._time_of: Final = time_of
        self._ended: Final = ended
        self._files: list[_File] = []
        self._after = -(1 << 63)
        self.most_waiting = 0
        """Rows that were in memory at once, at most."""

    def add(self, path: Path) -> None:
        """Follow one more file. It may not be there yet."""
        self._files.append(_File(path, len(self._files)))

    def take(self, settled: int | None) -> tuple[list[tuple[int, int, bytes]], bool]:
        """Return the next rows, each with the number of its file, and whether there are more right now.

        ``settled``: lines before this time have been written; None: all lines have.

        Raises:
            LateLineError: one had not been.
            OSError: a file cannot be read.
        """
        for file in self._files:
            file.read(self._time_of, self._after, ended=self._ended)
        self.most_waiting = max(self.most_waiting, sum(len(file.rows) for file in self._files))
        bounds = [file.rows[-1][0] for file in self._files if file.has_more]
        if settled is not None:
            bounds.append(settled)
        bound = min(bounds, default=None)
        taken: list[tuple[int, int, bytes]] = []
        for file in self._files:
            count = len(file.rows) if bound is None else _before(file.rows, bound)
            taken += [(time, file.number, line) for time, line in file.rows[:count]]
            del file.rows[:count]
        if bound is not None:
            self._after = max(self._after, bound)
        taken.sort(key=_TIME)
        return taken, any(file.has_more for file in self._files)


def _before(rows: list[Row], bound: int) -> int:
    """How many rows are before a time; they are by time."""
    if not rows or rows[-1][0] < bound:
        return len(rows)
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if rows[middle][0] < bound:
            low = middle + 1
        else:
            high = middle
    return low
