"""What the nodes logged and reported around a moment of a run."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from highwater_chaos.report.files import Row, RunFiles

_BEFORE: Final = 2_000_000_000
_AFTER: Final = 1_000_000_000
_LINES: Final = 120
"""Lines of one excerpt: those next to the moment."""
_LONGEST: Final = 400
"""Characters of a line that are shown."""
_DAY: Final = 86_400_000_000_000
_OF_NODE: Final = re.compile(rb"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3})Z ")
_OF_HARNESS: Final = re.compile(rb" *(\d+)\.(\d{6}) ")
_HARNESS: Final = "harness"
_TELLING: Final = (
    "node-started",
    "node-stopped",
    "broker-state",
    "raft-state",
    "broker-registered",
    "broker-registration-changed",
    "partition-changed",
    "controller-changed",
    "became-leader",
    "became-follower",
    "log-loaded",
    "log-cut",
    "log-truncated",
    "isr-proposed",
    "isr-proposal-ended",
    "alter-partition-handled",
    "transition",
)
"""Events that say what a node decided or went through, not each record that it appended."""
_FIELDS: Final = (
    ("reason", ""),
    ("partition", ""),
    ("broker", "broker "),
    ("leader", "leader "),
    ("leader_epoch", "leader epoch "),
    ("partition_epoch", "partition epoch "),
    ("isr", "ISR "),
    ("epoch", "epoch "),
    ("offset", "offset "),
    ("end_offset", "end offset "),
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a log, or an event. ``here``: it is of the moment itself."""

    time_ns: int
    node: str
    text: str
    here: bool


@dataclass(frozen=True, slots=True)
class Moment:
    """Something that was found at ``time_ns``, and what nodes said around it."""

    time_ns: int
    what: str
    lines: list[Line]


def around(run: RunFiles, moments: Iterable[tuple[int, str]]) -> list[Moment]:
    """What was said around each of ``moments`` (a run time, and what was found then)."""
    wanted = list(moments)
    if not wanted:
        return []
    found: list[list[tuple[int, str, str]]] = [[] for _ in wanted]
    starts: dict[str, int] = {}
    for row in run.events:
        began = row.get("node_time_ns", 0) - row["time_ns"]
        if row["node"] not in starts and began > _DAY:  # a clock that shows a date; simulated ones do not
            starts[row["node"]] = began
        if row["kind"] in _TELLING:
            for (at, _), lines in zip(wanted, found, strict=True):
                if -_BEFORE <= row["time_ns"] - at <= _AFTER:
                    lines.append((row["time_ns"], row["node"], _said(row)))
    for node, time_ns, text in _logs(run.directory, starts):
        for (at, _), lines in zip(wanted, found, strict=True):
            if -_BEFORE <= time_ns - at <= _AFTER:
                lines.append((time_ns, node, text))
    return [Moment(at, what, _chosen(lines, at)) for (at, what), lines in zip(wanted, found, strict=True)]


def _chosen(lines: list[tuple[int, str, str]], at: int) -> list[Line]:
    nearest = sorted(dict.fromkeys(lines), key=lambda line: abs(line[0] - at))[:_LINES]
    here = {min((line for line in nearest), key=lambda line: abs(line[0] - at))[0]} if nearest else set()
    return [Line(time, node, text, time in here) for time, node, text in sorted(nearest, key=lambda line: line[0])]


def _said(row: Row) -> str:
    parts = [
        f"{before}{value}" for name, before in _FIELDS if (value := row.get(name)) is not None and value not in ("", [])
    ]
    return " ".join([f"event {row['kind']}:", ", ".join(parts)]).removesuffix(": ")


def _logs(directory: Path | None, starts: dict[str, int]) -> Iterator[tuple[str, int, str]]:
    """Lines of the harness and of the nodes whose clocks are known, with run times."""
    if directory is None or not (directory / "logs").is_dir():
        return
    for path in sorted((directory / "logs").glob("*.log")):
        if path.stem == _HARNESS:
            yield from _lines_of_harness(path)
        elif path.stem in starts and not path.is_symlink():
            yield from _lines_of_node(path, path.stem, starts[path.stem])


def _lines_of_harness(path: Path) -> Iterator[tuple[str, int, str]]:
    with path.open("rb") as lines:
        for line in lines:
            if match := _OF_HARNESS.match(line):
                time_ns = int(match[1]) * 1_000_000_000 + int(match[2]) * 1000
                yield _HARNESS, time_ns, _text(line[match.end() :])


def _lines_of_node(path: Path, node: str, began_ns: int) -> Iterator[tuple[str, int, str]]:
    """A line without a time, as of a stack, has that of the line before it."""
    time_ns: int | None = None
    with path.open("rb") as lines:
        for line in lines:
            if match := _OF_NODE.match(line):
                try:
                    wall = datetime.fromisoformat(f"{match[1].decode()}+00:00")
                except ValueError:
                    continue
                time_ns = round(wall.timestamp() * 1000) * 1_000_000 - began_ns
            if time_ns is not None:
                text = _text(line[match.end() :] if match else line)
                yield node, time_ns, text.removeprefix("INFO    ").removeprefix(f"{node} ")


def _text(line: bytes) -> str:
    return line[:_LONGEST].decode("utf-8", "replace").rstrip("\r\n")
