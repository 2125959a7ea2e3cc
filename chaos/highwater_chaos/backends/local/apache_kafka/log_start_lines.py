"""Why the log starts of a broker's replicas moved, by what it logs.

One line says where a log start has moved to, and by what: its leader, a client, or the deletion of segments. If
segments were deleted, there is a line for each of them, too, with the limit that it broke and its newest timestamp, or
the size that is left. Each deleted segment is an event.

*The trap:* releases up to 3.6 write the lines of the segments first, later ones that of the log start. No line says
that it is the last one of a deletion. One thread writes them all, one after the other, and holds the lock of the log.
So a deletion is over when that thread writes another line, or when the log is heard of again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from highwater_chaos.backends.local.apache_kafka.event_lines import Line
from highwater_runtime.ports.trace import LogStartMoved

_OF_LOG: Final = r"\[(?:Unified)?Log partition=(\S+), dir=.*?\] "
INCREMENTED: Final = re.compile(_OF_LOG + r"Incremented log start offset to (\d+) due to (.+)$")
DELETED: Final = re.compile(
    _OF_LOG + r"Deleting segment LogSegment\(baseOffset=(\d+), size=\d+, lastModifiedTime=(\d+),"
    r" largestRecordTimestamp=(?:Some\()?(\w+)\)?\) due to (?:log )?retention"
    r" (?:time (\d+)ms breach based on the (largest|last)|size (\d+) breach\. Log size after deletion will be (\d+)\.)"
)
_BY_SEGMENTS: Final = "segment deletion"
_REASONS: Final = {"leader offset increment": "leader", "client delete records request": "delete-records"}


class Moved(NamedTuple):
    """A move, and the line that proves it."""

    line: Line
    event: LogStartMoved


class _Segment(NamedTuple):
    """``limit``: of its age in ms, or of the log's size in bytes."""

    line: Line
    base: int
    is_by_time: bool
    limit: int
    age_ms: int
    size_left: int


@dataclass(slots=True)
class _Log:
    topic_id: str
    start: int
    thread: str = ""
    to: int | None = None
    segments: list[_Segment] = field(default_factory=list)


class LogStartLines:
    """Follows the log starts of the replicas of one incarnation of a broker."""

    def __init__(self) -> None:
        self._logs: dict[str, _Log] = {}
        self._deleting: dict[str, str] = {}
        """By thread: the partition whose segments it is deleting."""

    def begin(self, partition: str, topic_id: str, start: int) -> None:
        """A log was loaded or created."""
        self._logs[partition] = _Log(topic_id, start)

    def cut(self, partition: str, to: int, *, is_emptied: bool) -> None:
        """A log was cut back to ``to``, or emptied to begin there."""
        if (log := self._logs.get(partition)) is not None:
            log.start = to if is_emptied else min(to, log.start)

    def over(self, line: Line) -> Iterator[Moved]:
        """Report the deletion of which this line, of the same thread, is no part."""
        partition = self._deleting.get(line.thread)
        if partition is None:
            return
        match = DELETED.search(line.text) or INCREMENTED.search(line.text)
        if match is None or match[1] != partition:
            yield from self.settle(partition)

    def incremented(self, line: Line, match: re.Match[str]) -> Iterator[Moved]:
        """Read the line of a log start."""
        partition, to, why = match[1], int(match[2]), match[3]
        log = self._logs.setdefault(partition, _Log("", 0))
        if why != _BY_SEGMENTS or log.to is not None:
            yield from self.settle(partition)
        if why != _BY_SEGMENTS:
            if to > log.start:
                yield _moved(line, partition, log, to, _REASONS.get(why, why))
            return
        log.to = to
        if log.segments:
            yield from self.settle(partition)
        else:
            self._wait(log, partition, line.thread)

    def deleted(self, line: Line, match: re.Match[str]) -> Iterator[Moved]:
        """Read the line of a segment."""
        partition = match[1]
        log = self._logs.setdefault(partition, _Log("", 0))
        is_by_time = match[5] is not None
        newest = match[4] if match[6] == "largest" else match[3]
        segment = _Segment(
            line,
            int(match[2]),
            is_by_time,
            int(match[5] if is_by_time else match[7]),
            line.wall - int(newest) if is_by_time else -1,
            -1 if is_by_time else int(match[8]),
        )
        log.segments.append(segment)
        self._wait(log, partition, line.thread)
        yield from ()

    def settle(self, partition: str) -> Iterator[Moved]:
        """Report what a deletion removed, as far as its lines say how far that goes."""
        log = self._logs.get(partition)
        if log is None or not (log.segments or log.to is not None):
            return
        self._deleting.pop(log.thread, None)
        segments, log.segments, end, log.to = log.segments, [], log.to, None
        ends = [*(one.base for one in segments[1:]), end]
        for one, to in zip(segments, ends, strict=False):  # a process that was killed may not have said why
            if to is not None and to > log.start:
                yield _moved(one.line, partition, log, to, "", one)

    def close(self) -> Iterator[Moved]:
        """Report what is left when the process has ended."""
        for partition in list(self._logs):
            yield from self.settle(partition)

    def _wait(self, log: _Log, partition: str, thread: str) -> None:
        log.thread = thread
        self._deleting[thread] = partition


def _moved(line: Line, partition: str, log: _Log, to: int, reason: str, segment: _Segment | None = None) -> Moved:
    start, log.start = log.start, to
    limit = -1 if segment is None else segment.limit
    is_by_time = segment is not None and segment.is_by_time
    if segment is not None:
        reason = "retention-time" if is_by_time else "retention-size"
    event = LogStartMoved(
        partition=partition,
        topic_id=log.topic_id,
        offset=start,
        end_offset=to,
        reason=reason,
        retention_ms=limit if is_by_time else -1,
        retention_bytes=-1 if is_by_time else limit,
        age_ms=-1 if segment is None else segment.age_ms,
        size_left=-1 if segment is None else segment.size_left,
    )
    return Moved(line, event)
