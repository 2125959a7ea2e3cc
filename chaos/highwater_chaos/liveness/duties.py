"""What single healthy nodes owe while others are in trouble, and how soon (see :mod:`.promptness`, which judges what
depends on all that a promise needs).

Worked example: broker 1 cannot fetch, because its link to the leader is cut. The leader and a majority of the quorum
are well. So whatever else is broken, the leader takes broker 1 out of the ISR once ``replica.lag.time.max.ms`` is over,
and commits without it. A leader that never does so commits nothing for as long as the link is cut.

* *commits without laggards*: a leader that is well, with a quorum that is able, commits what it appends once members
  that lag have left the ISR, unless fewer than ``min.insync.replicas`` are left.
* *fencing*: a broker that is gone is fenced.
* *voters*: a voter that is well follows the leader of the quorum if that is well: who does not fetch is called by it.
* *observers*: a broker that is well observes the leader of the quorum if that is well, and all other voters but one
  are and follow it: who gets no answer asks another voter, which names the leader.
* *reads*: a linearizable read is answered if all is well, and waits for no time-out then, nor for other records.
* *metadata*: a broker that is well knows which brokers live, and who leads each partition.
* *preferred leaders*: if all is well for two of the controller's checks, each partition is led by its preferred
  replica, as far as that is in the ISR.

Each window begins when all that went before has no effect any more: as a disturbance, a change that the rule depends on
gives it time anew.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from highwater_chaos.experiment.nodes import broker_name
from highwater_chaos.experiment.properties import properties_of_nodes
from highwater_chaos.experiment.timeouts import session_timeout_ms
from highwater_chaos.liveness.course import Part, each_state, state_at
from highwater_chaos.liveness.health import CLIENTS, Condition, Disturbance, Interval, Sight
from highwater_chaos.liveness.promptness import AT_ONCE_NS, SLACK_NS, Late, Owed, Promptness, owed_in, together
from highwater_chaos.liveness.promptness import IN_TIME as _WITH_ALL
from highwater_chaos.workload.history import Operation
from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import MS, SECOND

COMMITS: Final = "commits without laggards"
FENCING: Final = "fencing in time"
VOTERS: Final = "voters in time"
METADATA: Final = "metadata in time"
PREFERRED: Final = "preferred leaders in time"
OBSERVERS: Final = "observers in time"
READS: Final = "reads in time"
IN_TIME: Final = (*_WITH_ALL, COMMITS, FENCING, VOTERS, OBSERVERS, METADATA, PREFERRED, READS)

_LAG: Final = "replica.lag.time.max.ms"
_CHECKS: Final = "leader.imbalance.check.interval.ms"
_REBALANCES: Final = "auto.leader.rebalance.enable"
_LOOKED_AT_NS: Final = SECOND
"""How often nodes' metadata is looked at."""


