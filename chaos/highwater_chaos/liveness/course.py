"""How brokers' sessions, the quorum, partitions and commits went over a run: a fold over node events, for
:mod:`highwater_chaos.liveness.promptness`."""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar

from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_name, broker_names, quorum_names
from highwater_chaos.liveness.health import Interval
from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import (
    BecameLeader,
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    ControllerChanged,
    HighWatermarkAdvanced,
    LogAppended,
    NodeStarted,
    NodeStopped,
    PartitionChanged,
    RaftStateChanged,
)

T = TypeVar("T")
States = Sequence[tuple[int, T]]
"""What was so from which time (ns of run time) on, until the next one."""

_ABOUT: Final = frozenset(
    {
        BrokerRegistered,
        BrokerRegistrationChanged,
        BrokerStateChanged,
        ControllerChanged,
        NodeStarted,
        NodeStopped,
        PartitionChanged,
        RaftStateChanged,
    }
)
_KEPT_NS: Final = 50 * MS
"""Commits that took less are not kept."""


class Part(NamedTuple):
    """Committed state of one partition."""

    topic_id: str
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]

    def moved_from(self, before: Part | None) -> bool:
        """Whether it has another leader, leader epoch or replicas than before."""
        return before is None or self[:4] != before[:4]


class Commit(NamedTuple):
    """A batch that its leader appended at ``begin_ns``. At ``end_ns`` it was committed, or another leader took over."""

    partition: str
    begin_ns: int
    end_ns: int


