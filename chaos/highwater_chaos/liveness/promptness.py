"""What healthy nodes owe while the schedule goes on, and how soon: a bug that only delays is seen by nothing else.

Worked example: broker 2 is dead for a minute. Brokers 0 and 1 and all controllers live, and nobody has touched them.
But the controller fences broker 1 now and then, and lets it return with its next heartbeat. Nothing is lost, and once
all faults are healed everything is in order. So this is judged in each *window* in which nothing was done to what a
promise depends on (:mod:`.health`), from when the effects of all disturbances before it must be over:

* *elections*: if a majority of the quorum is well, a member that is well leads it, and there is an active controller;
* *sessions*: a broker that is well is registered and unfenced, if a majority of the quorum is well;
* *writes*: if each replica of a partition is well or silent, and as many members of the ISR as ``min.insync.replicas``
  are well, it has a leader that is well, which commits what it appends; and if that holds for all partitions that
  clients write to, each write is acknowledged. Nobody waits for a time-out then: both take milliseconds.

*The traps:* a voter in trouble disturbs nobody as long as a leader and a majority are well, thanks to pre-votes;
without a leader it may be elected. A new controller gives each broker a new session, so it notices late that one is
gone. A broker that returns is refused as long as its former session lasts. Followers of a new leader are refused until
it knows that it leads, and back off. Clients learn late of a new leader, and wait for a broker that says nothing.

Only virtual time tells that a node had time for what it owed: on a loaded machine a wait says nothing. So elsewhere
than in the simulator these are not judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

from highwater_chaos.experiment import ExperimentSpec
from highwater_chaos.experiment.nodes import broker_name, broker_names, quorum_names
from highwater_chaos.experiment.properties import properties_of_nodes, properties_of_topics
from highwater_chaos.faults import FaultRecord
from highwater_chaos.liveness.course import Commit, Course, Part, each_state, state_at
from highwater_chaos.liveness.health import CLIENTS, Condition, Disturbance, Health, Interval, Sight, windows
from highwater_chaos.workload.history import Operation
from highwater_runtime.config import NodeConfig
from highwater_runtime.metadata.topic_config import MIN_INSYNC_REPLICAS
from highwater_runtime.ports import MS, SECOND

ELECTIONS: Final = "elections in time"
SESSIONS: Final = "sessions in time"
WRITES: Final = "writes in time"
IN_TIME: Final = (ELECTIONS, SESSIONS, WRITES)

SLACK_NS: Final = SECOND // 2
"""On top of each bound: messages under way, TCP's retransmission, flushes, short back-offs."""
AT_ONCE_NS: Final = SECOND // 4
"""How long what needs no time-out may take."""
_IN_FLIGHT: Final = 5
"""With so many sends open or more, a client may let further ones wait."""
_PROPERTIES: Final = frozenset(
    {
        "broker.heartbeat.interval.ms",
        "broker.session.timeout.ms",
        "controller.quorum.election.backoff.max.ms",
        "controller.quorum.election.timeout.ms",
        "controller.quorum.fetch.timeout.ms",
        "controller.quorum.request.timeout.ms",
        "controller.socket.timeout.ms",
        "replica.fetch.backoff.ms",
        "replica.fetch.wait.max.ms",
        "replica.socket.timeout.ms",
        "zookeeper.session.timeout.ms",
    }
)


class Late(NamedTuple):
    """What was owed from ``begin_ns`` to ``end_ns`` and was not there, as a clause."""

    begin_ns: int
    end_ns: int
    what: str


class Owed(NamedTuple):
    """One feature. ``judged_ns``: for how long anything was owed, all windows together."""

    feature: str
    judged_ns: int
    late: Sequence[Late]