class Duties(Promptness):
    """Judges one run."""

    def owed(self) -> list[Owed]:
        """What was owed and did not come in time, by feature."""
        names = [name for name in self._course.parts if name.rpartition("-")[0] not in self._throttled]
        return [
            *super().owed(),
            together(COMMITS, map(self._commits_alone, names)),
            together(FENCING, map(self._fenced, self._course.sessions)),
            together(VOTERS, map(self._follows, self._quorum)),
            together(OBSERVERS, map(self._observes, self._course.sessions if self._kraft else ())),
            together(METADATA, map(self._knows, self._course.sessions)),
            together(PREFERRED, map(self._preferred, names)),
            self._reads(),
        ]

    def _most(self, name: str, default: int) -> int:
        first, *later = properties_of_nodes(self._spec) or [{}]
        return max(int({**first, **own}.get(name, default)) for own in ({}, *later))

    def _quorum_lasts(self, sight: Sight, one: Disturbance, own_ns: int) -> int:
        """How long a disturbance has an effect on what one broker does with the quorum."""
        return self._without_session_ns(sight, one) if one.node in self._quorum else own_ns

    # --- the ISR ---------------------------------------------------------------------------------------------------

    def _commits_alone(self, name: str) -> Owed:
        parts = self._course.parts[name]
        lag_ns = self._most(_LAG, NodeConfig().replica_lag_time_max_ms) * MS
        bound_ns = lag_ns + lag_ns // 2 + SLACK_NS
        commits = self._commits.get(name, ())
        slow_ns = [(one.begin_ns, one.end_ns) for one in commits if one.end_ns > one.begin_ns + bound_ns]
        leaders = sorted({part.leader for _, part in parts if part is not None and part.leader >= 0})
        return together(COMMITS, [self._commits_of(name, leader, bound_ns, slow_ns) for leader in leaders])

    def _commits_of(self, name: str, leader: int, bound_ns: int, slow: Iterable[tuple[int, int]]) -> Owed:
        parts, node = self._course.parts[name], broker_name(leader)
        sight = self._health.among((*self._quorum, node))
        in_sync = self._min_in_sync.get(name.rpartition("-")[0], self._min_in_sync[""])

        def may(at_ns: int) -> bool:
            part = state_at(parts, at_ns)
            return (
                part is not None
                and part.leader == leader
                and len(part.isr) >= min(in_sync, len(part.replicas))
                and sight.condition(node, at_ns) is Condition.WELL
            )

        def lasts_ns(one: Disturbance) -> int:
            lasts = self._quorum_lasts(sight, one, self._bounds.session)
            # Its proposal, or the answer to it, may be lost: until then it makes no other.
            return lasts + bound_ns + self._bounds.proposes * one.quiet if lasts else 0

        # A replica that joins may lag again.
        grown = [(at_ns, bound_ns * _grows(before, part)) for before, at_ns, part in _changes(parts)]
        owed = self._windows(sight, lasts_ns, may, grown, bound_ns)
        what = f"{node} led {name} and did not commit what it had appended, whoever lagged"
        return owed_in(COMMITS, owed, [Late(begin_ns + bound_ns, end_ns, what) for begin_ns, end_ns in slow])

    # --- sessions --------------------------------------------------------------------------------------------------

    def _fenced(self, broker: int) -> Owed:
        name = broker_name(broker)
        sight = self._health.among((*self._quorum, name))
        # A session with the ensemble is kept by its client until that has found a server that ends it.
        bound_ns = session_timeout_ms(self._cluster) * MS * (1 if self._kraft else 2) + SLACK_NS
        down = self._course.down(self._now_ns).get(name, [])

        def may(at_ns: int) -> bool:
            # A heartbeat that was held or delayed may arrive long after its sender has gone, and unfence it again.
            gone = any(time.begin_ns <= at_ns < time.end_ns for time in down)
            return gone and sight.condition(name, at_ns) is not Condition.TROUBLED

        owed = self._windows(
            sight,
            lambda one: self._quorum_lasts(sight, one, bound_ns),
            may,
            [(at_ns, bound_ns) for at_ns, _ in self._course.controllers],
        )
        states = each_state(self._course.live[broker], self._now_ns)
        return owed_in(FENCING, owed, [Late(*time, f"{name} was gone and not fenced") for time, good in states if good])

    # --- the quorum ------------------------------------------------------------------------------------------------

    def _follows(self, voter: str) -> Owed:
        pre_vote = self._cluster.switches.get("pre-vote", "on") == "on"
        bound_ns = self._bounds.called if pre_vote else self._bounds.election + self._bounds.round
        return self._knows_leader(VOTERS, voter, self._voters, bound_ns, len(self._quorum))

    def _observes(self, broker: int) -> Owed:
        name = broker_name(broker)
        # It may ask one voter in vain, and another over a connection that is broken. The next one follows the leader.
        sight = self._health.among((*self._quorum, name))
        return self._knows_leader(OBSERVERS, name, sight, 2 * self._bounds.request, 1, asks=self._quorum)

    def _knows_leader(
        self, feature: str, node: str, sight: Sight, bound_ns: int, ill: int, asks: Sequence[str] = ()
    ) -> Owed:
        """``ill``: how many voters need not be well. ``asks``: voters that have to know the leader if they are."""
        course = self._course

        def may(at_ns: int) -> bool:
            leader = state_at(course.quorum_leaders, at_ns)
            well = {one: sight.condition(one, at_ns) is Condition.WELL for one in (*self._quorum, node)}
            return (
                well[node]
                and sum(not well[one] for one in self._quorum) <= ill
                and leader is not None
                and well[leader]
                and all(state_at(course.following[one], at_ns) for one in asks if well[one])
            )

        def lasts_ns(one: Disturbance) -> int:
            # That there is a leader is owed elsewhere: time begins anew with each.
            matters = asks or one.node in (node, state_at(course.quorum_leaders, one.at_ns))
            return bound_ns if matters else 0

        states = (course.quorum_leaders, *(course.following[one] for one in asks))
        changes = [(at_ns, bound_ns) for every in states for at_ns, _ in every]
        owed = self._windows(sight, lasts_ns, may, changes, bound_ns)
        missing = [
            Late(*time, f"{node} did not follow the leader of the quorum")
            for time, good in each_state(course.following[node], self._now_ns)
            if not good
        ]
        return owed_in(feature, owed, missing)

    # --- registers -------------------------------------------------------------------------------------------------

    def _reads(self) -> Owed:
        """Of reads that began in a window in which all was well."""
        asked = _reads_of(self._operations, self._now_ns)
        if not asked:
            return Owed(READS, 0, ())
        nodes = (*self._quorum, *self._brokers)
        sight = self._health.among((*nodes, CLIENTS))
        # Requests that were lost are waited for, and those behind them on their connections.
        client_ns = self._spec.workload.request_timeout + SECOND + SLACK_NS
        follows_ns = self._bounds.called + self._bounds.request

        def may(at_ns: int) -> bool:
            return all(sight.condition(one, at_ns) is Condition.WELL for one in (*nodes, CLIENTS))

        def lasts_ns(one: Disturbance) -> int:
            without_ns = self._without_leader_ns(sight, one) if one.node in self._quorum else 0
            return client_ns + (without_ns + follows_ns if without_ns else 0)

        elected = [at_ns for at_ns, _ in self._course.quorum_leaders if at_ns > self._settled_ns]
        owed = self._windows(sight, lasts_ns, may, [(at_ns, follows_ns) for at_ns in elected], client_ns)
        late = [
            Late(one.time + AT_ONCE_NS, end_ns, f"a read of {one.client} was not answered")
            for one, end_ns in asked
            if any(begin_ns <= one.time < until_ns for begin_ns, until_ns in owed)
        ]
        return owed_in(READS, owed, [one for one in late if one.begin_ns < one.end_ns])

    # --- what brokers know -----------------------------------------------------------------------------------------

    def _knows(self, broker: int) -> Owed:
        name = broker_name(broker)
        sight = self._health.among((*self._quorum, *((name,) if self._kraft else self._brokers)))
        bounds = self._bounds
        own_ns, told_ns = bounds.session + bounds.fetches, bounds.fetches

        def may(at_ns: int) -> bool:
            teller = name if self._kraft else state_at(self._course.controllers, at_ns)
            return teller is not None and all(sight.condition(one, at_ns) is Condition.WELL for one in (name, teller))

        def lasts_ns(one: Disturbance) -> int:
            if one.node in self._quorum:
                lasts = self._without_leader_ns(sight, one)
                return lasts + (told_ns if self._kraft else own_ns) if lasts else 0
            is_controller = one.node == state_at(self._course.controllers, one.at_ns - 1)
            return own_ns if one.node == name or is_controller else 0

        # The first controller of ZooKeeper mode tells all brokers of all when nothing is in trouble yet.
        changes = [
            (at_ns, told_ns if self._kraft or at_ns <= self._settled_ns else own_ns)
            for at_ns, _ in self._course.controllers
        ]
        owed = self._windows(sight, lasts_ns, may, changes, told_ns)
        missing = [
            Late(begin_ns + _LOOKED_AT_NS, end_ns, f"{name} knew {clause}")
            for begin_ns, end_ns, clause in self._course.differences(name)
            if end_ns > begin_ns + _LOOKED_AT_NS
        ]
        return owed_in(METADATA, owed, missing)

    # --- preferred leaders -----------------------------------------------------------------------------------------

    def _preferred(self, name: str) -> Owed:
        first, *later = properties_of_nodes(self._spec) or [{}]
        if any(str({**first, **own}.get(_REBALANCES, True)).lower() != "true" for own in ({}, *later)):
            return Owed(PREFERRED, 0, ())
        checks_ns = 2 * self._most(_CHECKS, NodeConfig().leader_imbalance_check_ms) * MS + SLACK_NS
        bound_ns = self._bounds.session + self._bounds.election + self._bounds.follows + checks_ns
        sight = self._health.among((*self._quorum, *self._brokers))

        def may(at_ns: int) -> bool:
            return all(sight.condition(node, at_ns) is Condition.WELL for node in (*self._quorum, *self._brokers))

        parts = self._course.parts[name]
        changes = [
            *((at_ns, bound_ns) for at_ns, _ in self._course.controllers),
            *(
                (at_ns, checks_ns)
                for before, at_ns, part in _changes(parts)
                if _might_lead(part) != _might_lead(before)
            ),
        ]
        owed = self._windows(sight, lambda _one: bound_ns, may, changes, bound_ns)
        missing = [
            Late(*time, f"{name} was led by {part.leader} and not by its preferred replica {part.replicas[0]}")
            for time, part in each_state(parts, self._now_ns)
            if part is not None and _might_lead(part) and part.leader != part.replicas[0]
        ]
        return owed_in(PREFERRED, owed, missing)


def _reads_of(operations: Iterable[Operation], now_ns: int) -> list[tuple[Operation, int]]:
    """Each read of a register, and when it ended."""
    begun: dict[int, Operation] = {}
    found: list[tuple[Operation, int]] = []
    for one in operations:
        if one.f == "read" and one.type == "invoke":
            begun[one.process] = one
        elif one.f == "read" and one.process in begun:
            found.append((begun.pop(one.process), one.time))
    return [*found, *((one, now_ns) for one in begun.values())]


def _changes(parts: Iterable[tuple[int, Part | None]]) -> Iterator[tuple[Part | None, int, Part | None]]:
    before: Part | None = None
    for at_ns, part in parts:
        yield before, at_ns, part
        before = part


def _grows(before: Part | None, part: Part | None) -> bool:
    """Whether the ISR has a member that it did not have, or another leader."""
    return part is not None and (before is None or part.moved_from(before) or not {*part.isr} <= {*before.isr})


def _might_lead(part: Part | None) -> bool:
    return part is not None and part.replicas[0] in part.isr


__all__ = ["IN_TIME", "Duties", "Interval"]
