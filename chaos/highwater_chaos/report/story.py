"""The story of a lost record: who got it acknowledged, which replicas had it, and which step lost it.

The story of a record follows it through the node events: produced and acknowledged, stored by these replicas,
covered by the high watermark; then every decision about its partition and every fault on its replicas until a
leader without it came to lead. That last step is the one that lost it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from highwater_chaos.report.files import Row, RunFiles
from highwater_chaos.report.timeline import fault_label


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a story. ``weight``: ``plain``, ``good`` (safety established or kept), ``fault``, ``cause`` (the
    decision that was wrong) or ``bad`` (the loss)."""

    time_ns: int
    who: str
    text: str
    weight: str = "plain"


@dataclass(frozen=True, slots=True)
class Story:
    """What happened to one record."""

    title: str
    steps: tuple[Step, ...]


def record_story(run: RunFiles, partition: str, offset: int, value: int | None) -> Story:
    """The story of the record at ``offset`` of ``partition`` (and with ``value``, where known)."""
    replicas = _replicas(run, partition)
    steps = [
        *_client_steps(run, partition, value),
        *_node_steps(run, partition, offset, replicas),
        *_fault_steps(run, replicas),
    ]
    steps.sort(key=lambda step: step.time_ns)
    begun = next((step.time_ns for step in steps if step.weight != "fault"), 0)
    lost = next((step.time_ns for step in steps if step.weight == "bad"), steps[-1].time_ns if steps else 0)
    kept = [step for step in steps if begun <= step.time_ns <= lost or step.who == "client"]
    named = f"Record {value}" if value is not None else "The record"
    return Story(f"{named} at offset {offset} of {partition}", tuple(_abridged(kept)))


_HEAD, _TAIL = 8, 30


def _abridged(steps: list[Step]) -> list[Step]:
    """How a record became safe, and the steps that led to its loss; what lies in between is only counted."""
    if len(steps) <= _HEAD + _TAIL:
        return steps
    left_out = steps[_HEAD:-_TAIL]
    gap = Step(left_out[0].time_ns, "", f"… {len(left_out)} more faults and decisions")
    return [*steps[:_HEAD], gap, *steps[-_TAIL:]]


def _replicas(run: RunFiles, partition: str) -> frozenset[int]:
    """Every broker that the partition was ever assigned to."""
    changes = (row for row in run.events if row["kind"] == "partition-changed" and row["partition"] == partition)
    return frozenset(broker for row in changes for broker in row["replicas"])


def _client_steps(run: RunFiles, partition: str, value: int | None) -> Iterator[Step]:
    if value is None:
        return
    first_read: Row | None = None
    row: Row | None = None
    for row in run.operations:
        for element in row.get("value") or ():
            if element.get("value") != value or element.get("key") != partition:
                continue
            if element["op"] == "send" and row["f"] == "send":
                yield _send_step(row, element)
            elif element["op"] == "poll" and row["type"] == "ok" and first_read is None:
                first_read = row
    if first_read is not None:
        who, operation = first_read["process"], first_read["index"]
        yield Step(first_read["time"], "client", f"process {who} read it (operation {operation})")
    elif row is not None:
        yield Step(row["time"], "client", "no client ever read it, and the final reads did not find it", "bad")


def _send_step(row: Row, element: Row) -> Step:
    who = f"process {row['process']}"
    match row["type"]:
        case "invoke":
            return Step(row["time"], "client", f"{who} sent it (operation {row['index']})")
        case "ok":
            at = f" at offset {element['offset']}" if element.get("offset") is not None else ""
            return Step(row["time"], "client", f"{who} got it acknowledged{at} (operation {row['index']})", "good")
        case "fail":
            return Step(row["time"], "client", f"the send of {who} failed (operation {row['index']})")
        case _:
            return Step(row["time"], "client", f"{who} never learned whether it was written (operation {row['index']})")


def _node_steps(run: RunFiles, partition: str, offset: int, replicas: frozenset[int]) -> Iterator[Step]:
    trail = _Trail(partition, offset, replicas)
    for row in run.events:
        yield from trail.steps(row)


