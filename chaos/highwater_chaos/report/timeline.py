"""Series over run time, from node events and operations: what the report's lanes are drawn from."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from highwater_chaos.report.files import Row, RunFiles

BUCKETS = 150
"""Columns of throughput and latency over the whole run."""


@dataclass(frozen=True, slots=True)
class Span:
    """A state that held from ``start_ns`` until ``end_ns``."""

    start_ns: int
    end_ns: int
    label: str
    kind: str


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
    faults: list[Span]


def timeline_of(run: RunFiles) -> Timeline:
    """Read the series of a run from its files."""
    times = [row["time_ns"] for row in run.events[-1:]] + [row["time"] for row in run.operations[-1:]]
    end_ns = max([1, *times])
    bucket_ns = max(1, -(-end_ns // BUCKETS))
    acked, failed, p50, p99 = _clients(run.operations, bucket_ns)
    epochs, leaders = _quorum(run.events)
    return Timeline(
        end_ns=end_ns,
        bucket_ns=bucket_ns,
        acked=acked,
        failed=failed,
        latency_p50=p50,
        latency_p99=p99,
        partitions=_partitions(run.events),
        nodes=_nodes(run.events, end_ns),
        quorum_epoch=epochs,
        quorum_leader=leaders,
        faults=[_fault_span(row, end_ns) for row in run.faults],
    )


def _clients(
    operations: Iterable[Row], bucket_ns: int
) -> tuple[list[int], list[int], list[float | None], list[float | None]]:
    acked, failed = [0] * (BUCKETS + 1), [0] * (BUCKETS + 1)
    latencies: defaultdict[int, list[float]] = defaultdict(list)
    begun: dict[int, int] = {}
    for row in operations:
        if row["f"] != "send":
            continue
        bucket = min(row["time"] // bucket_ns, BUCKETS)
        match row["type"]:
            case "invoke":
                begun[row["process"]] = row["time"]
            case "ok":
                acked[bucket] += len(row["value"] or ())
                if (start := begun.pop(row["process"], None)) is not None:
                    latencies[bucket].append((row["time"] - start) / 1e6)
            case _:
                failed[bucket] += 1
    p50 = [_quantile(latencies.get(bucket), 0.5) for bucket in range(BUCKETS + 1)]
    p99 = [_quantile(latencies.get(bucket), 0.99) for bucket in range(BUCKETS + 1)]
    return acked, failed, p50, p99


def _quantile(values: list[float] | None, share: float) -> float | None:
    if not values:
        return None
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def _partitions(events: Iterable[Row]) -> list[PartitionLane]:
    lanes: dict[str, PartitionLane] = {}
    told: set[int] = set()
    for row in events:
        name = row.get("partition")
        if name is None:
            continue
        lane = lanes.setdefault(name, PartitionLane(name))
        time = row["time_ns"]
        match row["kind"]:
            case "partition-changed" if row["metadata_offset"] not in told:
                told.add(row["metadata_offset"])
                lane.replicas = row["replicas"]
                lane.leader.append((time, row["leader"]))
                lane.leader_epoch.append((time, row["leader_epoch"]))
                lane.isr.append((time, row["isr"]))
            case "high-watermark":
                lane.high_watermark.append((time, row["offset"]))
            case "log-appended" | "log-loaded" | "log-cut":
                lane.log_end.setdefault(row["node"], []).append((time, row["end_offset"]))
            case "log-truncated":
                lane.log_end.setdefault(row["node"], []).append((time, row["offset"]))
    return [lanes[name] for name in sorted(lanes, key=_by_topic_and_index) if lanes[name].leader]


def _by_topic_and_index(partition: str) -> tuple[str, int]:
    topic, _, index = partition.rpartition("-")
    return topic, int(index) if index.isdigit() else -1


def _nodes(events: Iterable[Row], end_ns: int) -> dict[str, list[Span]]:
    """Up, down, and for brokers fenced: per node, one span after the other."""
    spans: dict[str, list[Span]] = {}
    state: dict[str, tuple[int, str]] = {}
    told: set[int] = set()

    def change(node: str, time: int, kind: str) -> None:
        if node in state and state[node][0] < time:
            start, before = state[node]
            spans.setdefault(node, []).append(Span(start, time, before, before))
        state[node] = (time, kind)

    for row in events:
        match row["kind"]:
            case "node-started":
                change(row["node"], row["time_ns"], "fenced" if row["node"].startswith("broker") else "up")
            case "node-stopped":
                change(row["node"], row["time_ns"], "down")
            case "broker-registration-changed" if row["metadata_offset"] not in told:
                told.add(row["metadata_offset"])
                node = f"broker-{row['broker']}"
                if state.get(node, (0, "down"))[1] != "down":
                    change(node, row["time_ns"], "up" if row["reason"] == "unfenced" else "fenced")
    for node in list(state):
        change(node, end_ns, "end")
    ordered = sorted(spans, key=lambda node: (not node.startswith("broker"), not node.startswith("controller"), node))
    return {node: spans[node] for node in ordered if node.startswith(("broker", "controller"))}


def _quorum(events: Iterable[Row]) -> tuple[list[tuple[int, int]], list[tuple[int, str]]]:
    epochs: list[tuple[int, int]] = []
    leaders: list[tuple[int, str]] = []
    highest = -1
    for row in events:
        if row["kind"] != "raft-state":
            continue
        if row["epoch"] > highest:
            highest = row["epoch"]
            epochs.append((row["time_ns"], highest))
        if row["reason"] == "leader":
            leaders.append((row["time_ns"], row["node"]))
    return epochs, leaders


def _fault_span(row: Row, end_ns: int) -> Span:
    start = row["started_ns"] if row["injected_ns"] is None else row["injected_ns"]
    end = end_ns if row["healed_ns"] is None else row["healed_ns"]
    return Span(start, max(start, end), fault_label(row), row["kind"])


def fault_label(row: Row) -> str:
    """``powerLoss broker-1``; what an RPC fault is about stands in its parameters."""
    rpc = row["parameters"].get("rpc")
    return " ".join([row["kind"], *([rpc] if rpc else []), ", ".join(row["targets"])]).strip()
