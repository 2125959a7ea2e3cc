"""Two runs side by side: with a switch off and on, on ours and on Apache Kafka, before and after a change."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.experiment.software import software_text
from highwater_chaos.records.removed import gone_text
from highwater_chaos.report.files import Row, RunFiles
from highwater_chaos.report.happened import Happened, happened
from highwater_chaos.report.html import render_page
from highwater_chaos.report.timeline import Timeline, timeline_of
from highwater_chaos.report.tracks import draw

_SECOND: Final = 1_000_000_000
_MS: Final = 1_000_000
_NONE: Final = "–"
_MOST: Final = 100
"""How many lines are about single partitions."""


class Line(NamedTuple):
    """One thing that both runs have, in words."""

    label: str
    first: str
    second: str

    @property
    def differs(self) -> bool:
        """Whether the runs differ in it."""
        return self.first != self.second


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, line by line. ``settings``: how their experiments differ, as ``diff -u`` shows it."""

    names: tuple[str, str]
    sentence: str
    lines: tuple[Line, ...]
    settings: tuple[str, ...]
    timelines: tuple[Timeline, Timeline]

    def to_dict(self) -> dict[str, Any]:
        """As ``--json`` has it."""
        lines = [{"what": one.label, "first": one.first, "second": one.second} for one in self.lines]
        return {"runs": list(self.names), "lines": lines, "settings": list(self.settings)}


@dataclass(frozen=True, slots=True)
class _Side:
    name: str
    run: RunFiles
    experiment: ChaosExperiment
    clients: _Clients
    partitions: Counter[str]
    happened: Happened
    timeline: Timeline


class _Clients(NamedTuple):
    """What clients came to. Times in ns."""

    acknowledged: int
    failed: int
    unknown: int
    read: int
    p50: int | None
    p99: int | None
    silence: int
    """The longest time without an acknowledgement, from the first send to the last outcome."""
    silence_at: int


def compare(first: Path, second: Path) -> Comparison:
    """Compare two run directories. Raises ``BadRunFileError`` if one is not whole."""
    sides = _side(first), _side(second)
    lines = tuple(_lines(*sides))
    return Comparison(
        (sides[0].name, sides[1].name),
        _sentence(*sides),
        lines,
        tuple(_settings(*sides)),
        (sides[0].timeline, sides[1].timeline),
    )


def render(comparison: Comparison) -> str:
    """Return the page: one file, without anything from elsewhere."""
    drawn = [draw(timeline) for timeline in comparison.timelines]
    return render_page("compare.html.j2", comparison=comparison, drawn=drawn)


def _side(directory: Path) -> _Side:
    run = RunFiles.read(directory)
    experiment = parse_experiment(run.experiment, str(directory / "experiment.yaml"))
    return _Side(
        directory.resolve().name,
        run,
        experiment,
        _clients(run.operations),
        _changes(run.events),
        happened(directory, run.events),
        timeline_of(run),
    )


def _sentence(first: _Side, second: _Side) -> str:
    if first.experiment.metadata.name != second.experiment.metadata.name:
        of = f"Different experiments: {first.experiment.metadata.name} and {second.experiment.metadata.name}."
    else:
        of = f"Two runs of {first.experiment.metadata.name}."
    verdicts = first.run.verdict["verdict"], second.run.verdict["verdict"]
    return (
        f"{of} Both are {verdicts[0]}." if verdicts[0] == verdicts[1] else f"{of} {verdicts[0]} against {verdicts[1]}."
    )


