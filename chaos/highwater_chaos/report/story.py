"""The story of a lost record: who got it acknowledged, which replicas had it, and which step lost it.

The story of a record follows it through the node events: produced and acknowledged, stored by these replicas,
covered by the high watermark; then every decision about its partition and every fault on its replicas until a
leader without it came to lead, or the last copy of it was cut off. That last step is the one that lost it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from highwater_chaos.report.files import Row, RunFiles
from highwater_chaos.report.timeline import fault_label


@dataclass(frozen=True, slots=True)
class Step:
    """One step of a story. ``weight``: ``plain``, ``good`` (safety established or kept), ``fault``, ``cause`` (the
    decision that was wrong) or ``bad`` (the loss). ``of_record``: about the record itself, so that no story is told
    without it. ``row``: the node event that it is made of, if it is made of one."""

    time_ns: int
    who: str
    text: str
    weight: str = "plain"
    of_record: bool = False
    row: Row | None = None


@dataclass(frozen=True, slots=True)
class Story:
    """What happened to the record at ``offset`` of ``partition``."""

    title: str
    steps: tuple[Step, ...]
    partition: str = ""
    offset: int = -1


def record_story(run: RunFiles, partition: str, offset: int, value: int | None) -> Story:
    """The story of the record at ``offset`` of ``partition`` (and with ``value``, where known)."""
    replicas = _replicas(run, partition)
    sent = _Sent.of(run, partition, value)
    steps = [
        *_client_steps(run, partition, value),
        *_node_steps(run, partition, offset, replicas, sent),
        *_fault_steps(run, replicas),
    ]
    steps.sort(key=lambda step: step.time_ns)
    begun = next((step.time_ns for step in steps if step.weight != "fault"), 0)
    lost = next((step.time_ns for step in steps if step.weight == "bad"), steps[-1].time_ns if steps else 0)
    kept = [step for step in steps if begun <= step.time_ns <= lost or step.who == "client"]
    named = f"Record {value}" if value is not None else "The record"
    return Story(f"{named} at offset {offset} of {partition}", tuple(_abridged(kept)), partition, offset)


_MOST: Final = 38
"""Steps of a story that are shown."""
_FIRST: Final = 8
"""Of too many steps that count, so many of the first are shown, and the rest of the last."""


def _abridged(steps: list[Step]) -> list[Step]:
    """What happened to the record, the wrong decision and the loss; of all else what came last before them. What is
    left out is counted where it was."""
    if len(steps) <= _MOST:
        return steps
    shown = [n for n, step in enumerate(steps) if step.of_record or step.weight in ("cause", "bad")]
    shown = shown if len(shown) <= _MOST else [*shown[:_FIRST], *shown[_FIRST - _MOST :]]
    others = sorted(set(range(len(steps))).difference(shown))
    room = _MOST - len(shown)
    told = sorted({*shown, *others[len(others) - room :]})
    abridged: list[Step] = []
    following = 0
    for n in told:
        if n > following:
            gap = f"… {n - following} more {'step' if n == following + 1 else 'faults and decisions'}"
            abridged.append(Step(steps[following].time_ns, "", gap))
        abridged.append(steps[n])
        following = n + 1
    return abridged


@dataclass(frozen=True, slots=True)
class _Sent:
    """When a value was sent, and when that was acknowledged (ns); None: not in the history."""

    invoked_ns: int | None = None
    acknowledged_ns: int | None = None

    @classmethod
    def of(cls, run: RunFiles, partition: str, value: int | None) -> _Sent:
        times: dict[str, int] = {}
        for row in run.operations:
            if value is not None and row["f"] == "send" and row["type"] in ("invoke", "ok"):
                for element in row.get("value") or ():
                    if element.get("value") == value and element.get("key") == partition:
                        times.setdefault(row["type"], row["time"])
        return cls(times.get("invoke"), times.get("ok"))

    def allows(self, time_ns: int) -> bool:
        """Whether an append at that time can be that of this send."""
        until = self.acknowledged_ns
        return self.invoked_ns is not None and self.invoked_ns <= time_ns and (until is None or time_ns <= until)


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
        yield Step(first_read["time"], "client", f"process {who} read it (operation {operation})", of_record=True)
    elif row is not None:
        is_known = run.verdict["checks"].get("unseen") not in ("unknown", "not-available")
        searched = ", and the final reads did not find it" if is_known else ""
        yield Step(row["time"], "client", f"no client ever read it{searched}", "bad", True)


def _send_step(row: Row, element: Row) -> Step:
    who, operation = f"process {row['process']}", f"(operation {row['index']})"
    weight = "plain"
    match row["type"]:
        case "invoke":
            text = f"{who} sent it {operation}"
        case "ok":
            at = f" at offset {element['offset']}" if element.get("offset") is not None else ""
            text, weight = f"{who} got it acknowledged{at} {operation}", "good"
        case "fail":
            text = f"the send of {who} failed {operation}"
        case _:
            text = f"{who} never learned whether it was written {operation}"
    return Step(row["time"], "client", text, weight, of_record=True)


def _node_steps(run: RunFiles, partition: str, offset: int, replicas: frozenset[int], sent: _Sent) -> Iterator[Step]:
    trail = _Trail(partition, offset, replicas, sent, _copy_told(run, partition, offset, sent))
    for row in run.events:
        yield from trail.steps(row)


class _Copies:
    """Which record each replica has at one offset.

    Leaders of two epochs may append different records at one offset. A record is named by the row (its ``seq``) with
    which a leader appended it; a follower has the one that its leader had.
    """

    def __init__(self, offset: int) -> None:
        self._offset = offset
        self._leaders: dict[int, str] = {}
        """Who appended last as leader, or became leader, in each leader epoch."""
        self.of: dict[str, int] = {}

    def take(self, row: Row) -> None:
        """Learn from an event of the partition."""
        node, kind = row["node"], row["kind"]
        if kind == "became-leader" or (kind == "log-appended" and row["reason"] == "leader"):
            self._leaders[row["leader_epoch"]] = node
        if kind == "log-appended" and row["offset"] <= self._offset < row["end_offset"]:
            leader = node if row["reason"] == "leader" else self._leaders.get(row["leader_epoch"], "")
            seq: int = row["seq"]
            self.of[node] = seq if leader == node else self.of.get(leader, seq)
        elif kind in CUTS and _end_of(row) <= self._offset:
            self.of.pop(node, None)


def _copy_told(run: RunFiles, partition: str, offset: int, sent: _Sent) -> int | None:
    """The record that the story is about: what was appended while it was sent; else what was committed, or came
    first."""
    copies = _Copies(offset)
    appended: list[tuple[int, int]] = []
    committed: int | None = None
    for row in run.events:
        if row.get("partition") != partition:
            continue
        copies.take(row)
        copy = copies.of.get(row["node"])
        if row["kind"] == "log-appended" and copy == row["seq"]:
            appended.append((row["time_ns"], row["seq"]))
        elif row["kind"] == "high-watermark" and row["offset"] > offset and committed is None:
            committed = copy
    of_send = [copy for time_ns, copy in appended if sent.allows(time_ns)]
    if of_send:
        return of_send[-1 if sent.acknowledged_ns is not None else 0]
    return committed if committed is not None or not appended else appended[0][1]


class _Trail:
    """Follows one record through the node events, in their order."""

    def __init__(self, partition: str, offset: int, replicas: frozenset[int], sent: _Sent, told: int | None) -> None:
        self._partition = partition
        self._replicas = replicas
        self._offset = offset
        self._sent = sent
        self._told = told
        self._copies = _Copies(offset)
        self._begun = False
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
        before = self._copies.of.get(row["node"])
        if row.get("partition") is not None:
            self._copies.take(row)
        text, weight, of_record = self._meaning(row, before)
        if text:
            yield Step(row["time_ns"], row["node"], text, weight, of_record, row)

    def _meaning(self, row: Row, before: int | None) -> tuple[str, str, bool]:
        after = self._copies.of.get(row["node"])
        match row["kind"]:
            case "log-appended" if row["offset"] <= self._offset < row["end_offset"] and not self._lost:
                return self._appended(row, after)
            case kind if kind in CUTS:
                if before is None or before != self._told or after is not None:
                    return "", "", False
                return self._cut(row)
            case "high-watermark" if row["offset"] > self._offset and not self._committed:
                if after not in (None, self._told):
                    return "", "", False
                self._committed = True
                return f"high watermark passed it ({row['offset']}): the log said it was safe", "good", True
            case "became-leader" if self._begun and not self._lost and after != self._told:
                return self._led_without(row, after)
            case _ if self._begun:
                return *_of_cluster(row), False
        return "", "", False

    def _appended(self, row: Row, copy: int | None) -> tuple[str, str, bool]:
        if copy != self._told and not self._begun:
            return "", "", False
        self._begun = True
        it = "it" if copy == self._told else "another record at this offset"
        role = f"stored {it} as leader" if row["reason"] == "leader" else f"copied {it} from the leader"
        return f"{role} in epoch {row['leader_epoch']}", "plain", True

    def _cut(self, row: Row) -> tuple[str, str, bool]:
        text = f"no longer has it: {_why(row)}"
        acknowledged = self._sent.acknowledged_ns is not None and self._sent.acknowledged_ns <= row["time_ns"]
        if self._lost or not (acknowledged or self._committed) or self._told in self._copies.of.values():
            return text, "fault", True
        self._lost = True
        return f"{text}; no replica has it now", "bad", True

    def _led_without(self, row: Row, copy: int | None) -> tuple[str, str, bool]:
        end = f"with log end offset {row['end_offset']}" if copy is None else "with another record at this offset"
        if copy is None and row["end_offset"] > self._offset:
            return "", "", False  # it was not seen how it got its log
        self._lost = self._committed
        outcome = "the record is lost" if self._lost else "it does not have the record"
        return f"became leader in epoch {row['leader_epoch']} {end}: {outcome}", "bad" if self._lost else "plain", True


CUTS: Final = ("log-truncated", "log-cut", "log-loaded")
"""Events after which a log ends where they say."""


def _end_of(row: Row) -> int:
    end: int = row["offset"] if row["kind"] == "log-truncated" else row["end_offset"]
    return end


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
    registered = dict(zip(row["isr"], row["registered_epochs"], strict=False))
    stale = [
        f"broker {member} is registered under {registered[member]}, not {claimed}"
        for member, claimed in stale_members(row)
    ]
    if stale:
        return f"accepted ISR {proposal}, though {'; '.join(stale)}", "cause"
    return f"accepted ISR {proposal}", "plain"


def stale_members(row: Row) -> list[tuple[int, int]]:
    """Return the members of a proposed ISR that are not registered under the broker epoch that the proposal claims,
    each with that epoch."""
    members = zip(row["isr"], row["isr_epochs"], row["registered_epochs"], strict=False)
    return [(member, claimed) for member, claimed, registered in members if claimed not in (-1, registered)]


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
