"""The history on its way to the run directory: a file for each process that clients run in, and all of them as one.

A process writes each operation before it sends anything of it to a broker. So the history has everything that a killed
client has sent; operations that it had not completed stay open, and their outcome is unknown. A torn line is no
operation, because a line is written before its effect can be seen.

Lines are not decoded here: only time and process are read, which are at the start of a line.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from heapq import merge
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.base.lines import whole_lines
from highwater_chaos.workload.history import Operation

_encode: Final = msgspec.json.Encoder().encode


class HistoryWriter:
    """Appends operations to a file: :meth:`add` gathers them, :meth:`flush` writes them with one ``write(2)``."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self._lines: list[bytes] = []

    def add(self, operation: Operation) -> None:
        self._lines.append(_encode(operation))

    def flush(self) -> None:
        """Write what was gathered. Raises ``OSError``."""
        if not self._lines:
            return
        self._lines.append(b"")
        data = memoryview(b"\n".join(self._lines))
        self._lines.clear()
        while data:
            data = data[os.write(self._fd, data) :]

    def close(self) -> None:
        """Write what is left, and release the file."""
        self.flush()
        os.close(self._fd)


def time_of(line: bytes) -> int:
    """The time of a line that a :class:`HistoryWriter` wrote."""
    return int(line[line.index(b",") + 8 : line.index(b",", line.index(b",") + 8)])


def renumbered(line: bytes, index: int, number: int) -> bytes:
    """A line of the ``number``-th file as the ``index``-th of a history. Process *p* of file *i* becomes the number of
    the pair (*p*, *i*) in Cantor's order: no two meet, however many files there will be."""
    _, time, process, rest = line.split(b",", 3)
    together = int(process[10:]) + number
    return b'{"index":%d,%b,"process":%d,%b' % (index, time, together * (together + 1) // 2 + number, rest)


class MergedHistory:
    """The histories of several processes as one, by time: lines of ``history/operations.jsonl`` without line ends.

    Can be gone through any number of times, in memory that does not depend on how long they are. What happened at one
    time stands in the order of ``paths``.
    """

    def __init__(self, paths: Sequence[Path]) -> None:
        self.paths: Final = tuple(paths)

    def __iter__(self) -> Iterator[bytes]:
        """Every line, ``index`` counted from 0."""
        rows = merge(*(self._rows(number, path) for number, path in enumerate(self.paths)))
        for index, (_, number, line) in enumerate(rows):
            yield renumbered(line, index, number)

    def _rows(self, number: int, path: Path) -> Iterator[tuple[int, int, bytes]]:
        for line in whole_lines(path):
            yield time_of(line), number, line
