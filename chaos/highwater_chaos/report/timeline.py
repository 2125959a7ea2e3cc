"""Series over run time, from node events and operations: what the report's lanes are drawn from."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from highwater_chaos.experiment.faults import Effect, effect_of
from highwater_chaos.report.files import Row, RunFiles, TableRows
from highwater_pipeline.arrow.arrays import Bools

BUCKETS = 300
"""Columns of throughput and latency over the whole run."""
_SLOTS = 3400
"""Number of distinct times in a lane of offsets: three to a pixel."""
_KEPT = 4000
"""Latencies of a bucket from which its quantiles are taken."""
_LOG_ENDS: Final = ("log-appended", "log-loaded", "log-cut", "log-truncated")
_WITH_EVERY_BATCH: Final = ("log-appended", "high-watermark")


@dataclass(frozen=True, slots=True)
class Span:
    """A state that held from ``start_ns`` until ``end_ns``. ``caught``: when a fault of messages acted on one, as far
    as it is known."""

    start_ns: int
    end_ns: int
    label: str
    kind: str
    caught: tuple[int, ...] = ()

    @property
    def of_messages(self) -> bool:
        """Whether it is a fault that interferes with messages."""
        return Effect.ACTS_ON_MESSAGES in effect_of(self.kind)


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that was found at an instant."""

    time_ns: int
    text: str


@dataclass(frozen=True, slots=True)
class Series:
    """What an assertion looks at, over its phase: ``lines`` by name, each value held until the next; ``bounds`` that
    the condition has; ``broken``: when the condition was not as it must be. ``summary``: the same in words."""

    name: str
    lines: Mapping[str, Sequence[tuple[int, float | None]]]
    bounds: tuple[float, ...]
    broken: tuple[tuple[int, int], ...]
    phase: tuple[Span, ...]
    note: str
    summary: str


@dataclass(slots=True)
class PartitionLane:
    """One partition over time. Steps are (time_ns, value), each holding until the next."""

    name: str
    replicas: list[int] = field(default_factory=list)
    leader: list[tuple[int, int]] = field(default_factory=list)
    leader_epoch: list[tuple[int, int]] = field(default_factory=list)
    isr: list[tuple[int, list[int]]] = field(default_factory=list)
    high_watermark: list[tuple[int, int]] = field(default_factory=list)
    log_end: dict[str, list[tuple[int, int]]] = field(default_factory=dict)


@dataclass(slots=True)
class Timeline:
    """Everything the page draws. ``acked`` and latencies are per bucket of ``bucket_ns``; latencies in milliseconds."""

    end_ns: int
    bucket_ns: int
    acked: list[int]
    failed: list[int]
    latency_p50: list[float | None]
    latency_p99: list[float | None]
    partitions: list[PartitionLane]
    nodes: dict[str, list[Span]]
    quorum_epoch: list[tuple[int, int]]
    quorum_leader: list[tuple[int, str]]
    """In ZooKeeper mode both are of the controller: its epochs, and the broker that it was, or ``no controller``."""
    quorum_name: str
    faults: list[Span]
    phases: list[Span] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)
    affected: frozenset[str] = frozenset()
    """Partitions in which something was found."""
    assertions: list[Series] = field(default_factory=list)


