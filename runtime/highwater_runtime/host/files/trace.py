"""The trace port: node events as JSON lines, written before anything that they explain can be seen by others.

The lines of one turn (see :mod:`~highwater_runtime.host.turn`) are written by one ``write(2)`` before the replies and
requests of that turn leave. So SIGKILL at any instant hides no event whose effect somebody saw: what ``write`` took is
in the page cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from time import monotonic_ns
from typing import Final, Protocol

import msgspec

from highwater_runtime.host.clock_pairs import how_far_ahead
from highwater_runtime.ports.trace import NodeEvent

_ENCODE: Final = msgspec.json.Encoder().encode


class TraceSink(Protocol):
    """Takes the lines of node events."""

    def write(self, lines: bytes) -> None:
        """Take whole lines, each with its line end. Raises ``OSError`` where that fails."""


class FileSink:
    """Appends to a file."""

    def __init__(self, path: Path) -> None:
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)

    def write(self, lines: bytes) -> None:
        written = os.write(self._fd, lines)
        while written < len(lines):
            written += os.write(self._fd, lines[written:])

    def close(self) -> None:
        os.close(self._fd)


class HostTrace:
    """The :class:`highwater_runtime.ports.Trace` of one incarnation of one node.

    Events of one turn have one time, that of the first: nobody outside can see a state between them, and checks take
    what a node says at one time for one step, as the simulator's is. So both of its times are read once a turn.
    """

    follows_records: Final = True
    __slots__ = ("_lines", "_prefix", "_sink", "_times", "_wall_ns")

    def __init__(self, sink: TraceSink, node: str, incarnation: int, wall_ns: Callable[[], int]) -> None:
        self._sink = sink
        self._prefix = b'"node":%b,"incarnation":%d,' % (_ENCODE(node), incarnation)
        self._wall_ns = wall_ns
        self._lines: list[bytes] = []
        self._times = b""

    def emit(self, event: NodeEvent) -> None:
        if not self._lines:
            now = monotonic_ns()
            wall = now + how_far_ahead(self._wall_ns, of=monotonic_ns).by_ns
            self._times = b'{"time_ns":%d,"node_time_ns":%d,' % (now, wall)
        self._lines.append(b"%b%b%b\n" % (self._times, self._prefix, _ENCODE(event)[1:]))

    def flush(self) -> None:
        """Write what was emitted since the last time."""
        if self._lines:
            lines, self._lines = self._lines, []
            self._sink.write(b"".join(lines))


class NoTrace:
    """For a node whose events nobody reads."""

    follows_records: Final = False

    def emit(self, event: NodeEvent) -> None:
        """See :class:`highwater_runtime.ports.Trace`."""

    def flush(self) -> None:
        """Nothing was kept."""