class _Trail:
    """Follows one record through the node events, in their order."""

    def __init__(self, partition: str, offset: int, replicas: frozenset[int]) -> None:
        self._partition = partition
        self._replicas = replicas
        self._offset = offset
        self._holders: set[str] = set()
        self._committed = False
        self._lost = False
        self._seen_changes: set[tuple[str, int]] = set()

    def steps(self, row: Row) -> Iterator[Step]:
        """Return what this event means for the record: one step or none."""
        if "metadata_offset" in row and row["kind"] != "alter-partition-handled":
            # Every controller reports each committed record. Take the first report only.
            change = (row["kind"], row["metadata_offset"])
            if change in self._seen_changes:
                return
            self._seen_changes.add(change)
            if row.get("partition") is None and row["broker"] not in self._replicas:
                return
        if row.get("partition", self._partition) != self._partition:
            return
        text, weight = self._meaning(row)
        if text:
            yield Step(row["time_ns"], row["node"], text, weight)

    def _meaning(self, row: Row) -> tuple[str, str]:
        match row["kind"]:
            case "log-appended" | "log-truncated" | "log-cut" | "log-loaded":
                return self._of_log(row)
            case "high-watermark" if row["offset"] > self._offset and not self._committed:
                self._committed = True
                return f"high watermark passed it ({row['offset']}): the log said it was safe", "good"
            case "became-leader" if self._committed and not self._lost and row["end_offset"] <= self._offset:
                self._lost = True
                end = row["end_offset"]
                return (
                    f"became leader in epoch {row['leader_epoch']} with log end offset {end}: the record is lost",
                    "bad",
                )
            case _ if self._holders:
                return _of_cluster(row)
        return "", ""

    def _of_log(self, row: Row) -> tuple[str, str]:
        if row["kind"] == "log-appended":
            if self._lost or not row["offset"] <= self._offset < row["end_offset"]:
                return "", ""
            self._holders.add(row["node"])
            role = "stored it as leader" if row["reason"] == "leader" else "copied it from the leader"
            return f"{role} in epoch {row['leader_epoch']}", "plain"
        left = row["offset"] if row["kind"] == "log-truncated" else row["end_offset"]
        if row["node"] not in self._holders or left > self._offset:
            return "", ""
        self._holders.discard(row["node"])
        return f"no longer has it: {_why(row)}", "fault"


def _of_cluster(row: Row) -> tuple[str, str]:
    """What a decision about the partition or one of the brokers says."""
    match row["kind"]:
        case "broker-registered":
            return f"broker {row['broker']} registered under epoch {row['broker_epoch']}", "plain"
        case "broker-registration-changed":
            return f"broker {row['broker']} (epoch {row['broker_epoch']}) is {row['reason']}", "plain"
        case "partition-changed":
            leader = f"leader {row['leader']}" if row["leader"] >= 0 else "no leader"
            return f"committed {leader}, ISR {row['isr']}, leader epoch {row['leader_epoch']}", "plain"
        case "isr-proposed":
            return f"proposed ISR {_isr(row['isr'], row['isr_epochs'])}", "plain"
        case "isr-proposal-ended" if row["reason"] not in ("committed", "superseded"):
            return f"dropped its proposal ({row['reason']}); the ISR stays {row['isr']}", "good"
        case "alter-partition-handled":
            return _judged(row)
    return "", ""


def _why(row: Row) -> str:
    match row["kind"]:
        case "log-truncated":
            return f"truncated from {row['end_offset']} to {row['offset']} ({row['reason']})"
        case "log-cut":
            return f"recovery cut the log at {row['end_offset']} ({row['reason']}, {row['offset']} bytes)"
        case _:
            return f"its log came up {row['reason']} with end offset {row['end_offset']}"


def _isr(isr: Sequence[int], epochs: Sequence[int]) -> str:
    return "{" + ", ".join(f"{broker} (epoch {epoch})" for broker, epoch in zip(isr, epochs, strict=False)) + "}"


def _judged(row: Row) -> tuple[str, str]:
    proposal = _isr(row["isr"], row["isr_epochs"])
    if row["reason"] != "NONE":
        return f"refused ISR {proposal} of broker {row['broker']}: {row['reason']}", "good"
    stale = [
        f"broker {member} is registered under {registered}, not {claimed}"
        for member, claimed, registered in zip(row["isr"], row["isr_epochs"], row["registered_epochs"], strict=True)
        if claimed not in (-1, registered)
    ]
    if stale:
        return f"accepted ISR {proposal}, though {'; '.join(stale)}", "cause"
    return f"accepted ISR {proposal}", "plain"


def _fault_steps(run: RunFiles, replicas: frozenset[int]) -> Iterator[Step]:
    """Faults on nodes that hold the partition; the timeline shows the others."""
    nodes = {f"broker-{broker}" for broker in replicas}
    for fault in run.faults:
        if not nodes.intersection(fault["targets"] or ()):
            continue
        start = fault["started_ns"] if fault["injected_ns"] is None else fault["injected_ns"]
        yield Step(start, "chaos", fault_label(fault), "fault")
        if fault["healed_ns"] is not None:
            yield Step(fault["healed_ns"], "chaos", f"{fault_label(fault)}: healed", "fault")