def timeline_of(run: RunFiles) -> Timeline:
    """Read the series of a run from its files, each of which is gone through once."""
    phases_end = max((row["end_ns"] for row in run.phases), default=0)
    end_ns = max(1, _last(run.events, "time_ns"), _last(run.operations, "time"), phases_end)
    bucket_ns = max(1, -(-end_ns // BUCKETS))
    operations = run.operations
    sends = operations.some(are_sends) if isinstance(operations, TableRows) else operations
    acked, failed, p50, p99 = _clients(sends, bucket_ns)
    lanes, nodes, quorum = _Lanes(end_ns), _Nodes(end_ns), _Quorum()
    events = run.events
    for row in events.some(lanes.can_show) if isinstance(events, TableRows) else events:
        lanes.take(row)
        nodes.take(row)
        quorum.take(row)
    return Timeline(
        end_ns=end_ns,
        bucket_ns=bucket_ns,
        acked=acked,
        failed=failed,
        latency_p50=p50,
        latency_p99=p99,
        partitions=lanes.drawn(),
        nodes=nodes.spans(),
        quorum_epoch=quorum.epochs,
        quorum_leader=quorum.leaders,
        quorum_name="controller" if quorum.is_zookeeper else "quorum",
        faults=[_fault_span(row, end_ns) for row in run.faults],
        phases=[Span(row["start_ns"], row["end_ns"], row["name"], "phase") for row in run.phases],
        marks=sorted(_marks(run), key=lambda mark: mark.time_ns),
        affected=_affected(run),
    )


def _marks(run: RunFiles) -> Iterator[Mark]:
    """Broken invariants that the verdict counts, each once for what it is about, and where assertions did not hold."""
    seen: set[tuple[str, str]] = set()  # membership only, never iterated
    for row in _counted(run):
        if (row["name"], row["subject"]) not in seen:
            seen.add((row["name"], row["subject"]))
            yield Mark(row["time_ns"], f"{row['name']} {row['subject']}: {row['what']}")
    for row in run.verdict["assertions"]:
        if row["holds"] is False and row["example"] is not None:
            yield Mark(row["example"]["time_ns"], f"assertion {row['name']} did not hold")


def _counted(run: RunFiles) -> list[Row]:
    """Broken invariants, without those that no check was asked for."""
    return [row for row in run.violations if row["name"] in run.verdict["anomalies"]]


def _affected(run: RunFiles) -> frozenset[str]:
    found = {row["subject"] for row in _counted(run)}
    for anomaly in run.verdict["anomalies"].values():
        found |= {example["partition"] for example in anomaly["examples"] if example.get("partition")}
    return frozenset(found)


def _last(rows: Iterable[Row], field: str) -> int:
    """The time of the last row; 0 where there is none."""
    if isinstance(rows, TableRows):
        return int(rows.last(field) or 0)
    last = next(iter(deque(rows, maxlen=1)), None)
    return 0 if last is None else int(last[field])


class _Sample:
    """Latencies of one bucket: all of them, or every second, fourth … where they are many."""

    __slots__ = ("_every", "_seen", "values")

    def __init__(self) -> None:
        self.values: list[float] = []
        self._every = 1
        self._seen = 0

    def add(self, value: float) -> None:
        if self._seen % self._every == 0:
            self.values.append(value)
            if len(self.values) > _KEPT:
                del self.values[1::2]
                self._every *= 2
        self._seen += 1


def are_sends(operations: pa.Table) -> Bools:
    """Which operations are sends."""
    sends: Bools = pc.equal(operations["f"], "send").to_numpy()
    return sends


def _clients(
    operations: Iterable[Row], bucket_ns: int
) -> tuple[list[int], list[int], list[float | None], list[float | None]]:
    acked, failed = [0] * (BUCKETS + 1), [0] * (BUCKETS + 1)
    latencies: defaultdict[int, _Sample] = defaultdict(_Sample)
    begun: dict[int, int] = {}
    for row in operations:
        if row["f"] != "send":
            continue
        bucket = min(row["time"] // bucket_ns, BUCKETS)
        match row["type"]:
            case "invoke":
                begun[row["process"]] = row["time"]
            case "ok":
                acked[bucket] += len(row.get("value") or ())
                if (start := begun.pop(row["process"], None)) is not None:
                    latencies[bucket].add((row["time"] - start) / 1e6)
            case _:
                begun.pop(row["process"], None)
                failed[bucket] += 1
    p50 = [_quantile(latencies.get(bucket), 0.5) for bucket in range(BUCKETS + 1)]
    p99 = [_quantile(latencies.get(bucket), 0.99) for bucket in range(BUCKETS + 1)]
    return acked, failed, p50, p99


def _quantile(sample: _Sample | None, share: float) -> float | None:
    if sample is None:
        return None
    ordered = sorted(sample.values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


class _Steps:
    """One offset over time, as finely as it can be drawn: of those that rise in one slot of time the first, every fall,
    and the last."""

    __slots__ = ("_latest", "_slot_ns", "points")

    def __init__(self, slot_ns: int) -> None:
        self.points: list[tuple[int, int]] = []
        self._slot_ns = slot_ns
        self._latest: tuple[int, int] | None = None

    def add(self, time: int, value: int) -> None:
        before, self._latest = self._latest, (time, value)
        if before is None or value < before[1] or time // self._slot_ns != self.points[-1][0] // self._slot_ns:
            self.points.append((time, value))

    def all(self) -> list[tuple[int, int]]:
        return self.points if self._latest in (None, self.points[-1]) else [*self.points, self._latest]


class _Lanes:
    """Partitions over time."""

    def __init__(self, end_ns: int) -> None:
        self._slot_ns = max(1, end_ns // _SLOTS)
        self._lanes: dict[str, PartitionLane] = {}
        self._high_watermarks: dict[str, _Steps] = {}
        self._log_ends: dict[tuple[str, str], _Steps] = {}
        self._seen_changes: set[tuple[str, int]] = set()  # membership only, never iterated

    def take(self, row: Row) -> None:
        name = row.get("partition")
        if name is None:
            return
        time = row["time_ns"]
        match row["kind"]:
            # A transaction of ZooKeeper changes many partitions at one position.
            case "partition-changed" if (name, row["metadata_offset"]) not in self._seen_changes:
                self._seen_changes.add((name, row["metadata_offset"]))
                lane = self._lanes.setdefault(name, PartitionLane(name))
                lane.replicas = row["replicas"]
                lane.leader.append((time, row["leader"]))
                lane.leader_epoch.append((time, row["leader_epoch"]))
                lane.isr.append((time, row["isr"]))
            case "high-watermark":
                self._high_watermarks.setdefault(name, _Steps(self._slot_ns)).add(time, row["offset"])
            case "log-appended" | "log-loaded" | "log-cut":  # and log-truncated: _LOG_ENDS
                self._log_end(name, row).add(time, row["end_offset"])
            case "log-truncated":
                self._log_end(name, row).add(time, row["offset"])

    def can_show(self, part: pa.Table) -> Bools:
        """Which events may make a difference to what is drawn: of those that come with every batch only those that
        :class:`_Steps` keeps, and those that it compares with."""
        kind = part["kind"]
        shown: Bools = pc.invert(pc.is_in(kind, pa.array(_WITH_EVERY_BATCH))).to_numpy()
        slot = part["time_ns"].to_numpy() // self._slot_ns
        offsets = pc.is_in(kind, pa.array(("high-watermark", "log-truncated")))
        value = pc.if_else(offsets, part["offset"], part["end_offset"])
        for kinds, names in ((("high-watermark",), ["partition"]), (_LOG_ENDS, ["partition", "node"])):
            at = np.flatnonzero(pc.is_in(kind, pa.array(kinds)).to_numpy())
            if not len(at):
                continue
            series = np.zeros(len(at), np.int64)
            for name in names:
                words = part[name].take(pa.array(at)).combine_chunks().dictionary_encode()
                series = series * len(words.dictionary) + words.indices.to_numpy()
            at = at[order := np.argsort(series, kind="stable")]
            offset = pc.fill_null(value, 0).to_numpy()[at]
            same = np.diff(series[order]) == 0
            falls = same & (np.diff(offset) < 0)
            new = ~same | (np.diff(slot[at]) != 0)
            shown[at[np.append(True, new | falls)]] = True
            shown[at[np.append(falls | ~same, True)]] = True
        return shown

    def _log_end(self, name: str, row: Row) -> _Steps:
        return self._log_ends.setdefault((name, row["node"]), _Steps(self._slot_ns))

    def drawn(self) -> list[PartitionLane]:
        """Those that have had a leader, by topic and index."""
        for (name, node), steps in self._log_ends.items():
            if name in self._lanes:
                self._lanes[name].log_end[node] = steps.all()
        for name, steps in self._high_watermarks.items():
            if name in self._lanes:
                self._lanes[name].high_watermark = steps.all()
        return [self._lanes[name] for name in sorted(self._lanes, key=_by_topic_and_index)]


def _by_topic_and_index(partition: str) -> tuple[str, int]:
    topic, _, index = partition.rpartition("-")
    return topic, int(index) if index.isdigit() else -1


class _Nodes:
    """Up, down, and for brokers fenced (ZooKeeper mode: not registered): per node, one span after the other."""

    def __init__(self, end_ns: int) -> None:
        self._end_ns = end_ns
        self._spans: dict[str, list[Span]] = {}
        self._state: dict[str, tuple[int, str]] = {}
        self._seen_changes: set[tuple[str, int, int]] = set()  # membership only, never iterated

    def take(self, row: Row) -> None:
        match row["kind"]:
            case "node-started":
                self._change(row["node"], row["time_ns"], "fenced" if row["node"].startswith("broker") else "up")
            case "node-stopped":
                self._change(row["node"], row["time_ns"], "down")
            case "broker-registered" if row["node"].startswith("zookeeper-"):
                self._registration(row, "up")
            case "broker-registration-changed":
                self._registration(row, "up" if row["reason"] == "unfenced" else "fenced")

    def _registration(self, row: Row, kind: str) -> None:
        node, change = f"broker-{row['broker']}", (row["kind"], row["broker"], row["metadata_offset"])
        if change not in self._seen_changes:
            self._seen_changes.add(change)
            if self._state.get(node, (0, "down"))[1] != "down":
                self._change(node, row["time_ns"], kind)

    def _change(self, node: str, time: int, kind: str) -> None:
        if node in self._state and self._state[node][0] < time:
            start, before = self._state[node]
            self._spans.setdefault(node, []).append(Span(start, time, before, before))
        self._state[node] = (time, kind)

    def spans(self) -> dict[str, list[Span]]:
        """Brokers first, then controllers or ZooKeeper servers."""
        for node in list(self._state):
            self._change(node, self._end_ns, "end")
        spans = self._spans
        order = sorted(spans, key=lambda node: (not node.startswith("broker"), not node.startswith("controller"), node))
        return {node: spans[node] for node in order if node.startswith(("broker", "controller", "zookeeper"))}


class _Quorum:
    """Epochs of the metadata quorum, and who led in them; in ZooKeeper mode of the controller."""

    def __init__(self) -> None:
        self.epochs: list[tuple[int, int]] = []
        self.leaders: list[tuple[int, str]] = []
        self.is_zookeeper = False
        self._position = -1

    def take(self, row: Row) -> None:
        if row["kind"] == "controller-changed":
            self._controller(row)
        if row["kind"] != "raft-state" or row["node"].startswith("zookeeper-"):
            return
        if not self.epochs or row["epoch"] > self.epochs[-1][1]:
            self.epochs.append((row["time_ns"], row["epoch"]))
        if row["reason"] == "leader":
            self.leaders.append((row["time_ns"], row["node"]))

    def _controller(self, row: Row) -> None:
        self.is_zookeeper = True
        if row["metadata_offset"] > self._position:
            self._position = row["metadata_offset"]
            self.epochs.append((row["time_ns"], row["epoch"]))
            broker = row["broker"]
            self.leaders.append((row["time_ns"], "no controller" if broker < 0 else f"broker-{broker}"))


def _fault_span(row: Row, end_ns: int) -> Span:
    start = row["started_ns"] if row["injected_ns"] is None else row["injected_ns"]
    end = end_ns if row["healed_ns"] is None else row["healed_ns"]
    start, end = min(start, end_ns), min(end, end_ns)
    return Span(start, max(start, end), fault_label(row), row["kind"], _caught(row, end_ns))


def _caught(row: Row, end_ns: int) -> tuple[int, ...]:
    """When the rule caught messages, from its evidence; each instant once."""
    times = dict.fromkeys(
        time
        for item in row["evidence"]["inject"]
        for time in (item.get("data") or {}).get("times_ns", ())
        if isinstance(time, int) and 0 <= time <= end_ns
    )
    return tuple(times)


def fault_label(row: Row) -> str:
    """``powerLoss broker-1``; what an RPC fault is about stands in its parameters."""
    rpc = row["parameters"].get("rpc")
    return " ".join([row["kind"], *([str(rpc)] if rpc else []), ", ".join(row["targets"])]).strip()