@dataclass(frozen=True, slots=True)
class Bounds:
    """How long the effects of a disturbance last at most, in ns, by the settings.

    ``round``: an election without success. ``election``: until the quorum has a leader again. ``session``: until a
    broker that is gone is fenced, and one that has come back is not. ``fetches``: until a follower, or the controller
    of ZooKeeper mode, asks again that waits for an answer in vain. ``follows``: until all followers fetch from a new
    leader. ``client``: until a client knows the leaders. ``called``: until a voter that does not fetch hears of the
    leader of the quorum. ``request``: until a request of the quorum that was lost counts as failed. ``proposes``: until
    a leader that waits in vain for an answer to its proposal makes another; 0 in ZooKeeper mode.
    """

    round: int
    election: int
    session: int
    fetches: int
    follows: int
    client: int
    called: int
    request: int
    proposes: int

    @classmethod
    def of(cls, spec: ExperimentSpec) -> Bounds:
        """From the settings of a run."""
        assert spec.cluster is not None
        first, *later = properties_of_nodes(spec) or [{}]
        every = [{**first, **own} for own in ({}, *later)]
        configs = [NodeConfig.of({name: value for name, value in one.items() if name in _PROPERTIES}) for one in every]

        def most(property_: Callable[[NodeConfig], int]) -> int:
            return max(map(property_, configs))

        round_ms = most(lambda one: 2 * one.quorum_election_timeout_ms + one.quorum_election_backoff_max_ms)
        heard_ms = most(lambda one: 2 * one.broker_heartbeat_interval_ms + one.quorum_request_timeout_ms)
        lost_ms = most(lambda one: one.replica_socket_timeout_ms + one.replica_fetch_backoff_ms)
        session_ms = most(lambda one: one.broker_session_timeout_ms)
        if spec.cluster.mode == "zookeeper":
            # A session with the ensemble is kept by its client until that has found a server that ends it. And the
            # controller tells a broker nothing while it waits for an answer of it.
            session_ms = most(lambda one: 2 * one.zookeeper_session_timeout_ms)
            lost_ms += most(lambda one: one.controller_socket_timeout_ms)
        request_ms = most(lambda one: one.quorum_request_timeout_ms)
        called_ms = most(lambda one: one.quorum_request_timeout_ms + one.quorum_fetch_timeout_ms // 2)
        refused_ms = most(lambda one: one.replica_fetch_wait_max_ms + 2 * one.replica_fetch_backoff_ms)
        return cls(
            round=round_ms * MS,
            election=(most(lambda one: one.quorum_fetch_timeout_ms) + round_ms) * MS + SLACK_NS,
            session=(session_ms + heard_ms) * MS + SLACK_NS,
            fetches=lost_ms * MS + SLACK_NS,
            follows=refused_ms * MS + SLACK_NS,
            called=called_ms * MS + 2 * SLACK_NS,
            request=request_ms * MS + SLACK_NS,
            proposes=most(lambda one: one.controller_socket_timeout_ms) * MS * (spec.cluster.mode == "kraft"),
            client=3 * spec.workload.request_timeout + SECOND + SLACK_NS,
        )


class Promptness:
    """Judges one run. ``settled_ns``: when the cluster was seen to be whole, before any fault: what came before has no
    effect any more. ``throttled``: topics whose replicas were throttled. ``operations``: the history of clients."""

    def __init__(
        self,
        spec: ExperimentSpec,
        course: Course,
        faults: Sequence[FaultRecord],
        now_ns: int,
        *,
        settled_ns: int,
        throttled: Iterable[str] = (),
        operations: Iterable[Operation] = (),
    ) -> None:
        assert spec.cluster is not None
        self._spec = spec
        self._cluster = spec.cluster
        self._course = course
        self._now_ns = now_ns
        self._settled_ns = settled_ns
        self._throttled = {*throttled}
        self._acks = spec.workload.acks != "0"
        self._min_in_sync = most_in_sync(spec)
        self._operations = operations
        self._kraft = spec.cluster.mode == "kraft"
        self._bounds = Bounds.of(spec)
        self._quorum = quorum_names(spec.cluster)
        self._brokers = broker_names(spec.cluster)
        self._health = Health(spec.cluster, faults, course.down(now_ns), now_ns)
        self._voters = self._health.among(self._quorum)

    def owed(self) -> list[Owed]:
        """What was owed and did not come in time, by feature."""
        partitions = [name for name in self._course.parts if name.rpartition("-")[0] not in self._throttled]
        return [
            self._elections(),
            together(SESSIONS, map(self._session, self._course.sessions)),
            together(WRITES, [*map(self._partition, partitions), self._acknowledged()]),
        ]

    @cached_property
    def _commits(self) -> dict[str, list[Commit]]:
        """By partition."""
        found: dict[str, list[Commit]] = {}
        for one in self._course.commits(self._now_ns):
            found.setdefault(one.partition, []).append(one)
        return found

    # --- the quorum ---

    @cached_property
    def _elected(self) -> list[tuple[int, int]]:
        """When the leader of the quorum changed, and for how long that has an effect."""
        # A voter in trouble may still stand for the votes that it was promised before.
        return [
            (
                at_ns,
                self._bounds.round * any(self._voters.condition(n, at_ns) is Condition.TROUBLED for n in self._quorum),
            )
            for at_ns, _ in self._course.quorum_leaders
        ]

    def _leads_well(self, sight: Sight, leader: str | None, at_ns: int) -> bool:
        """Whether a leader is well, and so is a majority with it: no other voter matters then, thanks to pre-votes."""
        return (
            self._kraft
            and self._cluster.switches.get("pre-vote", "on") == "on"
            and leader is not None
            and sight.condition(leader, at_ns) is Condition.WELL
            and self._has_majority(sight, at_ns)
        )

    def _has_majority(self, sight: Sight, at_ns: int) -> bool:
        return 2 * sum(sight.condition(name, at_ns) is Condition.WELL for name in self._quorum) > len(self._quorum)

    def _quorum_is_able(self, sight: Sight, at_ns: int) -> bool:
        if not self._has_majority(sight, at_ns):
            return False
        troubled = any(sight.condition(name, at_ns) is Condition.TROUBLED for name in self._quorum)
        return not troubled or self._leads_well(sight, state_at(self._course.quorum_leaders, at_ns), at_ns)

    def _without_leader_ns(self, sight: Sight, one: Disturbance) -> int:
        """How long the quorum may lack a leader because of a disturbance of it."""
        before_ns = one.at_ns - 1
        leader = state_at(self._course.quorum_leaders, before_ns)
        stays = all(self._leads_well(sight, leader, at_ns) for at_ns in (before_ns, one.at_ns))
        return 0 if stays else self._bounds.election

    def _windows(
        self,
        sight: Sight,
        lasts_ns: Callable[[Disturbance], int],
        may: Callable[[int], bool],
        more: Iterable[tuple[int, int]] = (),
        resumes_ns: int = 0,
    ) -> list[Interval]:
        """When something is owed for which the quorum is needed. ``more``: other changes, and for how long they have an
        effect."""
        disturbed = [(one.at_ns, lasts_ns(one)) for one in sight.disturbances if one.at_ns > self._settled_ns]
        return windows(
            [*disturbed, *more, *self._elected],
            lambda at_ns: self._quorum_is_able(sight, at_ns) and may(at_ns),
            Interval(self._settled_ns, self._now_ns),
            resumes_ns,
        )

    def _elections(self) -> Owed:
        sight = self._voters if self._kraft else self._health.among((*self._quorum, *self._brokers))

        def may(at_ns: int) -> bool:
            found = [sight.condition(name, at_ns) for name in self._brokers if not self._kraft]
            return self._kraft or (Condition.TROUBLED not in found and Condition.WELL in found)

        def lasts_ns(one: Disturbance) -> int:
            if one.node in self._quorum:
                return self._without_leader_ns(sight, one) + self._bounds.session * (not self._kraft)
            # Where there is none, it may be the one who can be the controller, and needs a session first.
            controller = state_at(self._course.controllers, one.at_ns - 1)
            return self._bounds.session if controller in (None, one.node) else 0

        missing = []
        for time, name in each_state(self._course.controllers, self._now_ns):
            if name is None:
                missing.append(Late(*time, "no controller was active"))
            else:
                missing += [Late(*ill, f"{name} was the controller and did not live") for ill in sight.ill(name, *time)]
        return owed_in(ELECTIONS, self._windows(sight, lasts_ns, may), missing)

    # --- brokers ---

    def _without_session_ns(self, sight: Sight, one: Disturbance) -> int:
        """How long a broker that lives may lack a session because of a disturbance of the quorum."""
        lasts_ns = self._without_leader_ns(sight, one)
        return lasts_ns + self._bounds.session if lasts_ns else 0

    def _session(self, broker: int) -> Owed:
        name = broker_name(broker)
        sight = self._health.among((*self._quorum, name))
        owed = self._windows(
            sight,
            lambda one: self._bounds.session if one.node == name else self._without_session_ns(sight, one),
            lambda at_ns: sight.condition(name, at_ns) is Condition.WELL,
        )
        states = each_state(self._course.sessions[broker], self._now_ns)
        return owed_in(SESSIONS, owed, [Late(*time, f"{name} had no session") for time, good in states if not good])

    # --- partitions ---

    def _is_able(self, sight: Sight, name: str, at_ns: int) -> bool:
        """Whether a partition has all that it needs to commit."""
        part = state_at(self._course.parts[name], at_ns)
        if part is None:
            return False
        found = {broker: sight.condition(broker_name(broker), at_ns) for broker in part.replicas}
        well = [broker for broker in part.isr if found.get(broker) is Condition.WELL]
        others = () if self._kraft else self._brokers  # one of them is the controller
        in_sync = self._min_in_sync.get(name.rpartition("-")[0], self._min_in_sync[""])
        return (
            len(well) >= max(1, min(in_sync, len(part.replicas)))
            and Condition.TROUBLED not in found.values()
            and all(sight.condition(other, at_ns) is not Condition.TROUBLED for other in others)
        )

    def _without_leader_or_isr_ns(self, sight: Sight, name: str, one: Disturbance) -> int:
        """How long a partition may lack a leader, or wait for members of its ISR, because of a disturbance."""
        bounds = self._bounds
        if one.node in self._quorum:
            return self._without_session_ns(sight, one)
        lasts_ns = bounds.session + (bounds.fetches + bounds.proposes) * one.quiet + bounds.session * (not self._kraft)
        # Also a replica outside the ISR is waited for while it is caught up and about to join.
        for time, part in each_state(self._course.parts[name], self._now_ns):
            overlaps = time.begin_ns <= one.at_ns + lasts_ns and time.end_ns >= one.at_ns
            if overlaps and part is not None and one.node in map(broker_name, (*part.replicas, part.leader)):
                return lasts_ns
        return 0 if self._kraft else bounds.session + bounds.fetches * one.quiet

    def _moves(self, name: str, more_ns: int = 0) -> list[tuple[int, int]]:
        """When the state of a partition changed, and for how long its followers and clients have to look for its leader
        then."""
        found, before = [], None
        for at_ns, part in self._course.parts[name]:
            moved = part is None or part.moved_from(before)
            found.append((at_ns, (self._bounds.follows + more_ns * (at_ns > self._settled_ns)) * moved))
            before = part
        return found

    def _partition(self, name: str) -> Owed:
        parts = self._course.parts[name]
        replicas = {broker_name(replica) for _, part in parts if part is not None for replica in part.replicas}
        sight = self._health.among((*self._quorum, *(sorted(replicas) if self._kraft else self._brokers)))

        def may(at_ns: int) -> bool:
            return self._is_able(sight, name, at_ns)

        def lasts_ns(one: Disturbance) -> int:
            return self._without_leader_or_isr_ns(sight, name, one)

        moves = self._moves(name)
        led = self._windows(sight, lasts_ns, may, [(at_ns, 0) for at_ns, _ in moves])
        states = each_state(parts, self._now_ns)
        leaderless = [late for time, part in states for late in _leaderless(sight, name, part, time)]
        slow = [
            Late(one.begin_ns + AT_ONCE_NS, one.end_ns, f"what was appended to {name} was not committed")
            for one in self._commits.get(name, ())
        ]
        committed = self._windows(sight, lasts_ns, may, moves, self._bounds.follows)
        return together(WRITES, [owed_in(WRITES, led, leaderless), owed_in(WRITES, committed, slow)])

    # --- clients ---

    def _acknowledged(self) -> Owed:
        sends = sends_at_once(self._operations, self._now_ns) if self._acks else []
        topics = {send.value[0].key.rpartition("-")[0] for send, _ in sends}
        names = [name for name in self._course.parts if name.rpartition("-")[0] in topics]
        if not names or topics & self._throttled:
            return Owed(WRITES, 0, ())
        bounds, sight = self._bounds, self._health.among((*self._quorum, *self._brokers, CLIENTS))

        def may(at_ns: int) -> bool:
            brokers = {sight.condition(broker, at_ns) for broker in self._brokers}
            there = [name for name in names if state_at(self._course.parts[name], at_ns) is not None]
            return (
                sight.condition(CLIENTS, at_ns) is Condition.WELL
                and not brokers & {Condition.TROUBLED, Condition.ISOLATED}  # clients would believe those
                and all(self._is_able(sight, name, at_ns) for name in there)
            )

        def lasts_ns(one: Disturbance) -> int:
            if one.node == CLIENTS:
                return bounds.client
            lasts_ns = max(self._without_leader_or_isr_ns(sight, name, one) for name in names)
            return 0 if one.node in self._quorum and not lasts_ns else lasts_ns + bounds.follows + bounds.client

        first: dict[str, int] = {}
        for send, _ in sends:
            first[send.client] = min(send.time, first.get(send.client, send.time))
        changes = [change for name in names for change in self._moves(name, bounds.client)]
        # A broker may still ask for producer ids in vain, since a message was lost.
        before = min((one.at_ns for one in sight.disturbances if one.at_ns > self._settled_ns), default=self._now_ns)
        changes += [(at_ns, 2 * SLACK_NS if at_ns < before else bounds.client) for at_ns in first.values()]
        owed = self._windows(sight, lasts_ns, may, changes, bounds.follows + bounds.client)
        return owed_in(WRITES, owed, [late for send, end_ns in sends for late in self._slow(send, end_ns)])

    def _slow(self, send: Operation, end_ns: int) -> Iterator[Late]:
        """The time after a send should have been acknowledged, as far as its partition was there."""
        name, begin_ns = send.value[0].key, send.time + AT_ONCE_NS
        for time, part in each_state(self._course.parts.get(name, ()), self._now_ns):
            if part is not None:
                begin, end = max(time.begin_ns, begin_ns), min(time.end_ns, end_ns)
                yield Late(begin, end, f"a write of {send.client} to {name} was not acknowledged")


def sentence_of(owed: Owed) -> str:
    """What was late first, longest, and how often."""
    late = min(owed.late, key=lambda one: (one.begin_ns - one.begin_ns % SECOND, one.begin_ns - one.end_ns))
    more = f" ({len(owed.late)} such times in all)" if len(owed.late) > 1 else ""
    return (
        f"{late.what}, from {late.begin_ns / 1e9:.3f} s to {late.end_ns / 1e9:.3f} s; what that needs had been healthy"
        f" for as long as recovery may take by the settings{more}"
    )


def sends_at_once(operations: Iterable[Operation], now_ns: int) -> list[tuple[Operation, int]]:
    """Each send that its client did not let wait, as far as one can know, and when it ended."""
    begun: dict[int, Operation] = {}
    opened: dict[str, int] = {}
    waited: set[int] = set()
    found: list[tuple[Operation, int]] = []
    for one in operations:
        if one.f == "send" and one.type == "invoke":
            begun[one.process] = one
            opened[one.client] = opened.get(one.client, 0) + 1
            if opened[one.client] > _IN_FLIGHT:
                waited.add(one.index)
        elif one.f == "send":
            opened[one.client] -= 1
            found.append((begun.pop(one.process), one.time))
    found += [(one, now_ns) for one in begun.values()]
    return [send for send in found if send[0].index not in waited]


def most_in_sync(spec: ExperimentSpec) -> dict[str, int]:
    """The largest ``min.insync.replicas`` that a topic may have, by its name; ``""``: any that sets none itself."""
    of_nodes = max(int(one.get(MIN_INSYNC_REPLICAS, 1)) for one in properties_of_nodes(spec) or [{}])
    found = {"": of_nodes}
    for name, own in properties_of_topics(spec):
        found[name] = max(found.get(name, 0), int(own.get(MIN_INSYNC_REPLICAS, of_nodes)))
    return found


def _leaderless(sight: Sight, name: str, part: Part | None, time: Interval) -> Iterator[Late]:
    if part is not None and part.leader < 0:
        yield Late(*time, f"{name} had no leader")
    elif part is not None:
        leader = broker_name(part.leader)
        for ill in sight.ill(leader, *time):
            yield Late(*ill, f"{leader} was the leader of {name} and did not live")


def owed_in(feature: str, owed: Sequence[Interval], missing: Iterable[Late]) -> Owed:
    """What was missing while it was owed: nothing, of what came before its time was over."""
    late = []
    for one in missing:
        for window in owed:
            begin_ns, end_ns = max(one.begin_ns, window.begin_ns), min(one.end_ns, window.end_ns)
            if begin_ns < end_ns:
                late.append(Late(begin_ns, end_ns, one.what))
    return Owed(feature, sum(end_ns - begin_ns for begin_ns, end_ns in owed), late)


def together(feature: str, every: Iterable[Owed]) -> Owed:
    """All that was owed of one feature."""
    found = list(every)
    return Owed(feature, sum(one.judged_ns for one in found), [late for one in found for late in one.late])
