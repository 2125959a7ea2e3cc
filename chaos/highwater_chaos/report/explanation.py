"""What a run came to, in one sentence: what was lost, by which decision, after which faults.

The sentence is made from the story of one lost record (:mod:`.story`). Each clause stands on an event: a replica that
came to lead without the record, how its log had lost it, how it was in the ISR, what had happened to the leader before.
A fault is named if it is a cause of one of these: the power loss of the replica that lacks the record, the request that
was held until it was accepted, the kill of the deposed leader. That a fault was in force at the time is no reason.
Where events show no cause, the sentence says what was found, and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice, pairwise
from typing import Any, Final

from pydantic import ValidationError

from highwater_chaos.base.words import counted
from highwater_chaos.experiment.faults import Effect, fault_kinds
from highwater_chaos.faults import Fault
from highwater_chaos.faults.messages import MessageFault
from highwater_chaos.report.files import Row, RunFiles
from highwater_chaos.report.story import CUTS, Step, Story, record_story, stale_members
from highwater_pipeline.anomalies import BY_WEIGHT, MEANINGS

_LONGEST: Final = 1_000
"""Characters of a sentence."""
_MOST_BYTES: Final = 1 << 62
_BEYOND: Final = "This is beyond what Kafka promises: every member of the ISR lost its records."
_OF_LOSS: Final = ("lost-write", "unseen", "committed-loss")
_UNPROMISED: Final = "Kafka had not promised that they stay."


@dataclass(frozen=True, slots=True)
class Explained:
    """What is known of a run's failure. ``sentence``: for people, empty if nothing broke and nothing was lost;
    ``faults``: those that took part, as rows of ``faults.jsonl``; ``stories``: of a lost record."""

    sentence: str = ""
    faults: Sequence[Row] = ()
    stories: Sequence[Story] = ()


def fault_of_row(row: Row) -> Fault | None:
    """The fault of a row; None if it is of a kind that is not installed here, or of another form."""
    kind = fault_kinds().get(row["kind"])
    try:
        value = None if kind is None else kind.model_validate(row["parameters"])
    except ValidationError:
        return None
    return value if isinstance(value, Fault) else None


def lost_bytes(row: Row) -> dict[str, int]:
    """Unsynced bytes that each node lost by the fault of a row, as far as its evidence says it."""
    data = [one.get("data") for one in row["evidence"]["inject"] if isinstance(one, dict)]
    found = [(str(one.get("node")), one.get("lostBytes")) for one in data if isinstance(one, dict)]
    return {node: count for node, count in found if isinstance(count, int) and 0 <= count < _MOST_BYTES}


def _spoils_disks(fault: Fault) -> bool:
    """Whether a replica may lose by it what it had written."""
    return fault.LOSES_CACHE or Effect.FAILS_LOGS in fault.EFFECT


def _acts_on_messages(fault: Fault) -> bool:
    return isinstance(fault, MessageFault)


def _sets_apart(fault: Fault) -> bool:
    """Whether a broker may be fenced by it, or leave the ISR."""
    return fault.AIMED and (fault.EFFECT is not Effect.NONE or fault.blocks_processes)


def _keeps_from_copying(fault: Fault) -> bool:
    return _sets_apart(fault) or _acts_on_messages(fault)


@dataclass(slots=True)
class _Clauses:
    """Clauses with the time by which they are ordered, and the faults that they name."""

    run: RunFiles
    said: list[tuple[int, str]] = field(default_factory=list)
    faults: list[Row] = field(default_factory=list)

    def add(self, time_ns: int, text: str, fault: Row | None = None) -> None:
        self.said.append((time_ns, text))
        if fault is not None and fault not in self.faults:
            self.faults.append(fault)

    def fault_on(self, node: str, is_such: Callable[[Fault], bool], since_ns: int, until_ns: int) -> Row | None:
        """The last fault of some kind on a node that began in a span of time."""
        found = [one for one in self._on(node, is_such) if since_ns <= _began(one) <= until_ns]
        return max(found, key=_began, default=None)

    def in_force(self, node: str, is_such: Callable[[Fault], bool], time_ns: int) -> Row | None:
        """The last fault of some kind on a node that was in force at a time."""
        found = [one for one in self._on(node, is_such) if _began(one) <= time_ns <= _ended(one)]
        return max(found, key=_began, default=None)

    def _on(self, node: str, is_such: Callable[[Fault], bool]) -> list[Row]:
        on_node = [one for one in self.run.faults if node in one["targets"]]
        return [one for one in on_node if (fault := fault_of_row(one)) is not None and is_such(fault)]


def explained(run: RunFiles) -> Explained:
    """Return what happened in a run, with the story of a lost record."""
    anomalies, lost = run.verdict["anomalies"], run.verdict.get("lost") or 0
    if not anomalies and not lost:
        return Explained()
    story = _lost_story(run)
    if story is None and not lost:
        return Explained(_of_gravest(run))
    clauses = _Clauses(run)
    stories = [] if story is None else [story]
    step = None if story is None else next((one for one in story.steps if one.weight == "bad" and one.row), None)
    beyond = story is not None and step is not None and _causes(clauses, story, step)
    outcome = _outcome(run, lost)
    if not clauses.said and not anomalies and (cuts := _cuts(run)):
        return Explained(f"{_sentence(f'{cuts}: {outcome}')} {_UNPROMISED}", stories=stories)
    if story is None or not clauses.said:
        unknown = _sentence(f"{outcome}; the recorded events do not show by which decision")
        return Explained(unknown, stories=stories)
    told = "; ".join(text for _, text in sorted(clauses.said, key=lambda one: one[0]))
    partitions = {one["partition"] for found in anomalies.values() for one in found["examples"] if one.get("partition")}
    if len(partitions) > 1:
        told, outcome = f"{story.partition}: {told}", f"in all partitions {outcome}"
    return Explained(f"{_sentence(f'{told}: {outcome}')}{f' {_BEYOND}' if beyond else ''}", clauses.faults, stories)


def sentence_without_causes(verdict: Mapping[str, Any]) -> str:
    """The sentence of :func:`explained` where a run's events and faults are not at hand: what was found, and nothing of
    how it came about."""
    run = RunFiles(verdict, (), (), (), "")
    anomalies, lost = verdict["anomalies"], verdict.get("lost") or 0
    if not anomalies and not lost:
        return ""
    is_loss = lost or any(name in anomalies for name in _OF_LOSS)
    return _sentence(_outcome(run, lost)) if is_loss else _of_gravest(run)


def _cuts(run: RunFiles) -> str:
    """Say where replicas cut their logs back, at most twice: so a deposed leader loses what acks=1 acknowledged."""
    cuts = list(islice((row for row in run.events if row["kind"] == "log-truncated"), 2))
    return "; ".join(
        f"broker {_number(row['node'])} cut its log of {row['partition']} back from offset {row['end_offset']} to"
        f" {row['offset']} at {_s(row['time_ns'])}"
        for row in cuts
    )


def _lost_story(run: RunFiles) -> Story | None:
    """Return the story of the first record that the verdict names as lost; if it names none though some are lost, of
    one that a leader lacked. Records of one run are mostly lost in the same way: others are only counted."""
    lost: dict[tuple[str, int], int | None] = {}
    for name in _OF_LOSS:
        for example in run.verdict["anomalies"].get(name, {}).get("examples", ()):
            if example.get("offset") is not None and example.get("partition"):
                values = example.get("values") or [example.get("value")]
                lost.setdefault((example["partition"], example["offset"]), values[0])
    if not lost and run.verdict.get("lost"):
        lost = dict.fromkeys(_lacked(run))
    return next((record_story(run, key, offset, value) for (key, offset), value in lost.items()), None)


def _lacked(run: RunFiles) -> Iterator[tuple[str, int]]:
    """Of the first leader whose log ended below a high watermark before: the partition and the end of that log."""
    passed: dict[str, int] = {}
    for row in run.events:
        name = row.get("partition")
        if name is None:
            continue
        if row["kind"] == "high-watermark":
            passed[name] = max(passed.get(name, 0), row["offset"])
        elif row["kind"] == "became-leader" and row["end_offset"] < passed.get(name, 0):
            yield name, row["end_offset"]
            return


def _of_gravest(run: RunFiles) -> str:
    """Return the sentence of a run that lost no record: the gravest anomaly, and the first example of it."""
    anomalies = run.verdict["anomalies"]
    name = next((one for one in BY_WEIGHT if one in anomalies), next(iter(anomalies)))
    examples = anomalies[name]["examples"]
    example = examples[0].get("story", "") if examples else ""
    meaning = MEANINGS.get(name, "failed")
    kept = "no acknowledged record was lost, but " if run.verdict.get("lost") == 0 else ""
    return _sentence(f"{kept}{name}: {meaning}. {example}".strip())


def _outcome(run: RunFiles, lost: int) -> str:
    if lost:
        return f"{lost:,} acknowledged record{' is' if lost == 1 else 's are'} gone"
    anomalies = run.verdict["anomalies"]
    if gone := anomalies.get("committed-loss", {}).get("count", 0):
        return f"{counted(gone, 'record')} that had passed the high watermark did not stay"
    count = sum(anomalies.get(name, {}).get("count", 0) for name in ("lost-write", "unseen"))
    return f"no read found {counted(count, 'acknowledged record')}, which a replica still has"


def _causes(clauses: _Clauses, story: Story, step: Step) -> bool:
    """Add what led to the step that lost the record; return whether Kafka promises nothing for it."""
    row = step.row
    if row is None:
        return False
    if row["kind"] != "became-leader":
        # The last copy is gone. Of several that were, each is said; the leader is one that comes later.
        others = [one for one in story.steps if one.of_record and one.row and one.row["kind"] in CUTS]
        later = _later_leader(clauses.run, story, step.time_ns)
        for one in others:
            if later is None or one.who != later.who:
                _lost_copy(clauses, story, one)
        if later is None or later.row is None:
            return False
        step, row = later, later.row
    node, broker = step.who, _number(step.who)
    cut = next((one for one in reversed(story.steps) if _is_cut_of(one, node) and one.time_ns <= step.time_ns), None)
    by_disk = False
    if cut is not None:
        by_disk = _lost_copy(clauses, story, cut)
    else:
        _never_had(clauses, story, step)
    before = _states_before(clauses.run, story.partition, row["leader_epoch"], step.time_ns)
    _deposed(clauses, story, before, step)
    who, alone = _elected(clauses, story, before, step, broker)
    end = "an empty log" if row["end_offset"] == 0 else f"a log that ended at offset {row['end_offset']}"
    if cut is not None and row["end_offset"] > 0 and row["end_offset"] > story.offset:
        end = "another record in its place"
    clauses.add(step.time_ns, f"broker {broker}{who} became leader at {_s(step.time_ns)} with {end}")
    return by_disk and (alone or _all_lost(clauses, story, before, step))


def _all_lost(clauses: _Clauses, story: Story, states: Sequence[Row], step: Step) -> bool:
    """Return whether the disks of all members of the ISR lost the record at once, and name the faults.

    At once: each had it until it was hit, the last of them was hit before the first of them opened its log again, and
    each then opened a log that ended before the record. So no member had it at that moment, whatever they did later.
    """
    hits: dict[str, Row] = {}
    fault = clauses.fault_on(step.who, _spoils_disks, _appended(story), step.time_ns)
    known = [] if fault is None else [state for state in states if state["time_ns"] <= _began(fault)]
    for member in known[-1]["isr"] if known else ():
        found = clauses.fault_on(f"broker-{member}", _spoils_disks, _appended(story), step.time_ns)
        if found is None:
            return False
        hits[f"broker-{member}"] = found
    has: dict[str, bool] = {}
    opened: dict[str, Row] = {}
    for row in clauses.run.events:
        node = row["node"]
        if row.get("partition") != story.partition or node not in hits:
            continue
        if row["time_ns"] >= _began(hits[node]):
            if row["kind"] == "log-loaded":
                opened.setdefault(node, row)
        elif row["kind"] == "log-appended":
            has[node] = has.get(node, False) or row["offset"] <= story.offset < row["end_offset"]
        elif row["kind"] in CUTS:
            end = row["offset" if row["kind"] == "log-truncated" else "end_offset"]
            has[node] = has.get(node, False) and end > story.offset
    last_ns = max(map(_began, hits.values()), default=0)
    if not hits or len(opened) < len(hits) or not all(has.get(node) for node in hits):
        return False
    if any(row["time_ns"] <= last_ns or row["end_offset"] > story.offset for row in opened.values()):
        return False
    for node, hit in hits.items():
        text = f"{_hit(hit, node)} at {_s(_began(hit))}"
        if not any(said.startswith(text) for _, said in clauses.said):
            clauses.add(_began(hit), f"{text}{_amount(hit, node)}", hit)
    return True


def _later_leader(run: RunFiles, story: Story, time_ns: int) -> Step | None:
    """Return the first leader from a time on whose log ended before the record."""
    for row in run.events:
        if row["kind"] == "became-leader" and row["partition"] == story.partition and row["time_ns"] >= time_ns:
            has_none = row["end_offset"] <= story.offset
            return Step(row["time_ns"], row["node"], "", row=row) if has_none else None
    return None


def _lost_copy(clauses: _Clauses, story: Story, cut: Step) -> bool:
    """Say how a replica came to lack the record that it had; return whether its disk did not keep it."""
    row, node = cut.row, cut.who
    assert row is not None
    if row["kind"] == "log-truncated":
        clauses.add(
            cut.time_ns,
            f"broker {_number(node)} cut its log back from offset {row['end_offset']} to {row['offset']} at"
            f" {_s(cut.time_ns)} ({row['reason']})",
        )
        return False
    stored = [one.time_ns for one in story.steps if one.row and one.row["kind"] == "log-appended" and one.who == node]
    stored = [time_ns for time_ns in stored if time_ns <= cut.time_ns]
    fault = clauses.fault_on(node, _spoils_disks, max(stored, default=0), cut.time_ns)
    if fault is None:
        clauses.add(cut.time_ns, f"broker {_number(node)} came up without the record at {_s(cut.time_ns)}")
        return False
    clauses.add(_began(fault), f"{_hit(fault, node)} at {_s(_began(fault))}{_amount(fault, node)}", fault)
    return True


def _amount(fault: Row, node: str) -> str:
    """How many bytes a node lost by a fault, in brackets; empty if it lost none, or its whole disk."""
    value = fault_of_row(fault)
    amount = 0 if value is None or value.replaces_disk else lost_bytes(fault).get(node, 0)
    return f" ({counted(amount, 'unsynced byte')})" if amount else ""


def _never_had(clauses: _Clauses, story: Story, step: Step) -> None:
    """Name the faults for which a replica did not copy the record."""
    appended = [one.time_ns for one in story.steps if one.row and one.row["kind"] == "log-appended"]
    if not appended:
        return
    fault = clauses.in_force(step.who, _keeps_from_copying, appended[0])
    fault = fault or clauses.fault_on(step.who, _acts_on_messages, appended[0], step.time_ns)
    if fault is not None:
        clauses.add(
            _began(fault), f"{_hit(fault, step.who)} at {_s(_began(fault))} and did not copy these records", fault
        )


def _states_before(run: RunFiles, partition: str, leader_epoch: int, until_ns: int) -> list[Row]:
    """Return the committed states of a partition of lower leader epochs, each as it was first reported."""
    states: dict[int, Row] = {}
    for row in run.events:
        is_one = row["kind"] == "partition-changed" and row["partition"] == partition and row["time_ns"] <= until_ns
        if is_one and row["leader_epoch"] < leader_epoch:
            states.setdefault(row["partition_epoch"], row)
    return [states[epoch] for epoch in sorted(states)]


def _deposed(clauses: _Clauses, story: Story, before: Sequence[Row], step: Step) -> None:
    """Name what happened to the leader before, if it was fenced after that."""
    leaders = [state["leader"] for state in before if state["leader"] >= 0]
    if not leaders or leaders[-1] == _number(step.who):
        return
    node = f"broker-{leaders[-1]}"
    gone = [one for one in story.steps if one.row and one.row["kind"] == "broker-registration-changed"]
    times = [one.time_ns for one in gone if one.row and one.row["broker"] == leaders[-1] and one.row["reason"] in _OUT]
    times = [time_ns for time_ns in times if time_ns <= step.time_ns]
    fault = clauses.in_force(node, _sets_apart, max(times)) if times else None
    if fault is not None:
        clauses.add(_began(fault), f"{_hit(fault, node, ', the leader,')} at {_s(_began(fault))}", fault)


_OUT: Final = ("fenced", "unregistered", "shutdown", "fenced-by-controlled-shutdown", "controlled-shutdown")


def _elected(clauses: _Clauses, story: Story, before: Sequence[Row], step: Step, broker: int) -> tuple[str, bool]:
    """Say why the replica might lead: by a clause, or by what is returned for the last one. Return also whether it was
    the only member of the ISR."""
    for one in story.steps:
        stale = stale_members(one.row) if one.weight == "cause" and one.row else []
        for member, claimed in stale:
            if member == broker and one.time_ns <= step.time_ns:
                text = f"the controller let broker {broker} into the ISR under its old epoch {claimed}"
                text = f"{text} at {_s(one.time_ns)}"
                held, caught = _held(clauses, one.time_ns)
                by = f", by a request that had been {caught}" if caught else ""
                clauses.add(one.time_ns, f"{text}{by}", held)
                return "", False
    if not before:
        return "", False
    isr = before[-1]["isr"]
    if broker not in isr:
        return f", which was not in the ISR ({', '.join(map(str, isr[:20])) or 'nobody was'}),", False
    if list(isr) == [broker]:
        _left_alone(clauses, before, broker)
        alone = "only replica" if list(before[-1]["replicas"]) == [broker] else "only member of the ISR"
        return f", the {alone},", True
    absent = [n for n, state in enumerate(before) if broker not in state["isr"]]
    copied = [one.time_ns for one in story.steps if _is_cut_of(one, step.who)]
    if absent and before[absent[-1] + 1]["time_ns"] >= min([*copied, _appended(story)]):
        time_ns = before[absent[-1] + 1]["time_ns"]
        clauses.add(time_ns, f"broker {broker} was let into the ISR at {_s(time_ns)} without these records")
        return "", False
    return ", which was still in the ISR,", False


def _appended(story: Story) -> int:
    """When the record was first appended; never, if no event shows it."""
    times = (one.time_ns for one in story.steps if one.row and one.row["kind"] == "log-appended")
    return next(times, 1 << 62)


def _left_alone(clauses: _Clauses, states: Sequence[Row], broker: int) -> None:
    """Name the faults for which the others left the ISR."""
    for earlier, later in pairwise(states):
        time_ns = later["time_ns"]
        for other in sorted(set(earlier["isr"]) - set(later["isr"]) - {broker})[:3]:
            fault = clauses.in_force(f"broker-{other}", _keeps_from_copying, time_ns)
            if fault is not None:
                text = f"{_hit(fault, f'broker-{other}')} at {_s(_began(fault))} and left the ISR at {_s(time_ns)}"
                clauses.add(_began(fault), text, fault)


def _held(clauses: _Clauses, accepted_ns: int) -> tuple[Row | None, str]:
    """The fault that caught a proposal before it was accepted, and what it did with it."""
    for row in reversed(clauses.run.faults):
        fault = fault_of_row(row)
        if isinstance(fault, MessageFault) and fault.DELIVERS and fault.rpc == "AlterPartition":
            data = [one.get("data") for one in row["evidence"]["inject"] if isinstance(one, dict)]
            times = [time for one in data if isinstance(one, dict) for time in _ints(one.get("times_ns"))]
            if any(time_ns <= accepted_ns for time_ns in times):
                return row, fault.CAUGHT
    return None, ""


def _ints(found: object) -> list[int]:
    return [one for one in found if isinstance(one, int)] if isinstance(found, list) else []


def _is_cut_of(step: Step, node: str) -> bool:
    return step.of_record and step.who == node and step.row is not None and step.row["kind"] in CUTS


def _hit(row: Row, node: str, role: str = "") -> str:
    """``broker 1, the leader, was killed``."""
    who, fault = f"broker {_number(node)}{role}", fault_of_row(row)
    others = [one.replace("-", " ", 1) for one in row["targets"][:4] if one != node]
    return f"{who} was hit by {row['kind']}" if fault is None else fault.suffered(who, others)


def _number(node: str) -> int:
    number = node.rpartition("-")[2]
    return int(number) if number.isascii() and number.isdigit() and len(number) < 10 else -1


def _began(fault: Row) -> int:
    time_ns: int = fault["started_ns"] if fault["injected_ns"] is None else fault["injected_ns"]
    return time_ns


def _ended(fault: Row) -> float:
    return float("inf") if fault["healed_ns"] is None else float(fault["healed_ns"])


def _s(time_ns: int) -> str:
    return f"{time_ns / 1e9:.1f} s"


def _sentence(text: str) -> str:
    text = " ".join(text.split())
    text = text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith(('.', '…')) else '.'}"
