"""Put the events of a partition in order by what caused what, if the clocks of its nodes may be off.

Example: ``clock_errors_ns`` of a run on Kubernetes says that broker 1's clock may be off by 2 ms. Its append of record
7 was recorded 1 ms after broker 0's high watermark had moved over record 7. Broker 0 can only have moved it because
broker 1 had fetched behind record 7, so the append is put before the move. Had it been recorded 10 ms later, nothing
would be changed, and the checks find that an ISR member lacks a committed record.

The trap: two of these causes are rules that checks judge. So they may hide a violation, but only one that lies within
the clocks' error. That much is unknown, and what is unknown is no finding. If the clocks are exact (the simulator,
processes of one machine), nothing is put in order, and nothing is hidden.

Each line is a cause, and then its effect:

* the committed state of a partition; a broker that takes its leader epoch or its partition epoch, or gets a log
* a leader's append; the append of the same offsets by a follower in that leader epoch
* what a follower has; the move of the high watermark over it by a leader that counts it as an ISR member
* what a follower has; the leader's proposal that it joins the ISR
* a proposal; the controller's verdict of it, and the state that it became
* a controller's verdict; the state of that metadata offset
* the start of a broker; its registration; the broker's knowledge of it
* a state that does not assign a replica; the removal of its log

Each check that compares what several nodes did at one time works on events in this order. By what other checks order,
``docs/clocks.md`` says.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np

from highwater_pipeline.arrow.arrays import Ints
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.causal_order import causal_order
from highwater_pipeline.checks.columns import broker_of, codes, ints, is_any
from highwater_pipeline.checks.generations import topic_of_events
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.settings import Settings

Event = dict[str, Any]

_SETS_LOG_END: Final = ("became-leader", "became-follower", "log-appended", "log-truncated")
_READ: Final = (
    *("kind", "node", "incarnation", "reason", "broker", "broker_epoch", "leader", "leader_epoch", "partition_epoch"),
    *("isr", "isr_epochs", "replicas", "end_offset", "metadata_offset"),
)
_FEW: Final = (
    *("partition-changed", "alter-partition-handled", "isr-proposed", "isr-proposal-ended", "isr-taken"),
    *("became-leader", "became-follower", "log-loaded", "log-removed"),
    *("node-started", "broker-registered", "broker-state"),
)
"""The kinds of events of which there are a few for each change, however many records there are."""


def in_causal_order(unit: PartitionTables) -> PartitionTables:
    """The unit with its events in an order that the errors of the clocks and the causes permit; itself, if that is the
    order of the recording. Its topics must have different ids."""
    settings, events = unit.facts.settings, unit.events
    if not settings.has_clock_errors or not events.num_rows:
        return unit
    order = _order(events, settings)
    return unit if order is None else replace(unit, events=events.reordered(order))


def _order(events: View, settings: Settings) -> Ints | None:
    node, names = codes(events, "node")
    error = np.array([settings.clock_error_ns(name) for name in names], np.int64)[node]
    if not error.any():
        return None
    time = ints(events, "time_ns")
    causes = _Causes(events, time - error)
    for find in (_of_decisions, _of_registrations, _of_removals, _of_appends, _of_high_watermarks):
        find(causes)
    pairs = causes.pairs
    if not pairs:
        return None
    return causal_order(node, time, error, *(np.concatenate(column) for column in zip(*pairs, strict=True)))


class _Causes:
    """Pairs of positions, as they are found, and what they are found by. ``earliest``: of each event, when it happened
    at the earliest."""

    def __init__(self, events: View, earliest: Ints) -> None:
        self.events: Final = events
        self.earliest: Final = earliest
        topics = codes(events, "topic_id")[1]
        self.topic: Final = topic_of_events(events, topics)
        self.pairs: Final[list[tuple[Ints, Ints]]] = []
        is_one = is_any(events, "kind", *_FEW)
        at = np.flatnonzero(is_one)
        rows = events.where(is_one).to_pylist(*_READ)
        self.few: Final[list[Event]] = [
            {**row, "at": position, "topic": topic}
            for row, position, topic in zip(rows, at.tolist(), self.topic[at].tolist(), strict=True)
        ]
        """Events of the kinds of which there are few, each with its position and the number of its topic."""

    def add(self, cause: int, effect: int) -> None:
        """One event caused another one."""
        self.pairs.append((np.array([cause]), np.array([effect])))

    def add_any(self, causes: Sequence[int], effect: int) -> None:
        """At least one of some events happened before ``effect``."""
        if not causes:
            return
        first = min(causes)
        if first > effect:
            first = min(causes, key=lambda at: (self.earliest[at], at))
        self.add(first, effect)

    def of_kind(self, *kinds: str) -> Iterator[Event]:
        """Events of kinds of which there are few, in order."""
        return (event for event in self.few if event["kind"] in kinds)


def _by(events: Iterable[Event], *names: str) -> Mapping[tuple[Any, ...], list[int]]:
    """The positions of some events by the values of these fields."""
    found: dict[tuple[Any, ...], list[int]] = defaultdict(list)
    for event in events:
        found[tuple(event[name] for name in names)].append(event["at"])
    return found


def _of_decisions(causes: _Causes) -> None:
    """What was proposed, what became of it, and who learnt of that."""
    states = [event for event in causes.of_kind("partition-changed") if event["reason"] != "deleted"]
    reports = _by(causes.of_kind("partition-changed"), "metadata_offset")
    by_leader_epoch, by_partition_epoch = _by(states, "topic", "leader_epoch"), _by(states, "topic", "partition_epoch")
    by_topic = _by(states, "topic")
    proposals = _by(causes.of_kind("isr-proposed"), "topic", "node", "leader_epoch", "partition_epoch")
    for event in causes.few:
        topic = event["topic"]
        match event["kind"]:
            case "became-follower":
                causes.add_any(by_leader_epoch.get((topic, event["leader_epoch"]), ()), event["at"])
            case "became-leader" | "isr-taken" | "isr-proposal-ended":
                causes.add_any(by_partition_epoch.get((topic, event["partition_epoch"]), ()), event["at"])
            case "log-loaded" if event["reason"] == "created":
                causes.add_any(by_topic.get((topic,), ()), event["at"])
            case "alter-partition-handled":
                leader = f"broker-{event['broker']}"
                causes.add_any(
                    proposals.get((topic, leader, event["leader_epoch"], event["partition_epoch"]), ()), event["at"]
                )
                for report in reports.get((event["metadata_offset"],), ()) if event["metadata_offset"] >= 0 else ():
                    causes.add(event["at"], report)
    for state in states:  # in ZooKeeper mode the leader itself makes its proposal the state
        leader = f"broker-{state['leader']}"
        base = (state["topic"], leader, state["leader_epoch"], (state["partition_epoch"] or 0) - 1)
        causes.add_any(proposals.get(base, ()), state["at"])


def _of_registrations(causes: _Causes) -> None:
    """A broker starts, is registered, and learns of that."""
    reports = _by(causes.of_kind("broker-registered"), "broker", "broker_epoch")
    starts = _by(causes.of_kind("node-started"), "node", "incarnation")
    for event in causes.of_kind("broker-state"):
        if event["reason"] != "registered":
            continue
        mine = reports.get((event["broker"], event["broker_epoch"]), ())
        causes.add_any(mine, event["at"])
        for start in starts.get((event["node"], event["incarnation"]), ())[:1]:
            for report in mine:
                causes.add(start, report)


def _of_removals(causes: _Causes) -> None:
    """A broker takes a log away when it is not assigned to it any more, or its topic is deleted."""
    states = [*causes.of_kind("partition-changed")]
    loaded: dict[str, int] = {}
    for event in causes.of_kind("log-loaded", "log-removed"):
        if event["kind"] == "log-loaded":
            loaded[event["node"]] = event["at"]
            continue
        since, broker = loaded.get(event["node"], -1), broker_of(event["node"])
        causes.add_any(
            [
                state["at"]
                for state in states
                if state["at"] > since
                and state["topic"] == event["topic"]
                and (state["reason"] == "deleted" or broker not in state["replicas"])
            ],
            event["at"],
        )


# --- logs ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Reached:
    """How far a replica's log went in one leader epoch and one incarnation of its node. From position ``at[i]`` on it
    never ended below ``end[i]``; both ascend."""

    incarnation: int
    at: Ints
    end: Ints

    def first(self, offsets: Ints) -> Ints:
        """For each offset the position from which on the log went that far; −1: it never did."""
        which = np.searchsorted(self.end, offsets, "left")
        return np.append(self.at, -1)[which]


def _reached(causes: _Causes) -> dict[tuple[int, int], dict[str, list[_Reached]]]:
    """By topic and leader epoch, and then by node: how far its log went, one incarnation after the other."""
    events = causes.events
    at = np.flatnonzero(is_any(events, "kind", *_SETS_LOG_END))
    some = events.take(at)
    node, names = codes(some, "node")
    ends = np.where(is_any(some, "kind", "log-truncated"), ints(some, "offset"), ints(some, "end_offset"))
    keys = [node, causes.topic[at], ints(some, "leader_epoch"), ints(some, "incarnation")]
    order = np.lexsort(keys[::-1])  # stable: within an incarnation, in its order
    begins = np.ones(len(order), np.bool_)
    begins[1:] = np.logical_or.reduce([key[order][1:] != key[order][:-1] for key in keys])
    found: dict[tuple[int, int], dict[str, list[_Reached]]] = defaultdict(lambda: defaultdict(list))
    for rows in np.split(order, np.flatnonzero(begins)[1:]) if len(order) else ():
        lasting = np.minimum.accumulate(ends[rows][::-1])[::-1]
        of_node, topic, epoch, incarnation = (int(key[rows[0]]) for key in keys)
        found[topic, epoch][names[of_node]].append(_Reached(incarnation, at[rows], lasting))
    return found


def _add_reached(causes: _Causes, reached: Sequence[_Reached], offsets: Ints, effects: Ints) -> None:
    """A log went as far as ``offsets`` before each of ``effects``, in one incarnation of its node: in the last one in
    which it did so before, by the recording, or else in the one in which it may have done so first."""
    if not len(effects):
        return
    found = np.full(len(effects), -1)
    for one in reached:
        at = one.first(offsets)
        known, had = at >= 0, found >= 0
        earlier = known & (at < effects)
        sooner = known & ~earlier & (~had | ((found > effects) & (causes.earliest[at] < causes.earliest[found])))
        found = np.where(earlier | sooner, at, found)
    causes.pairs.append((found[found >= 0], effects[found >= 0]))


@dataclass(slots=True)
class _Leader:
    """What one leader knows of its ISR: ``members`` from position ``since`` on, those that it proposes included.
    ``start``: the log end offset with which it began to lead."""

    start: int = 0
    since: list[int] = field(default_factory=list)
    members: list[frozenset[int]] = field(default_factory=list)


def _of_appends(causes: _Causes) -> None:
    """What a follower appends its leader had."""
    events = causes.events
    at = np.flatnonzero(is_any(events, "kind", "log-appended") & is_any(events, "reason", "follower"))
    some = events.take(at)
    topic, epoch, end = causes.topic[at], ints(some, "leader_epoch"), ints(some, "end_offset")
    leaders: dict[tuple[int, int], str] = {}
    for event in causes.of_kind("became-leader"):
        leaders[event["topic"], event["leader_epoch"]] = event["node"]
    for (of_topic, of_epoch), nodes in _reached(causes).items():
        leader = leaders.get((of_topic, of_epoch))
        if leader in nodes:
            mine = (topic == of_topic) & (epoch == of_epoch)
            _add_reached(causes, nodes[leader], end[mine], at[mine])


def _of_high_watermarks(causes: _Causes) -> None:
    """What passes the high watermark each member of the ISR had; who joins the ISR had caught up."""
    events, reached = causes.events, _reached(causes)
    moves = np.flatnonzero(is_any(events, "kind", "high-watermark"))
    moved = events.take(moves)
    node, names = codes(moved, "node")
    epoch, offset, topic = ints(moved, "leader_epoch"), ints(moved, "offset"), causes.topic[moves]
    incarnations = {
        (event["broker"], event["broker_epoch"]): event["incarnation"]
        for event in causes.of_kind("broker-state")
        if event["reason"] == "registered"
    }
    leaders: dict[tuple[str, int, int], _Leader] = defaultdict(_Leader)
    for event in causes.of_kind("became-leader", "isr-taken", "isr-proposal-ended", "isr-proposed"):
        leader = leaders[event["node"], event["topic"], event["leader_epoch"]]
        before = leader.members[-1] if leader.members else frozenset()
        isr = frozenset(event["isr"])
        if event["kind"] == "became-leader":
            leader.start = event["end_offset"]
        if event["kind"] == "isr-proposed":
            mine = (node == (names.index(event["node"]) if event["node"] in names else -1)) & (moves < event["at"])
            mine &= (topic == event["topic"]) & (epoch == event["leader_epoch"])
            least = np.array([offset[mine].max(initial=leader.start)])
            for broker, broker_epoch in zip(event["isr"], event["isr_epochs"], strict=True):
                if broker not in before:
                    went = reached[event["topic"], event["leader_epoch"]].get(f"broker-{broker}", ())
                    known = incarnations.get((broker, broker_epoch))
                    went = [one for one in went if known in (None, one.incarnation)]
                    _add_reached(causes, went, least, np.array([event["at"]]))
            isr |= before
        leader.since.append(event["at"])
        leader.members.append(isr)
    for (name, of_topic, of_epoch), leader in leaders.items():
        if name not in names:
            continue
        mine = np.flatnonzero((node == names.index(name)) & (topic == of_topic) & (epoch == of_epoch))
        which = np.searchsorted(leader.since, moves[mine], "right") - 1
        for number, members in enumerate(leader.members):
            under = mine[which == number]
            for broker in sorted(members - {broker_of(name)}):
                went = reached[of_topic, of_epoch].get(f"broker-{broker}", ())
                _add_reached(causes, went, offset[under], moves[under])
