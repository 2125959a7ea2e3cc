"""What was decided about a partition: its committed states in the order of the metadata, and which may follow which.

In KRaft mode the controller decides, and a fence or a registration of a broker is in the same order. In ZooKeeper mode
the leader writes its ISR itself, by a conditional write, and a broker that has gone is noticed later: what depends on
brokers being alive is judged in KRaft mode only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any, Final

from highwater_pipeline.specification.refusal import Refusal
from highwater_runtime.model.breaks import Breaks
from highwater_runtime.model.decisions import (
    NO_LEADER,
    Decided,
    elects_from_outside,
    is_led_from_outside,
    is_outcome,
    needs_leader_epoch,
    unassigned,
)
from highwater_runtime.model.in_sync import UNKNOWN, Registrations, claimed_epoch, joins_stale

_ACCEPTED: Final = ("NONE", "NEW_LEADER_ELECTED")
"""The second: the ISR was changed as proposed, by which a reassignment is complete, and the leader has to go."""
Event = dict[str, Any]


@dataclass(slots=True)
class Decisions:
    """The decisions of one topic generation by metadata offset, and what they rest on. ``unclean``: whether the
    settings allow a leader from outside the ISR. ``of_others``: whether Apache Kafka
    decided. Then replicas that left the ISR may be eligible leader replicas (KIP-966), which decisions do not name; a
    leader may drop a proposal that it has not sent, or forget one; and a controller that was killed may not have said
    what it accepted."""

    is_zookeeper: bool = False
    unclean: bool = False
    of_others: bool = False
    states: list[Decided] = field(default_factory=list)
    accepted: dict[int, Event] = field(default_factory=dict)
    refused: set[tuple[int, int, int]] = field(default_factory=set)
    requests: list[Event] = field(default_factory=list)
    """All judgements of proposals."""
    proposed: dict[tuple[int, int, int], list[Event]] = field(default_factory=dict)
    """What each leader proposed, by its leader and partition epoch."""
    registrations: Registrations = field(default_factory=Registrations)
    by_partition_epoch: dict[int, Decided] = field(default_factory=dict)
    replicas_at: dict[int | None, int] = field(default_factory=dict)
    """How many replicas there were at a partition epoch; the fewest, where several states have it."""
    leader_of: dict[int, set[int]] = field(default_factory=dict)
    breaks: list[int] = field(default_factory=list)
    """Leader epochs of unclean elections: what was committed before is owed to no leader from then on."""
    only_replicas: set[int] = field(default_factory=set)
    """Brokers with whose disk the partition was lost."""
    deleted_ns: int | None = None
    """When the first node reported that the topic is deleted, in run time."""
    _by_offset: dict[int, Decided] = field(default_factory=dict)
    _claimed_twice: set[int] = field(default_factory=set)
    """Metadata offsets of which two judgements say that they wrote there: a controller was deposed."""
    _lives: dict[int, list[tuple[int, str]]] = field(default_factory=dict)

    @classmethod
    def of(cls, events: Iterable[Event], *, is_zookeeper: bool, unclean: bool, of_others: bool = False) -> Decisions:
        """Read ``events`` of a partition and of its cluster, in any order of nodes."""
        found = cls(is_zookeeper, unclean, of_others)
        states: dict[int, Decided] = {}
        lives: dict[tuple[int, int, str], None] = {}
        for event in events:
            match event["kind"]:
                case "partition-changed":
                    states.setdefault(event["metadata_offset"], Decided(*(event[name] for name in Decided._fields)))
                    if event["reason"] == "deleted":
                        found.deleted_ns = min(event["time_ns"], found.deleted_ns or event["time_ns"])
                case "alter-partition-handled":
                    found._judge(event)
                case "isr-proposed" if event["node"].startswith("broker-"):
                    broker = int(event["node"].rpartition("-")[2])
                    base = broker, event["leader_epoch"], event["partition_epoch"]
                    found.proposed.setdefault(base, []).append(event)
                case "broker-registered":
                    epoch = event.get("broker_epoch")
                    offset = event["metadata_offset"]
                    found.registrations.add(event["broker"], offset, offset if epoch is None else epoch)
                    lives[event["metadata_offset"], event["broker"], "registered"] = None
                case "broker-registration-changed":
                    if event["reason"] == "unregistered":
                        found.registrations.add(event["broker"], event["metadata_offset"], UNKNOWN)
                    lives[event["metadata_offset"], event["broker"], event["reason"]] = None
        for offset, broker, what in sorted(lives):
            found._lives.setdefault(broker, []).append((offset, what))
        found._by_offset = states
        found.states = [states[offset] for offset in sorted(states) if states[offset].reason != "deleted"]
        search = Breaks(found.accepted)
        for state in found.states:
            found.by_partition_epoch.setdefault(state.partition_epoch, state)
            replicas, epoch = len(state.replicas), state.partition_epoch
            found.replicas_at[epoch] = min(replicas, found.replicas_at.get(epoch, replicas))
            found.leader_of.setdefault(state.leader_epoch, set()).add(state.leader)
            if search.decide(state, may_be_unclean=unclean):
                found.breaks.append(state.leader_epoch)
            if len(state.replicas) == 1:
                found.only_replicas.update(state.replicas)
        return found

    def _judge(self, event: Event) -> None:
        self.requests.append(event)
        if event["reason"] not in _ACCEPTED:
            self.refused.add((event["broker"], event["leader_epoch"], event["partition_epoch"]))
        elif self.accepted.setdefault(event["metadata_offset"], event) is not event:
            self.accepted[event["metadata_offset"]] = event
            self._claimed_twice.add(event["metadata_offset"])

    def registered(self, request: Event, broker: int) -> int | None:
        """Return the epoch under which a broker was registered when a proposal was accepted, by the registrations;
        None if that is not known, or that judgement did not become the committed state."""
        offset = request["metadata_offset"]
        state = self._by_offset.get(offset)
        if state is None or self.accepted.get(offset) is not request or offset in self._claimed_twice:
            return None
        is_it = is_outcome(state, request["isr"], request["partition_epoch"])
        return self.registrations.in_force(broker, offset) if is_it else None

    def lacks(self, partition_epoch: int) -> bool:
        """Return whether nobody decided this partition epoch, though it would be known: an earlier one is. (In
        ZooKeeper mode nobody reports what is decided while the topic is being deleted.)"""
        if self.is_zookeeper and self.deleted_ns is not None:
            return False
        known = self.by_partition_epoch
        return partition_epoch not in known and partition_epoch > min(known, default=partition_epoch)

    def life_of(self, broker: int, offset: int) -> str:
        """The last word on a broker up to ``offset``: ``registered`` (and fenced), ``unfenced``, ``fenced``,
        ``controlled-shutdown`` or ``unregistered``; ``unknown`` if there is none."""
        lives = self._lives.get(broker, [])
        place = bisect_right(lives, offset, key=itemgetter(0))
        return lives[place - 1][1] if place else "unknown"


def check_decisions(decisions: Decisions) -> Iterator[Refusal]:
    """Yield the decisions that may not follow the ones before them."""
    before: Decided | None = None
    move = _Move()
    eligible: set[int] = set()
    for state in decisions.states:
        if state.reason == "created":
            before = None
        for rule, what in (*_broken(decisions, before, state, eligible), *move.broken(decisions, before, state)):
            yield _refusal(decisions, before, state, rule, what)
        if decisions.of_others:
            eligible = _eligible(eligible, before, state)
        before = state


def _eligible(eligible: set[int], before: Decided | None, state: Decided) -> set[int]:
    """The replicas that may be eligible to lead after ``state`` (KIP-966): those that left the ISR since all replicas
    were in it. (They are fewer: only those that left it while it was below ``min.insync.replicas``.)"""
    isr = set(state.isr)
    if isr >= {*state.replicas}:
        return set()
    left = set() if before is None else set(before.isr)
    return ((eligible | left) - isr) & {*state.replicas}


@dataclass(slots=True)
class _Move:
    """A reassignment (KIP-455), as the replicas of one decision after the other show it. ``settled``: the replicas
    before it began; None while they are unknown.

    If one of those leaves, it is complete, and all replicas that stay are in the ISR (KAFKA-15665). A cancellation, or
    a move to other replicas instead, takes away only what was added.
    """

    settled: frozenset[int] | None = None

    def broken(self, decisions: Decisions, before: Decided | None, state: Decided) -> Iterator[tuple[str, str]]:
        """Judge ``state``. Decisions that are missing in between may have been anything."""
        replicas, isr = frozenset(state.replicas), frozenset(state.isr)
        if before is None or state.partition_epoch != before.partition_epoch + 1:
            self.settled = replicas if state.reason == "created" else None
        elif left := sorted((self.settled or replicas) - replicas):
            added = replicas - (self.settled or frozenset())
            # Apache Kafka 4.3 waits for the others only if a partition gets fewer replicas.
            waits_for = added if decisions.of_others and len(added) >= len(left) else replicas
            missing = sorted(waits_for - isr)
            if missing and not decisions.is_zookeeper:
                yield (
                    "reassignment-in-sync",
                    f"{_brokers(left)} left the replicas, now {state.replicas}, while {_brokers(missing)} were not"
                    f" in the ISR, now {state.isr}",
                )
            self.settled = replicas
        if replicas <= isr:
            self.settled = replicas  # a reassignment that adds only is complete


def _broken(
    decisions: Decisions, before: Decided | None, state: Decided, eligible: set[int]
) -> Iterator[tuple[str, str]]:
    isr, leader = state.isr, state.leader
    is_left = not isr and leader == NO_LEADER and decisions.of_others  # its last member has become eligible
    if (not isr and not is_left) or len(set(isr)) < len(isr) or unassigned(state):
        yield "isr-of-replicas", f"the ISR became {isr} of the replicas {state.replicas}"
    elif is_led_from_outside(state):
        yield "isr-of-replicas", f"broker {leader} became leader, and the ISR {isr}"
    if before is not None:
        yield from _broken_epochs(before, state)
        unclean = decisions.unclean and isr == [leader]
        if not unclean and not _is_proposed(decisions, before, state):
            from_outside = {leader} if elects_from_outside(before, state) else set()
            if from_outside - eligible:
                yield "leader-from-isr", f"broker {leader} became leader, but the ISR was {before.isr}"
            joining = sorted(set(isr) - set(before.isr) - from_outside)
            if joining:
                yield "isr-grows-by-proposal", f"{_brokers(joining)} joined the ISR {before.isr} without a proposal"
        for broker in isr:
            if broker not in before.isr and _joins_stale(decisions, state, broker):
                yield "join-incarnation", f"broker {broker} joined the ISR {isr} under a broker epoch of before"
    if not decisions.is_zookeeper:
        yield from _broken_lives(decisions, before, state)


def _broken_epochs(before: Decided, state: Decided) -> Iterator[tuple[str, str]]:
    if state.partition_epoch <= before.partition_epoch:
        yield (
            "epochs-advance",
            f"partition epoch {state.partition_epoch} followed partition epoch {before.partition_epoch}",
        )
    if not needs_leader_epoch(before, state):
        return
    if state.leader_epoch < before.leader_epoch:
        yield "epochs-advance", f"leader epoch {state.leader_epoch} followed leader epoch {before.leader_epoch}"
    elif state.leader != before.leader:
        yield (
            "epochs-advance",
            f"the leader became {state.leader} instead of {before.leader} in leader epoch {state.leader_epoch}, the"
            " epoch of before",
        )
    else:
        yield (
            "epochs-advance",
            f"the replicas became {state.replicas} instead of {before.replicas} in leader epoch {state.leader_epoch},"
            " the epoch of before",
        )


def _joins_stale(decisions: Decisions, state: Decided, broker: int) -> bool:
    """Whether the controller accepted a broker under another epoch than it had then (KRaft mode)."""
    request = decisions.accepted.get(state.metadata_offset)
    if request is None:
        return False
    in_force = decisions.registered(request, broker)
    if in_force is None:
        in_force = by_broker(request, "registered_epochs").get(broker)
    if in_force is None:
        return False
    base = request["broker"], request["leader_epoch"], request["partition_epoch"]
    proposals = [one for one in decisions.proposed.get(base, []) if {*one["isr"]} == {*request["isr"]}]
    known = by_broker(proposals[-1], "isr_epochs").get(broker, UNKNOWN) if proposals else UNKNOWN
    # Whether it has registered since the proposal is not known: decisions are in the order of the metadata alone.
    claimed = claimed_epoch(by_broker(request, "isr_epochs").get(broker, UNKNOWN), known)
    return joins_stale(claimed, in_force, registered_since=False)


def by_broker(event: Event, name: str) -> dict[int, int]:
    """A list of numbers that belong to the ISR of an event."""
    return dict(zip(event["isr"], event[name] or (), strict=False))


def _is_proposed(decisions: Decisions, before: Decided, state: Decided) -> bool:
    base = (before.leader, before.leader_epoch, before.partition_epoch)
    if decisions.is_zookeeper:
        return any({*one["isr"]} == {*state.isr} for one in decisions.proposed.get(base, []))
    request = decisions.accepted.get(state.metadata_offset)
    if request is None and decisions.of_others:  # a controller that was killed may not have said what it accepted
        return any({*state.isr} <= {*one["isr"]} for one in decisions.proposed.get(base, []))
    return (
        request is not None
        and set(state.isr) <= set(request["isr"])
        and base == (request["broker"], request["leader_epoch"], request["partition_epoch"])
    )


def _broken_lives(decisions: Decisions, before: Decided | None, state: Decided) -> Iterator[tuple[str, str]]:
    """What depends on which brokers are alive, at the place of ``state`` in the metadata."""
    if before is None:
        return
    offset, leader, isr = state.metadata_offset, state.leader, state.isr
    lives = {broker: decisions.life_of(broker, offset) for broker in {leader, *isr} if broker != NO_LEADER}
    if leader not in (NO_LEADER, before.leader) and lives[leader] not in ("unfenced", "unknown"):
        yield "leader-alive", f"broker {leader} became leader, which was {_said(lives[leader])}"
    elif leader != NO_LEADER and lives[leader] in ("fenced", "registered", "unregistered"):
        yield "fenced-leaves-isr", f"broker {leader} went on as leader, which was {_said(lives[leader])}"
    stay = sorted(b for b in isr if b != leader and lives[b] in ("fenced", "registered", "unregistered"))
    if len(isr) > 1 and stay:
        yield "fenced-leaves-isr", f"{_brokers(stay)} stayed in the ISR {isr}, which was {_said(lives[stay[0]])}"


def _said(life: str) -> str:
    return {"registered": "registered and still fenced", "controlled-shutdown": "shutting down"}.get(life, life)


def _brokers(brokers: list[int]) -> str:
    return f"broker {brokers[0]}" if len(brokers) == 1 else f"brokers {brokers}"


def _refusal(decisions: Decisions, before: Decided | None, state: Decided, rule: str, what: str) -> Refusal:
    known = before or state
    brokers = sorted({*state.replicas, *state.isr})
    lives = {str(b): decisions.life_of(b, state.metadata_offset) for b in brokers}
    names = ("leader", "leader_epoch", "partition_epoch", "isr", "replicas")
    state_of = {name: getattr(known, name) for name in names}
    permitted = ["a leader of the ISR in a higher leader epoch, or none", "an ISR without some of its members"]
    if before is not None and before.leader != NO_LEADER:
        permitted.append(
            f"an ISR that broker {before.leader} proposes in leader epoch {before.leader_epoch}, based on"
            f" partition epoch {before.partition_epoch}"
        )
    because = () if before is None else (before.row,)
    request = decisions.accepted.get(state.metadata_offset)
    if request is not None:
        because = (*because, request["row"])
    return Refusal(rule, what, state.row, {**state_of, "brokers": lives}, tuple(permitted), because)