class Course:
    """Takes in node events, in order."""

    def __init__(self, cluster: Cluster) -> None:
        self._view = ClusterView(cluster.mode)
        self._leading: dict[str, int] = {}
        self._down: dict[str, list[Interval]] = {}
        self._down_since: dict[str, int] = {}
        self._uncommitted: dict[str, deque[tuple[int, int]]] = {}
        """End offset and time of each batch that the present leader has appended and not committed."""
        self._commits: list[Commit] = []
        self._led: dict[tuple[str, str], str] = {}
        """The topic id under which each node last began to lead each partition."""
        self._sessions: dict[int, list[tuple[int, bool]]] = {broker: [] for broker in range(cluster.brokers)}
        self._live: dict[int, list[tuple[int, bool]]] = {broker: [] for broker in range(cluster.brokers)}
        self._controllers: list[tuple[int, str | None]] = []
        self._quorum_leaders: list[tuple[int, str | None]] = []
        self._parts: dict[str, list[tuple[int, Part | None]]] = {}
        observers = broker_names(cluster) if cluster.mode == "kraft" else ()
        self._following: dict[str, list[tuple[int, bool]]] = {name: [] for name in (*quorum_names(cluster), *observers)}
        self._epochs: dict[str, int] = {}
        """The epoch in which each voter or observer leads or follows a leader."""
        self._differs: dict[str, tuple[int, int, str]] = {}
        self._differences: dict[str, list[tuple[int, int, str]]] = {}

    @property
    def sessions(self) -> Mapping[int, States[bool]]:
        """Whether each broker was registered and unfenced, in its present incarnation."""
        return self._sessions

    @property
    def live(self) -> Mapping[int, States[bool]]:
        """Whether each broker was committed to be live, whichever of its processes that was about."""
        return self._live

    @property
    def controllers(self) -> States[str | None]:
        """Return the active controller as the view has it."""
        return self._controllers

    @property
    def quorum_leaders(self) -> States[str | None]:
        """The leader of the quorum or of the ensemble, in the highest epoch."""
        return self._quorum_leaders

    @property
    def following(self) -> Mapping[str, States[bool]]:
        """Whether each voter followed the leader of the quorum, or led it; in KRaft mode brokers too, who observe."""
        return self._following

    def differences(self, node: str) -> list[tuple[int, int, str]]:
        """What a node knew that was not committed: when that was first and last seen, and what, as a clause."""
        return [*self._differences.get(node, ()), *([self._differs[node]] if node in self._differs else [])]

    @property
    def parts(self) -> Mapping[str, States[Part | None]]:
        """Each partition; None: it is not there."""
        return self._parts

    def down(self, until_ns: int) -> dict[str, list[Interval]]:
        """When each node's process was not there."""
        found = {name: list(intervals) for name, intervals in self._down.items()}
        for name, since_ns in self._down_since.items():
            found.setdefault(name, []).append(Interval(since_ns, until_ns))
        return found

    def commits(self, until_ns: int) -> list[Commit]:
        left = [Commit(name, at_ns, until_ns) for name, batches in self._uncommitted.items() for _, at_ns in batches]
        return [*self._commits, *left]

    # --- folding ---

    def look(self, now_ns: int, nodes: Mapping[str, str]) -> None:
        """Take in what each node knows now that is not committed, as a clause; empty if all of it is."""
        for node, clause in nodes.items():
            before = self._differs.pop(node, None)
            if before is not None and before[2] == clause:
                self._differs[node] = before[0], now_ns, clause
                continue
            if before is not None and before[1] > before[0]:
                self._differences.setdefault(node, []).append(before)
            if clause:
                self._differs[node] = now_ns, now_ns, clause

    def observe(self, events: Iterable[TimedEvent]) -> None:
        for timed in events:
            match timed.event:
                case LogAppended() as event:
                    self._appended(event, timed)
                case HighWatermarkAdvanced() as event:
                    self._committed(event, timed)
                case BecameLeader() as event:
                    self._led[timed.node, event.partition] = event.topic_id
                case event if type(event) in _ABOUT:
                    self._changed(timed)
                case _:
                    pass

    def _leads(self, timed: TimedEvent, partition: str, leader_epoch: int) -> bool:
        """Whether it is the leader that speaks. One that has not heard that it is deposed, or that its topic was
        deleted and created anew, may go on for a while."""
        part = self._view.partitions.get(partition)
        return (
            part is not None
            and part.leader_epoch == leader_epoch
            and broker_name(part.leader) == timed.node
            and self._led.get((timed.node, partition), part.topic_id) == part.topic_id
        )

    def _appended(self, event: LogAppended, timed: TimedEvent) -> None:
        if event.reason == "leader" and self._leads(timed, event.partition, event.leader_epoch):
            self._uncommitted.setdefault(event.partition, deque()).append((event.end_offset, timed.time_ns))

    def _committed(self, event: HighWatermarkAdvanced, timed: TimedEvent) -> None:
        if self._leads(timed, event.partition, event.leader_epoch):
            self._end(event.partition, timed.time_ns, event.offset)

    def _end(self, partition: str, now_ns: int, below: int | None = None) -> None:
        """Batches below an offset are committed; all of them (None): nobody is going to commit them in this epoch."""
        batches = self._uncommitted.get(partition, deque())
        while batches and (below is None or batches[0][0] <= below):
            _, at_ns = batches.popleft()
            if now_ns - at_ns > _KEPT_NS:
                self._commits.append(Commit(partition, at_ns, now_ns))

    def _changed(self, timed: TimedEvent) -> None:
        view, now_ns = self._view, timed.time_ns
        view.observe((timed,))
        match timed.event:
            case NodeStarted():
                # A process that is replaced within an instant has been away all the same.
                since_ns = self._down_since.pop(timed.node, 0)
                self._down.setdefault(timed.node, []).append(Interval(since_ns, now_ns))
                self._leading.pop(timed.node, None)
                self._epochs.pop(timed.node, None)
            case NodeStopped():
                self._down_since[timed.node] = now_ns
                self._leading.pop(timed.node, None)
                self._epochs.pop(timed.node, None)
            case RaftStateChanged(epoch=epoch, reason=reason):
                self._leading.pop(timed.node, None)
                self._epochs.pop(timed.node, None)
                if reason == "leader":
                    self._leading[timed.node] = epoch
                if reason in ("leader", "follower", "observer"):
                    self._epochs[timed.node] = epoch
            case PartitionChanged(partition=name):
                self._partition_changed(name, now_ns)
            case _:
                pass
        _note(self._controllers, now_ns, view.active_controller())
        leader = max(((epoch, name) for name, epoch in self._leading.items()), default=(-1, None))[1]
        _note(self._quorum_leaders, now_ns, leader)
        for voter, voters in self._following.items():
            _note(voters, now_ns, leader is not None and self._epochs.get(voter) == self._leading[leader])
        for broker, states in self._sessions.items():
            _note(states, now_ns, view.is_unfenced(broker))
            _note(self._live[broker], now_ns, broker in view.brokers and view.brokers[broker].is_live)

    def _partition_changed(self, name: str, now_ns: int) -> None:
        found, part = self._view.partitions.get(name), None
        if found is not None:
            replicas, isr = tuple(found.replicas), tuple(found.isr)
            part = Part(found.topic_id, found.leader, found.leader_epoch, replicas, isr)
        states = self._parts.setdefault(name, [])
        if part is None or part.moved_from(states[-1][1] if states else None):
            self._end(name, now_ns)
        _note(states, now_ns, part)


def _note(states: list[tuple[int, T]], at_ns: int, state: T) -> None:
    if not states or states[-1][1] != state:
        states.append((at_ns, state))


def state_at(states: States[T], at_ns: int) -> T | None:
    """What was so at a time; None before the first."""
    number = bisect_right(states, at_ns, key=lambda state: state[0])
    return states[number - 1][1] if number else None


def each_state(states: States[T], until_ns: int) -> Iterator[tuple[Interval, T]]:
    """Yield each state with the time for which it was so."""
    for number, (at_ns, state) in enumerate(states):
        yield Interval(at_ns, states[number + 1][0] if number + 1 < len(states) else until_ns), state