def _lines(first: _Side, second: _Side) -> Iterator[Line]:
    def line(label: str, *found: object) -> Line:
        return Line(label, *(_NONE if one is None else str(one) for one in found))

    one, other = first.run.verdict, second.run.verdict
    yield line("verdict", *(f"{verdict['verdict']}, {_expected(verdict)}" for verdict in (one, other)))
    if first.run.unverified or second.run.unverified:
        yield line("files", *("unverified" if side.run.unverified else "verified" for side in (first, second)))
    yield line("backend", one["backend"], other["backend"])
    yield line("software", *(software_text(side.experiment.cluster) for side in (first, second)))
    yield line("seed", one["seed"], other["seed"])
    ours, theirs = first.experiment.cluster.switches, second.experiment.cluster.switches
    for name in sorted({*ours, *theirs}):
        yield line(f"switch {name}", ours.get(name), theirs.get(name))
    yield line("duration", *(_seconds(side.timeline.end_ns) for side in (first, second)))
    a, b = first.clients, second.clients
    yield line("records acknowledged", f"{a.acknowledged:,}", f"{b.acknowledged:,}")
    yield line("of these", *(gone_text(verdict) for verdict in (one, other)))
    yield line("records read", f"{a.read:,}", f"{b.read:,}")
    yield line("sends that failed", f"{a.failed:,}", f"{b.failed:,}")
    yield line("sends without outcome", f"{a.unknown:,}", f"{b.unknown:,}")
    yield line("latency, median", _millis(a.p50), _millis(b.p50))
    yield line("latency, 99 %", _millis(a.p99), _millis(b.p99))
    yield line("longest without an acknowledgement", _silence(a), _silence(b))
    for label in ("leader changes", "ISR shrinks", "ISR expansions"):
        yield line(label, first.partitions[label], second.partitions[label])
    yield line("faults", *(_faults(side.run.faults) for side in (first, second)))
    for partition, label in sorted({*first.happened, *second.happened})[:_MOST]:
        yield line(f"{partition}: {label}", *(side.happened.get((partition, label)) for side in (first, second)))
    for name in dict.fromkeys([*one["anomalies"], *other["anomalies"]]):
        yield line(name, *(_count(verdict["anomalies"].get(name)) for verdict in (one, other)))
    held = [{row["name"]: row["holds"] for row in verdict["assertions"]} for verdict in (one, other)]
    for name in dict.fromkeys([*held[0], *held[1]]):
        yield line(f"assertion {name}", *(_held(side, name) for side in held))


def _expected(verdict: Row) -> str:
    return "as expected" if verdict["asExpected"] else "not as expected"


def _count(report: Mapping[str, Any] | None) -> str:
    return "none" if report is None else f"{report['count']} found"


def _held(side: Mapping[str, bool | None], name: str) -> str | None:
    return {True: "holds", False: "does not hold", None: "not judged"}[side[name]] if name in side else None


def _faults(rows: Sequence[Row]) -> str:
    kinds = Counter(str(row["kind"]) for row in rows)
    return ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items())) or "none"


def _seconds(ns: int) -> str:
    return f"{ns / _SECOND:.1f} s"


def _millis(ns: int | None) -> str | None:
    return None if ns is None else f"{ns / _MS:.1f} ms"


def _silence(clients: _Clients) -> str | None:
    return (
        f"{clients.silence / _SECOND:.1f} s, from {clients.silence_at / _SECOND:.1f} s on" if clients.silence else None
    )


def _clients(operations: Iterable[Row]) -> _Clients:
    begun: dict[int, int] = {}
    latencies: list[int] = []
    outcomes: Counter[str] = Counter()
    read, silence, silence_at = 0, 0, 0
    last: int | None = None  # the first send, then the latest acknowledgement
    for row in operations:
        kind, records = row["type"], len(row.get("value") or ())
        if row["f"] == "poll" and kind == "ok":
            read += records
        if row["f"] != "send":
            continue
        if last is None:
            last = row["time"]
        if row["time"] - last > silence:
            silence, silence_at = row["time"] - last, last
        if kind == "invoke":
            begun[row["process"]] = row["time"]
            continue
        start = begun.pop(row["process"], None)
        outcomes[kind] += records
        if kind == "ok":
            if start is not None:
                latencies.append(row["time"] - start)
            last = row["time"]
    latencies.sort()
    half, most = (latencies[int(share * (len(latencies) - 1))] if latencies else None for share in (0.5, 0.99))
    return _Clients(outcomes["ok"], outcomes["fail"], outcomes["info"], read, half, most, silence, silence_at)


def _changes(events: Iterable[Row]) -> Counter[str]:
    """Count what the committed states of partitions went through, by the events of whoever reports them first."""
    counted: Counter[str] = Counter()
    states: dict[tuple[str, str], tuple[int, int, int]] = {}
    for row in events:
        if row["kind"] != "partition-changed":
            continue
        key = row["partition"], str(row.get("topic_id"))
        leader, members, epoch = int(row["leader"]), len(row["isr"]), int(row["partition_epoch"])
        before = states.get(key)
        if before is not None and epoch <= before[2]:
            continue  # another node reports what is known
        states[key] = leader, members, epoch
        if before is not None:
            counted["leader changes"] += leader != before[0]
            counted["ISR shrinks"] += members < before[1]
            counted["ISR expansions"] += members > before[1]
    return counted


def _settings(first: _Side, second: _Side) -> list[str]:
    before, after = first.run.experiment.splitlines(), second.run.experiment.splitlines()
    return list(difflib.unified_diff(before, after, first.name, second.name, lineterm="", n=2))
