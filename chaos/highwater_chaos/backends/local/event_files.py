"""Reads along in the event files that nodes append to, and hands the events over in an order that causes respect.

A node writes the events of a turn with one ``write(2)`` before any message of that turn leaves. So if an event of node
B was caused by one of node A, A's was in its file before B's came about. Reading one file after the other does not
keep that order: B's file may be read just after the effect and A's just before the cause. Therefore each
:meth:`EventFiles.poll` notes the time first, reads everything, and holds back whatever happened after that time: of the
events before it, every cause is in its file by then.

The files themselves are the record (see :mod:`~highwater_chaos.backends.local.recording`). What is handed over is what
the harness must know: of kinds that come with every record, the last ones that came up.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from operator import or_
from pathlib import Path
from typing import Any, Final

import msgspec

from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.local.recording import BULK
from highwater_runtime.ports.trace import NodeEvent

_CHUNK: Final = 1 << 18
_SHOWN: Final = 120
_KIND: Final = b'"kind":"'
_LEADS: Final = b'"kind":"high-watermark"'
_BULK_KINDS: Final = frozenset(
    b'"kind":"%b"' % str(msgspec.inspect.type_info(kind).tag).encode()  # type: ignore[attr-defined]
    for kind in BULK
)


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

    __slots__ = ("fd", "partial", "path", "taken", "waiting")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.fd: int | None = None
        self.partial = b""
        self.taken = 0
        self.waiting: list[Observed] = []

    def read(self) -> Iterator[list[bytes]]:
        """Whole lines that have come up since, in parts: a harness that comes late does not read all at once."""
        if self.fd is None:
            try:
                self.fd = os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
            except FileNotFoundError:
                return
        while data := os.read(self.fd, _CHUNK):
            *lines, self.partial = (self.partial + data).split(b"\n")
            self.taken += sum(map(len, lines)) + len(lines)
            yield lines

    def cut(self) -> None:
        """Remove a torn last line. No process may write to the file meanwhile."""
        if self.partial:
            assert self.fd is not None
            os.truncate(self.path, self.taken)
            os.lseek(self.fd, self.taken, os.SEEK_SET)
            self.partial = b""

    def close(self) -> None:
        if self.fd is not None:
            os.close(self.fd)
            self.fd = None


class EventFiles:
    """An :class:`~highwater_chaos.backends.local.program.Observer` of files, one for each node (by its name)."""

    def __init__(self, paths: Mapping[str, Path]) -> None:
        self.records = tuple(paths.values())
        self._files = {name: _File(path) for name, path in paths.items()}
        self._notes: list[str] = []

    def starting(self, node: str, incarnation: int, time_ns: int) -> None:
        """Nodes say so themselves. Here only a line is removed that the incarnation before was killed in the middle of.
        It was no event: an event is written before its effect can be seen."""
        del incarnation, time_ns
        file = self._files[node]
        self._take(file)
        file.cut()

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
        for file in self._files.values():
            file.close()

    def _take(self, file: _File) -> None:
        for lines in file.read():
            for line in significant(lines):
                try:
                    file.waiting.append(parse_line(line))
                except msgspec.DecodeError as error:
                    self._notes.append(f"{file.path.name}: {error}: {line[:_SHOWN]!r}")


def significant(lines: Sequence[bytes]) -> Iterable[bytes]:
    """The lines of one node without those of a bulk kind, but the last of these (of high watermarks: of each
    partition), in their order. What is no event is left in."""
    kept: dict[object, bytes] = {}
    for place, line in enumerate(lines):
        begins = line.find(_KIND)
        ends = line.find(b'"', begins + len(_KIND)) + 1
        kind = line[begins:ends]
        if begins < 0 or kind not in _BULK_KINDS:
            kept[place] = line
            continue
        key = line[begins : line.find(b",", ends + 1)] if kind == _LEADS else b""
        kept.pop(key, None)  # to stand where the last one stands
        kept[key] = line
    return kept.values()


def take_until(events: list[Observed], horizon: int) -> list[Observed]:
    """Take away from the front what happened by ``horizon``: a node's own are in order."""
    count = 0
    while count < len(events) and events[count].time_ns <= horizon:
        count += 1
    taken = events[:count]
    del events[:count]
    return taken
