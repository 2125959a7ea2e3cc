"""What nodes did about the moments at which something went wrong: lines of their logs, and their events.

Nodes that are processes have logs, whose lines begin with the time of day. A run says when its time began, which makes
them run time. In the simulator nodes have no logs, and their events stand alone. Both are bounded: a log may be of any
size and say anything.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from highwater_chaos.report.files import Row, RunFiles
from highwater_chaos.report.story import Story
from highwater_chaos.report.timeline import Timeline

_AROUND_NS: Final = 1_500_000_000
_MOMENTS: Final = 4
"""Moments that are shown, at most."""
_LINES: Final = 80
"""Lines of one moment, at most: those that are closest to it."""
_LENGTH: Final = 400
"""Characters of one line that are shown."""
_READ: Final = 256 << 20
"""Bytes of one log that are looked through."""
_LINE: Final = 1 << 16
"""Bytes of one line that are read at once."""
_DAY: Final = re.compile(rb'^(?:\{"time":"|\[)?(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d:\d\d)[.,](\d{3})')
"""How a line begins, of our nodes (text or JSON), of Kafka and of ZooKeeper. All are taken for UTC."""
_NO_NODE: Final = ("harness",)
_COMMON: Final = frozenset(
    {"log-appended", "high-watermark", "write-acknowledged", "raft-appended", "raft-high-watermark"}
)
"""Events that come with every record; they would fill an excerpt."""
_TIMES: Final = ("seq", "time_ns", "node_time_ns", "node", "incarnation", "kind", "stack", "topic_id", "crc")


@dataclass(frozen=True, slots=True)
class Line:
    """One line: when, of which node, and what. ``is_bad``: a warning or an error."""

    time_ns: int
    node: str
    text: str
    is_bad: bool = False


@dataclass(frozen=True, slots=True)
class Excerpt:
    """The lines about one moment, in order of time. ``left_out``: how many more there were."""

    time_ns: int
    what: str
    lines: tuple[Line, ...]
    left_out: int


@dataclass(slots=True)
class _Nearest:
    """Keeps the lines closest to one moment. ``lines`` never has more than twice :data:`_LINES`."""

    time_ns: int
    what: str
    lines: list[Line]
    seen: int = 0

    def take(self, line: Line) -> None:
        if abs(line.time_ns - self.time_ns) > _AROUND_NS:
            return
        self.seen += 1
        self.lines.append(line)
        if len(self.lines) >= 2 * _LINES:
            self._keep()

    def _keep(self) -> None:
        self.lines.sort(key=lambda line: abs(line.time_ns - self.time_ns))
        del self.lines[_LINES:]

    def done(self) -> Excerpt:
        self._keep()
        lines = sorted(self.lines, key=lambda line: line.time_ns)
        return Excerpt(self.time_ns, self.what, tuple(lines), self.seen - len(lines))


def excerpts(run: RunFiles, timeline: Timeline, stories: Sequence[Story]) -> list[Excerpt]:
    """Return what nodes did about the first moments at which something went wrong, in order of time."""
    wanted = [_Nearest(time_ns, what, []) for time_ns, what in _moments(timeline, stories)]
    if not wanted:
        return []
    for line in _lines(run):
        for one in wanted:
            one.take(line)
    return [done for one in wanted if (done := one.done()).lines]


def _moments(timeline: Timeline, stories: Sequence[Story]) -> list[tuple[int, str]]:
    steps = [
        (step.time_ns, f"{step.who}: {step.text}")
        for story in stories
        for step in story.steps
        if step.weight in ("cause", "bad") and step.who != "client"
    ]
    found: list[tuple[int, str]] = []
    for time_ns, what in [*steps, *((mark.time_ns, mark.text) for mark in timeline.marks)]:
        if len(found) < _MOMENTS and all(abs(time_ns - other) > _AROUND_NS // 2 for other, _ in found):
            found.append((time_ns, what))
    return sorted(found)


def _lines(run: RunFiles) -> Iterator[Line]:
    yield from (_of_event(row) for row in run.events if row["kind"] not in _COMMON)
    if run.directory is not None and run.began_unix_ns is not None:
        for path in _logs(run.directory / "logs"):
            yield from log_lines(path, run.began_unix_ns)


def _logs(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("*.log") if path.stem not in _NO_NODE and path.is_file())


def _of_event(row: Row) -> Line:
    given = ((name, value) for name, value in row.items() if name not in _TIMES and value not in ("", None))
    fields = " ".join(f"{name}={value}" for name, value in given)
    return Line(row["time_ns"], row["node"], _shown(f"{row['kind']} {fields}"))


def log_lines(path: Path, began_unix_ns: int) -> Iterator[Line]:
    """Return the lines of a node's log, by run time. A line without a time belongs to the one before."""
    try:
        with path.open("rb") as file:
            yield from _timed(path.stem, _bounded(iter(lambda: file.readline(_LINE), b"")), began_unix_ns)
    except OSError:
        return  # what can be read is shown


def _bounded(lines: Iterable[bytes]) -> Iterator[bytes]:
    read = 0
    for line in lines:
        read += len(line)
        if read > _READ:
            return
        yield line


def _timed(node: str, lines: Iterable[bytes], began_unix_ns: int) -> Iterator[Line]:
    time_ns: int | None = None
    for line in lines:
        text = line.decode("utf-8", "replace").rstrip()
        if (found := _DAY.match(line)) is not None:
            time_ns = _unix_ns(*found.groups())
            if time_ns is not None:
                time_ns -= began_unix_ns
            text = text[found.end() :].removeprefix("Z").lstrip(' "],')
        if time_ns is not None and text:
            yield Line(time_ns, node, _shown(text), any(word in text[:40] for word in ("WARN", "ERROR", "error")))


def _unix_ns(day: bytes, second: bytes, milli: bytes) -> int | None:
    try:
        moment = datetime.fromisoformat(f"{day.decode()}T{second.decode()}").replace(tzinfo=UTC)
    except ValueError:
        return None
    return int(moment.timestamp()) * 1_000_000_000 + int(milli) * 1_000_000


def _shown(text: str) -> str:
    return text if len(text) <= _LENGTH else f"{text[:_LENGTH]}…"
