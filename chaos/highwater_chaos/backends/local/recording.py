"""All events of a run, in files and by time; and the few by which the cluster is known, as the harness learns of them.

A cluster under load says something of each record, several times. That is for the checks to read, not for the harness:
events of a *bulk* kind go from file to file without being decoded, and of those that came up together the harness is
shown the last of each node (of high watermarks: of each node and partition). What it has been shown and has looked at
is not kept, so that its memory does not depend on how long the run is.
"""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from heapq import merge
from itertools import islice
from pathlib import Path
from typing import Final

import msgspec

from highwater_chaos.backends.local.program import Observed
from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.base.lines import whole_lines
from highwater_chaos.base.scratch import ScratchDirectory
from highwater_runtime.host.clock_pairs import how_far_ahead
from highwater_runtime.ports.trace import (
    BatchCommitted,
    HighWatermarkAdvanced,
    LogAppended,
    NodeCrashed,
    NodeEvent,
    NodeStarted,
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
        self._own: ScratchDirectory | None = None
        if spool is None:
            self._own = ScratchDirectory("events")
            spool = Path(self._own.name)
        self.spool = spool
        """Where the log's files are, and further ones may be."""
        self._runs: list[_Run] = []
        self._paths: list[Path] = []
        self._shown: deque[TimedEvent] = deque()
        self._first_seq = 0
        self._crashed: set[tuple[str, int]] = set()  # membership only, never iterated
        self._heard_of: set[str] = set()  # the same

    def follow(self, paths: Iterable[Path]) -> None:
        """Take the lines of further files, each by time, for a part of the log. Who reads along in them shows what the
        harness has to know by :meth:`show`."""
        self._paths += paths

    def add(self, observed: Iterable[Observed]) -> None:
        """Record further events and show them."""
        taken = list(observed)
        self._record(taken)
        self.show(condensed(taken))

    def host_event(self, node: str, incarnation: int, event: NodeEvent) -> None:
        """Record and show what the harness itself has to say of a node, now."""
        now = self._clock()
        wall = now + how_far_ahead(time.time_ns, of=self._clock).by_ns
        self.add([Observed(now, wall, node, incarnation, event)])

    def show(self, observed: Iterable[Observed]) -> None:
        """Hand events over that are recorded elsewhere."""
        for one in observed:
            if isinstance(one.event, NodeCrashed):
                self._crashed.add((one.node, one.incarnation))
            if not isinstance(one.event, NodeStarted):
                self._heard_of.add(one.node)
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

    def has_been_up(self, node: str) -> bool:
        """Whether a node has reported more than that its process was started."""
        return node in self._heard_of

    def lines(self) -> Iterable[bytes]:
        """Lines of ``events/nodes.jsonl``, by time, without line ends; they can be gone through any number of times."""
        return _ByTime(tuple(self._paths), self.start_ns, self)

    def paths(self) -> Sequence[Path]:
        """The files of which :meth:`lines` are a merge, so far."""
        return tuple(self._paths)

    def by_time(self, parse: Parse, kinds: Sequence[bytes]) -> Iterator[TimedEvent]:
        """Events of some kinds by time; those of one time as they came in. A kind may be the beginning of its name."""
        wanted = re.compile(b'"kind":"(?:%b)' % b"|".join(map(re.escape, kinds))).search
        for seq, line in enumerate(_merged(tuple(self._paths), wanted)):
            one = parse(line)
            yield TimedEvent(seq, one.time_ns - self.start_ns, one.node, one.incarnation, one.event)

    def _record(self, observed: Iterable[Observed]) -> None:
        """Append to files each of which is by time. What comes late goes to another one than what it should precede."""
        for one in observed:
            run = next((run for run in self._runs if run.latest_ns <= one.time_ns), None)
            if run is None:
                path = self.spool / f"recorded-{len(self._runs)}.jsonl"
                run = _Run(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644))
                self._runs.append(run)
                self._paths.append(path)
            run.latest_ns = one.time_ns
            run.lines.append(line_of(one))
        for run in self._runs:
            run.flush()

    def close(self) -> None:
        """Release the files, which stay."""
        for run in self._runs:
            os.close(run.descriptor)
        self._runs.clear()


@dataclass(slots=True)
class _Run:
    """A file with events by time, and what is to be written next."""

    descriptor: int
    latest_ns: int = 0
    lines: list[bytes] = field(default_factory=list)

    def flush(self) -> None:
        data = memoryview(b"".join(line + b"\n" for line in self.lines))
        self.lines.clear()
        while data:
            data = data[os.write(self.descriptor, data) :]


class _ByTime:
    """See :meth:`EventLog.lines`. ``keep`` lives as long as this does, and with it the files."""

    def __init__(self, paths: tuple[Path, ...], start_ns: int, keep: EventLog) -> None:
        self.paths: Final = paths
        self._start_ns = start_ns
        self._keep = keep

    def __iter__(self) -> Iterator[bytes]:
        start_ns = self._start_ns
        for seq, line in enumerate(_merged(self.paths)):
            yield numbered(line, seq, start_ns)


def time_of(line: bytes) -> int | None:
    """The time of a line that a node wrote; None: it is no event, and the reader has noted it."""
    try:
        return int(line[_TIME : line.index(b",", _TIME)])
    except ValueError:
        return None


def numbered(line: bytes, seq: int, start_ns: int) -> bytes:
    """A line that a node wrote as the ``seq``-th of a run that began at ``start_ns``."""
    end = line.index(b",", _TIME)
    return b'{"seq":%d,"time_ns":%d%b' % (seq, int(line[_TIME:end]) - start_ns, line[end:])


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


def _merged(paths: Sequence[Path], wanted: Callable[[bytes], object] | None = None) -> Iterator[bytes]:
    """The lines of all files that are ``wanted``, by time; those of one file stay in their order."""

    def rows(number: int, path: Path) -> Iterator[tuple[int, int, bytes]]:
        for line in filter(wanted, whole_lines(path)):
            if (time_ns := time_of(line)) is not None:
                yield time_ns, number, line

    return (line for _, _, line in merge(*(rows(number, path) for number, path in enumerate(paths))))
