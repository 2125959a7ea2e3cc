"""What a run exercised, and warnings where it was less than the schedule seems to be about.

Example: ``pause`` of a follower, then ``kill: {followerOf: P}``. The second fault takes the first follower by id, which
may be the one that hangs and has left the ISR. The run passes, and has tested one fault.

Each warning stands on evidence: an event, or the absence of one that the recording would have. Where times of several
clocks are too close to be sure, there is none. Faults that ``random`` drew are not about a single target: of them only
the whole is judged. Warnings change no verdict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.timeouts import timeouts
from highwater_chaos.faults import Fault
from highwater_chaos.faults.messages import MessageFault
from highwater_chaos.faults.partition import Partition
from highwater_chaos.report.course import Committed, Course
from highwater_chaos.report.explanation import fault_of_row, lost_bytes
from highwater_chaos.report.files import Row, RunFiles, TableRows, without_kinds
from highwater_chaos.report.timeline import are_sends
from highwater_chaos.run.exercised import MOST_WARNINGS, Exercised, ScheduleWarning
from highwater_pipeline.transitions import BULK, transitions_of_rows
from highwater_runtime.ports import MS, SECOND

_SHOWN: Final = 3
"""Partitions that a warning names."""
_UNSURE_NS: Final = SECOND
"""How far times of events and faults may be apart if not one clock made both."""
_SHORTEST_NS: Final = SECOND
"""In less time than this a client need not get anything acknowledged."""


@dataclass(frozen=True, slots=True)
class _Hit:
    """A confirmed fault with its row."""

    row: Row
    fault: Fault

    @property
    def id(self) -> str:
        return str(self.row.get("id", ""))[:40]

    @property
    def drawn(self) -> bool:
        return self.row.get("drawn") is True

    @property
    def title(self) -> str:
        name = self.row["name"]
        return f"{self.row['kind']} {name}" if name else f"{self.row['kind']} ({self.id})"

    @property
    def nodes(self) -> list[str]:
        nodes: list[str] = self.row["targets"]
        return nodes

    @property
    def started_ns(self) -> int:
        started: int = self.row["started_ns"]
        return started

    @property
    def injected_ns(self) -> int:
        injected: int | None = self.row["injected_ns"]
        return self.started_ns if injected is None else injected

    def until_ns(self, end_ns: int) -> int:
        """Until when it was in force for sure."""
        times = (self.row.get("heal_started_ns"), self.row["healed_ns"])
        return next((one for one in times if isinstance(one, int)), end_ns)

    def does(self, effect: Effect) -> bool:
        return bool(self.fault.EFFECT & effect)

    @property
    def cuts_off(self) -> bool:
        """Whether nothing reaches its targets, and nothing comes from them."""
        return isinstance(self.fault, Partition) and self.fault.isolate is not None and self.fault.direction == "both"

    @property
    def lost_bytes(self) -> list[int]:
        """Of each node whose power it took, as far as that was measured."""
        return list(lost_bytes(self.row).values())


def exercised(run: RunFiles, experiment: ChaosExperiment) -> Exercised:
    """Return what a run exercised, with warnings. Goes through its events once."""
    kinds = run.recorded_kinds
    course = Course()
    reached = transitions_of_rows(course.taking(without_kinds(run.events, BULK)))
    hits = [_Hit(row, fault) for row in run.faults if row["confirmed"] and (fault := fault_of_row(row)) is not None]
    confirmed: dict[str, int] = {}
    for row in run.faults:
        confirmed[row["kind"]] = confirmed.get(row["kind"], 0) + bool(row["confirmed"])
    has_states = "partition-changed" in kinds
    shrinks, expansions = course.isr_changes()
    return Exercised(
        faults={kind: count for kind, count in sorted(confirmed.items()) if count},
        bytes_lost=_bytes_lost(hits),
        disks_replaced=sum(len(hit.nodes) for hit in hits if hit.fault.replaces_disk),
        elections=course.elections if has_states else None,
        isr_shrinks=shrinks if has_states else None,
        isr_expansions=expansions if has_states else None,
        truncations=course.truncations if "log-truncated" in kinds else None,
        broker_restarts=course.broker_restarts if "node-started" in kinds else None,
        transitions=len(reached) if "transition" in kinds else None,
        warnings=tuple(_warnings(run, experiment, hits, course))[:MOST_WARNINGS],
    )


def _bytes_lost(hits: Sequence[_Hit]) -> int | None:
    losses = [hit for hit in hits if hit.fault.COUNTS_LOST_BYTES]
    if any(len(hit.lost_bytes) < len(hit.nodes) for hit in losses):
        return None
    return sum(sum(hit.lost_bytes) for hit in losses)


def _warnings(
    run: RunFiles, experiment: ChaosExperiment, hits: Sequence[_Hit], course: Course
) -> Iterator[ScheduleWarning]:
    verdict, kinds = run.verdict, run.recorded_kinds
    ours = verdict.get("software", {}).get("runtime", "highwater") == "highwater"
    one_clock = ours and verdict["backend"] in ("sim", "local")
    look = _Look(run, experiment, hits, course, 0 if one_clock else _UNSURE_NS)
    for hit in hits:
        if hit.drawn:
            continue
        if "node-stopped" in kinds:
            yield from look.hit_again(hit)
        if "partition-changed" in kinds:
            yield from look.out_of_isr(hit)
        yield from look.lost_nothing([hit])
    if "partition-changed" in kinds:
        yield from look.no_election()
        yield from look.never_shrank()
    drawn = [hit for hit in hits if hit.drawn and hit.fault.COUNTS_LOST_BYTES and not hit.fault.replaces_disk]
    yield from look.lost_nothing(drawn)
    yield from look.caught_nothing()
    yield from look.nothing_acknowledged()


@dataclass(frozen=True, slots=True)
class _Look:
    """Looks for one kind of warning in each method. ``unsure_ns``: see :data:`_UNSURE_NS`."""

    run: RunFiles
    experiment: ChaosExperiment
    hits: Sequence[_Hit]
    course: Course
    unsure_ns: int

    @property
    def end_ns(self) -> int:
        return max((row["end_ns"] for row in self.run.phases), default=0)

    def hit_again(self, hit: _Hit) -> Iterator[ScheduleWarning]:
        """A fault that acts on processes or links, and found all of its targets down, hung or cut off by others."""
        acts = Effect.ENDS_PROCESSES | Effect.HOLDS_PROCESSES | Effect.ENDS_SESSIONS | Effect.LOSES_RESPONSES
        harms_disk = hit.fault.replaces_disk or hit.does(Effect.FAILS_LOGS) or any(hit.lost_bytes)
        if not hit.nodes or not hit.does(acts) or harms_disk or isinstance(hit.fault, MessageFault):
            return
        found = [self._already(hit, node) for node in hit.nodes]
        whys = [one for one in found if one is not None]
        if len(whys) == len(found):
            others = tuple(dict.fromkeys(other.id for other, _ in whys))
            text = f"{hit.title} hit no node that still worked: {', '.join(why for _, why in whys[:_SHOWN])}"
            yield ScheduleWarning("hit-again", text, (*others, hit.id))

    def _already(self, hit: _Hit, node: str) -> tuple[_Hit, str] | None:
        before = [one for one in self.hits if one is not hit and node in one.nodes]
        before = [one for one in before if one.injected_ns + self.unsure_ns <= hit.started_ns]
        in_force = [one for one in before if hit.started_ns + self.unsure_ns < one.until_ns(self.end_ns)]
        down_ns = self.course.down_since(node, hit.started_ns, self.unsure_ns)
        if down_ns is not None:
            ended = [one for one in before if one.does(Effect.ENDS_PROCESSES)]
            return (ended[-1], f"{node} was down since {_s(down_ns)} by {ended[-1].title}") if ended else None
        for one in reversed(in_force):
            if one.does(Effect.HOLDS_PROCESSES):
                return one, f"{node} hung since {_s(one.injected_ns)} by {one.title}"
            if one.cuts_off and not hit.does(Effect.ENDS_PROCESSES):
                return one, f"{node} was cut off since {_s(one.injected_ns)} by {one.title}"
        return None

    def out_of_isr(self, hit: _Hit) -> Iterator[ScheduleWarning]:
        """A fault on ``followerOf`` a partition that hit a replica outside the ISR."""
        named = _Named(hit.row["parameters"]).follower_of()
        if named is None or len(hit.nodes) != 1 or (isinstance(hit.fault, Partition) and hit.fault.isolate is None):
            return
        state = self.course.at(named, hit.started_ns, self.unsure_ns)
        number = _number(hit.nodes[0])
        if state is not None and number in state.replicas and number not in state.isr:
            isr = ", ".join(map(str, state.isr[:20]))
            text = f"{hit.title} hit {hit.nodes[0]}, a follower of {named} that was not in the ISR ({isr}) at"
            yield ScheduleWarning("not-in-isr", f"{text} {_s(hit.started_ns)}: inSyncFollowerOf names one", (hit.id,))

    def lost_nothing(self, hits: Sequence[_Hit]) -> Iterator[ScheduleWarning]:
        """Power losses of brokers that took no byte and no disk."""
        losses = [hit for hit in hits if hit.fault.COUNTS_LOST_BYTES and not hit.fault.replaces_disk]
        losses = [hit for hit in losses if all(node.startswith("broker-") for node in hit.nodes)]
        if losses and all(hit.lost_bytes and not any(hit.lost_bytes) for hit in losses):
            who = losses[0].title if len(losses) == 1 else f"each of {len(losses)} drawn power losses of brokers"
            text = f"{who} lost 0 bytes: what is on the disk is what a kill would have left"
            yield ScheduleWarning("lost-no-bytes", text, tuple(hit.id for hit in losses))

    def no_election(self) -> Iterator[ScheduleWarning]:
        """Leaders whose process was ended, and the leader epoch of their partitions never moved after that."""
        for hit in self.hits:
            if not hit.does(Effect.ENDS_PROCESSES):
                continue
            kept = []
            for name, states in self.course.partitions.items():
                state = self.course.at(name, hit.started_ns - 1, self.unsure_ns)
                last = states[-1]
                if state is None or len(state.replicas) < 2 or f"broker-{state.leader}" not in hit.nodes:
                    continue
                ran = self.course.down_since(f"broker-{state.leader}", hit.started_ns, self.unsure_ns) is None
                if ran and last.replicas and last.leader_epoch == state.leader_epoch:
                    kept.append(name)
            if kept:
                text = f"{hit.title} ended the leader of {_listed(kept)}, and no election came: the leader epoch stayed"
                yield ScheduleWarning("no-election", text, (hit.id,))

    def never_shrank(self) -> Iterator[ScheduleWarning]:
        """Partitions whose replicas were down, hung or cut off for longer than the lag time, and whose ISR never
        shrank."""
        cluster = self.experiment.spec.cluster
        known = cluster is not None and (cluster.runtime == "highwater" or "replica.lag.time.max.ms" in cluster.config)
        if cluster is None or not known or cluster.attached is not None:
            return
        lag_ns = timeouts(cluster).replica_lag_time_max_ms * MS
        kept: list[str] = []
        longest: tuple[int, str, _Hit] | None = None
        absences = list(self._absences())
        for name, states in self.course.partitions.items():
            if any(len(after.isr) < len(before.isr) for before, after in pairwise(states)):
                continue
            for node, hit, since_ns, until_ns in absences:
                is_long = until_ns - since_ns > lag_ns + self.unsure_ns
                if is_long and _is_replica(states, _number(node), since_ns, until_ns):
                    kept = kept if name in kept else [*kept, name]
                    longest = max(longest or (0, "", hit), (until_ns - since_ns, node, hit), key=lambda one: one[0])
        if longest is not None:
            lasted_ns, node, hit = longest
            text = f"the ISR of {_listed(kept)} never shrank, though {hit.title} kept {node} away for {_s(lasted_ns)}"
            yield ScheduleWarning("isr-never-shrank", f"{text} (replica.lag.time.max.ms: {_s(lag_ns)})", (hit.id,))

    def _absences(self) -> Iterator[tuple[str, _Hit, int, int]]:
        """Brokers with the fault that kept them away, since when, until when."""
        for hit in self.hits:
            for node in hit.nodes:
                if hit.does(Effect.HOLDS_PROCESSES) or hit.cuts_off:
                    yield node, hit, hit.injected_ns, hit.until_ns(self.end_ns)
                elif hit.does(Effect.ENDS_PROCESSES):
                    for since_ns, until_ns in self.course.downtimes(node, self.end_ns):
                        if hit.started_ns <= since_ns <= hit.injected_ns:
                            yield node, hit, since_ns, until_ns

    def caught_nothing(self) -> Iterator[ScheduleWarning]:
        """Rules about messages that ``random`` drew, if none of them caught any. One of the schedule that caught none
        makes the run inconclusive."""
        rows = [row for row in self.run.faults if row.get("drawn") is True and row["error"] is None]
        rules = [row for row in rows if isinstance(fault_of_row(row), MessageFault)]
        if rules and all(row.get("idle") is True for row in rules):
            who = "the drawn rule" if len(rules) == 1 else f"each of {len(rules)} drawn rules"
            text = f"{who} about messages caught no message"
            yield ScheduleWarning("caught-nothing", text, tuple(str(row.get("id")) for row in rules[:MOST_WARNINGS]))

    def nothing_acknowledged(self) -> Iterator[ScheduleWarning]:
        """No record was acknowledged while a fault was in force, though producers wrote all the time, and some were at
        other times."""
        spans = sorted((hit.injected_ns, hit.until_ns(self.end_ns)) for hit in self.hits)
        lasted = sum(until_ns - since_ns for since_ns, until_ns in spans)
        wrote = self.experiment.spec.workload.producers and self.run.verdict.get("acknowledged")
        if lasted < _SHORTEST_NS or not wrote:
            return
        operations = self.run.operations
        sends = operations.some(are_sends) if isinstance(operations, TableRows) else operations
        acknowledged = (row["time"] for row in sends if row["f"] == "send" and row["type"] == "ok")
        if not any(since_ns <= time_ns <= until_ns for time_ns in acknowledged for since_ns, until_ns in spans):
            yield ScheduleWarning("nothing-acknowledged", "nothing was acknowledged while a fault was in force")


@dataclass(frozen=True, slots=True)
class _Named:
    """The parameters of a fault."""

    parameters: Row

    def follower_of(self) -> str | None:
        """The partition of ``followerOf``, if it is the fault's only target."""
        targets = [self.parameters.get(name) for name in ("target", "isolate", "from", "to")]
        given: list[dict[str, Any]] = [one for one in targets if isinstance(one, dict)]
        named = given[0].get("followerOf") if len(given) == 1 else None
        return named if isinstance(named, str) else None


def _is_replica(states: Sequence[Committed], broker: int, since_ns: int, until_ns: int) -> bool:
    """Whether a broker was one of several replicas of a partition all through a span of time."""
    before = [one for one in states if one.time_ns <= since_ns]
    within = [one for one in states if since_ns < one.time_ns <= until_ns]
    return bool(before) and all(broker in one.replicas and len(one.replicas) > 1 for one in (before[-1], *within))


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _number(node: str) -> int:
    number = node.rpartition("-")[2]
    is_broker = node.startswith("broker-") and number.isascii() and number.isdigit() and len(number) < 10
    return int(number) if is_broker else -1


def _s(time_ns: int) -> str:
    return f"{time_ns / 1e9:.1f} s"
