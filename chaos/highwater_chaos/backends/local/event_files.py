"""Reads along in the event files that nodes append to, and hands the events over in an order that causes respect.

A node writes the events of a turn with one ``write(2)`` before any message of that turn leaves. So if an event of node
B was caused by one of node A, A's was in its file before B's came about. Reading one file after the other does not
keep that order: B's file may be read just after the effect and A's just before the cause. Therefore each
:meth:`EventFiles.poll` notes the time first, reads everything, and holds back whatever happened after that time: of the
events before it, every cause is in its file by then.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Final

import msgspec

from highwater_chaos.backends.local.program import Observed
from highwater_runtime.ports.trace import NodeEvent

_CHUNK: Final = 1 << 20
_SHOWN: Final = 120


class _Header(msgspec.Struct):
    """What the host adds to each event."""

    time_ns: int
    node_time_ns: int
    node: str
    incarnation: int


EVENT_TYPE: Final[Any] = reduce(or_, NodeEvent.__subclasses__())
"""The union of all events, for decoders."""

_header = msgspec.json.Decoder(_Header).decode
_event = msgspec.json.Decoder(EVENT_TYPE).decode


def parse_line(line: bytes) -> Observed:
    """One line of an event file; raises ``msgspec.DecodeError`` where it is none."""
    header = _header(line)
    return Observed(header.time_ns, header.node_time_ns, header.node, header.incarnation, _event(line))


class _File:
    """One node's file, read up to some byte. It is not there before the node's first start."""

    __slots__ = ("fd", "partial", "path", "waiting")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd: int | None = None
        self.partial = b""
        self.waiting: list[Observed] = []

    def read(self) -> list[bytes]:
        """Whole lines that have come up since."""
        if self.fd is None:
            try:
                self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return []
        parts = [self.partial]
        while data := os.read(self.fd, _CHUNK):
            parts.append(data)
        *lines, self.partial = b"".join(parts).split(b"\n")
        return lines

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class EventFiles:
    """An :class:`~highwater_chaos.backends.local.program.Observer` of files, one for each node (by its name)."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self._files = {name: _File(path) for name, path in paths.items()}
        self._notes: list[str] = []

    def starting(self, node: str, incarnation: int, time_ns: int) -> None:
        """Nodes say so themselves. Here only a line is ended that the incarnation before was killed in the middle of:
        the next one appends. It was no event: nobody has seen what it was to announce, as it is written first."""
        del incarnation, time_ns
        file = self._files[node]
        self._take(file)
        if file.partial:
            with file.path.open("ab") as end:
                end.write(b"\n")
            file.read()

    def poll(self) -> Sequence[Observed]:
        """Events of all files up to a moment that has passed, by time."""
        horizon = time.monotonic_ns()
        for file in self._files.values():
            self._take(file)
        ready: list[Observed] = []
        for file in self._files.values():
            ready += take_until(file.waiting, horizon)
        ready.sort(key=lambda event: event.time_ns)
        return ready

    def notes(self) -> Sequence[str]:
        """Lines that could not be read."""
        return tuple(self._notes)

    def close(self) -> None:
        """Close the files."""
        for file in self._files.values():
            file.close()

    def _take(self, file: _File) -> None:
        for line in file.read():
            try:
                file.waiting.append(parse_line(line))
            except msgspec.DecodeError as error:
                self._notes.append(f"{file.path.name} of {file.path.parent.name}: {error}: {line[:_SHOWN]!r}")


def take_until(events: list[Observed], horizon: int) -> list[Observed]:
    """Take away from the front what happened by ``horizon``: a node's own are in order."""
    count = 0
    while count < len(events) and events[count].time_ns <= horizon:
        count += 1
    taken = events[:count]
    del events[:count]
    return taken
