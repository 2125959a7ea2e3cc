"""All events of a run, in files and by time; and the few by which the cluster is known, as the harness learns of them.

A cluster under load says something of each record, several times. That is for the checks to read, not for the harness:
events of a *bulk* kind go from file to file without being decoded, and of those that came up together the harness is
shown the last of each node (of high watermarks: of each node and partition). What it has been shown and has looked at
is not kept, so that its memory does not depend on how long the run is.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.lines import whole_lines
from highwater_runtime.ports.trace import (
    BatchCommitted,
    HighWatermarkAdvanced,
    LogAppended,
    NodeCrashed,
    NodeEvent,
    RaftAppended,
    RaftHighWatermark,
)

BULK: Final = (LogAppended, BatchCommitted, HighWatermarkAdvanced, RaftAppended, RaftHighWatermark)
"""The kinds of events that come with every record or batch."""

_ENCODE: Final = msgspec.json.Encoder().encode
_TIME: Final = len(b'{"time_ns":')

Parse = Callable[[bytes], Observed]


class EventLog:
    """The log of one run.

    Args:
        start_ns: when run time begins, by ``clock``.
        clock: the one by which events are ordered (CLOCK_MONOTONIC where all nodes are on this machine).
        spool: a directory for the log's own files; None: one that goes with the log.
    """

    def __init__(
        self, start_ns: int = 0, clock: Callable[[], int] = time.monotonic_ns, spool: Path | None = None
    ) -> None:
        self.start_ns = start_ns
        self._clock = clock
        self._own: tempfile.TemporaryDirectory[str] | None = None
        if spool is None:
            self._own = tempfile.TemporaryDirectory(prefix="highwater-events-")
            spool = Path(self._own.name)
        self.spool = spool
        """Where the log's files are, and further ones may be."""
        self._files: dict[str, int] = {}
        self._paths: list[Path] = []
        self._shown: deque[TimedEvent] = deque()
        self._first_seq = 0
        self._crashed: set[tuple[str, int]] = set()  # membership only, never iterated

    def follow(self, paths: Iterable[Path]) -> None:
        """Take the lines of further files for a part of the log. Who writes them shows what is in them by
        :meth:`show`."""
        self._paths += paths

    def add(self, observed: Iterable[Observed]) -> None:
        """Record further events and show them; those of one node in their order."""
        taken = list(observed)
        lines: dict[str, list[bytes]] = {}
        for one in taken:
            lines.setdefault(one.node, []).append(line_of(one))
        for node, of_node in lines.items():
            self._write(f"observed-{node}", of_node)
        self.show(condensed(taken))

    def host_event(self, node: str, incarnation: int, event: NodeEvent) -> None:
        """Record and show what the harness itself has to say of a node, now."""
        one = Observed(self._clock(), time.time_ns(), node, incarnation, event)
        self._write(f"host-{node}", [line_of(one)])
        self.show([one])

    def show(self, observed: Iterable[Observed]) -> None:
        """Hand events over that are recorded elsewhere."""
        for one in observed:
            if isinstance(one.event, NodeCrashed):
                self._crashed.add((one.node, one.incarnation))
            seq = self._first_seq + len(self._shown)
            self._shown.append(TimedEvent(seq, one.time_ns - self.start_ns, one.node, one.incarnation, one.event))

    def since(self, seq: int) -> Sequence[TimedEvent]:
        """What was shown from number ``seq`` on, as it came in; what came before is forgotten."""
        while self._shown and self._first_seq < seq:
            self._shown.popleft()
            self._first_seq += 1
        return list(islice(self._shown, max(0, seq - self._first_seq), None))

    def has_crashed(self, node: str, incarnation: int) -> bool:
        """Whether this incarnation has reported that it ended by an exception."""
        return (node, incarnation) in self._crashed

    def lines(self) -> Iterable[bytes]:
        """Lines of ``events/nodes.jsonl``, by time, without line ends; they can be gone through any number of times."""
        return _ByTime(tuple(self._paths), self.start_ns, self)

    def by_time(self, parse: Parse, kinds: Sequence[bytes]) -> Iterator[TimedEvent]:
        """Events of some kinds by time; those of one time as they came in. A kind may be the beginning of its name."""
        wanted = tuple(b'"kind":"' + kind for kind in kinds)
        for seq, line in enumerate(_merged(tuple(self._paths))):
            if any(kind in line for kind in wanted):
                one = parse(line)
                yield TimedEvent(seq, one.time_ns - self.start_ns, one.node, one.incarnation, one.event)

    def _write(self, name: str, lines: Sequence[bytes]) -> None:
        if name not in self._files:
            path = self.spool / f"{name}.jsonl"
            self._files[name] = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
            self._paths.append(path)
        data = memoryview(b"\n".join([*lines, b""]))
        while data:
            data = data[os.write(self._files[name], data) :]

    def close(self) -> None:
        """Release the files, which stay."""
        for descriptor in self._files.values():
            os.close(descriptor)
        self._files.clear()


class _ByTime:
    """See :meth:`EventLog.lines`. ``keep`` lives as long as this does, and with it the files."""

    def __init__(self, paths: tuple[Path, ...], start_ns: int, keep: EventLog) -> None:
        self._paths = paths
        self._start_ns = start_ns
        self._keep = keep

    def __iter__(self) -> Iterator[bytes]:
        start_ns = self._start_ns
        for seq, line in enumerate(_merged(self._paths)):
            end = line.index(b",", _TIME)
            yield b'{"seq":%d,"time_ns":%d%b' % (seq, int(line[_TIME:end]) - start_ns, line[end:])


def line_of(one: Observed) -> bytes:
    """An event as nodes write them, without line end."""
    return b'{"time_ns":%d,"node_time_ns":%d,"node":%b,"incarnation":%d,%b' % (
        one.time_ns,
        one.node_time_ns,
        _ENCODE(one.node),
        one.incarnation,
        _ENCODE(one.event)[1:],
    )


def condensed(observed: Sequence[Observed]) -> list[Observed]:
    """Without events of a bulk kind but the last of each node (of high watermarks: of each node and partition), all in
    their order."""
    last: dict[object, int] = {}
    for place, one in enumerate(observed):
        if isinstance(one.event, HighWatermarkAdvanced):
            last[one.node, one.event.partition] = place
        elif isinstance(one.event, BULK):
            last[one.node] = place
    kept = set(last.values())
    return [one for place, one in enumerate(observed) if place in kept or not isinstance(one.event, BULK)]


def _merged(paths: Sequence[Path]) -> Iterator[bytes]:
    """The lines of all files by time; those of one file stay in their order, whatever their times."""

    def rows(number: int, path: Path) -> Iterator[tuple[int, int, bytes]]:
        latest = 0
        for line in whole_lines(path):
            try:
                latest = max(latest, int(line[_TIME : line.index(b",", _TIME)]))
            except ValueError:
                continue  # no event, as whoever read along has noted
            yield latest, number, line

    return (line for _, _, line in merge(*(rows(number, path) for number, path in enumerate(paths))))
