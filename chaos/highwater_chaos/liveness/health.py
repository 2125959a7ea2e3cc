"""Which nodes nothing was done to, and when: what a schedule left healthy, by the records of its faults.

A fault counts from before it acted until a probe has seen it gone, and until the last message that it delayed has
arrived. Run time is the harness's, and in the simulator the nodes' events have the same. So what is called *well* here
was well. At each time a node is

* *well*: its process runs, and no fault acts on it, on its links, or on messages that it depends on;
* *silent*: its process is gone or stopped, so that nobody hears of it;
* *isolated*: all its links to all other nodes are cut, both ways. Clients reach it all the same;
* *troubled*: anything else (a slow disk, a wrong clock, a link cut one way), and while a fault is injected or healed.

*The trap:* a node that is well again is not at once as good as before. Requests were lost and are waited for, sessions
lapse, logs are behind. So each *disturbance* (the beginning or the end of such a state) is given a time of recovery by
the settings, and :func:`windows` begin when all these times are over.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from enum import Enum
from itertools import pairwise
from typing import Final, NamedTuple

from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.faults import Effect, effect_of
from highwater_chaos.experiment.nodes import broker_names, node_names, quorum_names
from highwater_chaos.faults import FaultRecord
from highwater_chaos.faults.messages import AMONG_VOTERS, RPCS

CLIENTS: Final = "clients"
"""Stands for the clients among the nodes: what acts on their messages alone troubles no node."""


class Condition(Enum):
    """How a node is, the worst last."""

    WELL = "well"
    SILENT = "silent"
    ISOLATED = "isolated"
    TROUBLED = "troubled"


_RANK: Final = {condition: rank for rank, condition in enumerate(Condition)}
_OF_CLIENTS: Final = frozenset({"AllocateProducerIds", "CreatePartitions", "CreateTopics"})
"""RPCs of nodes that only clients wait for."""


class Interval(NamedTuple):
    """Half open, in ns of run time."""

    begin_ns: int
    end_ns: int


class Trouble(NamedTuple):
    """A node was not well. ``quiet``: peers may have waited for answers in vain. ``peer``: the other end, if it is
    about a single link."""

    begin_ns: int
    end_ns: int
    condition: Condition
    quiet: bool
    peer: str = ""


class Disturbance(NamedTuple):
    """A node changed; ``quiet``: its peers may wait for answers that never come."""

    at_ns: int
    node: str
    quiet: bool


class Health:
    """Of all nodes of one run up to ``now_ns``. ``down``: when each node's process was not there, by its events."""

    def __init__(
        self, cluster: Cluster, faults: Iterable[FaultRecord], down: Mapping[str, Sequence[Interval]], now_ns: int
    ) -> None:
        self.now_ns = now_ns
        self._cluster = cluster
        self._nodes = node_names(cluster)
        self._sights: dict[frozenset[str], Sight] = {}
        """Of each set of nodes that was asked for: many partitions have the same."""
        self._troubles: dict[str, list[Trouble]] = {name: [] for name in (*self._nodes, CLIENTS)}
        for name in self._nodes:
            for interval in down.get(name, ()):
                self._add(name, interval, Condition.SILENT, quiet=False)
        for fault in faults:
            if fault.intent or fault.targets:
                self._take(fault)

    def among(self, nodes: Collection[str]) -> Sight:
        """Their health, as far as it depends on no link to any other node."""
        names = frozenset(nodes)
        found = self._sights.get(names)
        if found is None:
            found = self._sights[names] = Sight(
                {node: [one for one in self._troubles[node] if not one.peer or one.peer in names] for node in nodes}
            )
        return found

    def _take(self, fault: FaultRecord) -> None:
        over_ns = fault.healed_ns + fault.delay_ns if fault.healed and fault.healed_ns is not None else self.now_ns
        whole = Interval(fault.started_ns, over_ns)
        effect = effect_of(fault.kind)
        quiet = Effect.KEEPS_CONNECTIONS not in effect
        links = {touch.nodes for touch in fault.intent if touch.kind == "link"}
        alone = {node for node in self._nodes if self._is_alone(node, links)}
        for source, destination in sorted((link[0], link[1]) for link in links):
            if not alone & {source, destination}:
                self._add(source, whole, Condition.TROUBLED, quiet=quiet, peer=destination)
                self._add(destination, whole, Condition.TROUBLED, quiet=quiet, peer=source)
        if links:
            self._add_while(fault, whole, sorted(alone), Condition.ISOLATED, quiet=quiet)
        elif Effect.HOLDS_PROCESSES in effect:
            self._add_while(fault, whole, fault.targets, Condition.SILENT, quiet=quiet)
        elif Effect.ENDS_PROCESSES in effect:
            # Events say when the process does not run: the heal of another fault may start it.
            self._add_while(fault, whole, fault.targets, Condition.WELL, quiet=quiet)
        else:
            for node in self._touched(fault):
                self._add(node, whole, Condition.TROUBLED, quiet=quiet)

    def _is_alone(self, node: str, links: Collection[tuple[str, ...]]) -> bool:
        return all({(node, other), (other, node)} <= {*links} for other in self._nodes if other != node)

    def _add_while(
        self, fault: FaultRecord, whole: Interval, nodes: Iterable[str], condition: Condition, *, quiet: bool
    ) -> None:
        """The nodes were in this condition while the fault was in force, and troubled before and after that."""
        injected_ns, undone_ns = fault.injected_ns, fault.heal_started_ns
        for node in nodes:
            if injected_ns is None or not fault.confirmed:
                self._add(node, whole, Condition.TROUBLED, quiet=quiet)
                continue
            end_ns = self.now_ns if undone_ns is None else undone_ns
            self._add(node, Interval(whole.begin_ns, injected_ns), Condition.TROUBLED, quiet=quiet)
            self._add(node, Interval(injected_ns, end_ns), condition, quiet=quiet)
            self._add(node, Interval(end_ns, whole.end_ns), Condition.TROUBLED, quiet=quiet)

    def _add(self, node: str, when: Interval, condition: Condition, *, quiet: bool, peer: str = "") -> None:
        # What begins and ends at once has happened all the same.
        end_ns = max(when.end_ns, when.begin_ns + 1)
        self._troubles[node].append(Trouble(when.begin_ns, end_ns, condition, quiet, peer))

    def _touched(self, fault: FaultRecord) -> Collection[str]:
        """The nodes that a fault acts on in any other way."""
        effect = effect_of(fault.kind)
        if Effect.ACTS_ON_MESSAGES in effect:
            return self._depending(str(fault.parameters.get("rpc", "")), fault)
        if Effect.ENDS_SESSIONS in effect:
            return fault.targets
        touched = dict.fromkeys(node for touch in fault.intent for node in touch.nodes if touch.kind == "node")
        any_may_be = any(touch.kind in ("rule", "commands") for touch in fault.intent)
        return (*self._nodes, CLIENTS) if any_may_be else dict.fromkeys((*fault.targets, *touched))

    def _depending(self, rpc: str, fault: FaultRecord) -> Collection[str]:
        """The nodes that wait for messages, or need them. ``targets`` has both ends of a rule, so who is one of them
        is not told apart from who is the other."""
        known = RPCS.get(rpc)
        if known is None:
            return (*self._nodes, CLIENTS)
        if not known.clients or rpc in _OF_CLIENTS:
            return (CLIENTS,)
        if rpc in AMONG_VOTERS:
            return (*quorum_names(self._cluster), *(broker_names(self._cluster) if rpc == "FetchSnapshot" else ()))
        asking = [name for name in fault.targets if name.startswith("broker-")]
        only_one_end = (fault.parameters.get("from") is None) != (fault.parameters.get("to") is None)
        if rpc in ("BrokerHeartbeat", "BrokerRegistration", "AlterPartition"):
            return asking if fault.parameters.get("from") is not None else broker_names(self._cluster)
        if rpc == "Fetch" and only_one_end and fault.parameters.get("from") is not None and asking:
            return fault.targets
        return (*self._nodes, CLIENTS)


class Sight:
    """The health of some nodes."""

    def __init__(self, troubles: Mapping[str, Sequence[Trouble]]) -> None:
        self._conditions = {node: _conditions(every) for node, every in troubles.items()}
        self.disturbances: Sequence[Disturbance] = sorted(
            Disturbance(at_ns, node, one.quiet)
            for node, every in troubles.items()
            for one in every
            for at_ns in (one.begin_ns, one.end_ns)
        )
        """Each change of one of them, by time."""

    def condition(self, node: str, at_ns: int) -> Condition:
        """How a node was from ``at_ns`` on, until the next disturbance."""
        times, conditions = self._conditions[node]
        return conditions[bisect_right(times, at_ns)]

    def ill(self, node: str, begin_ns: int, end_ns: int) -> list[Interval]:
        """When a node was not well, within a time."""
        changes = {one.at_ns for one in self.disturbances if one.node == node and begin_ns < one.at_ns < end_ns}
        times = sorted({begin_ns, end_ns, *changes})
        pieces = [Interval(*pair) for pair in pairwise(times)]
        return [one for one in pieces if self.condition(node, one.begin_ns) is not Condition.WELL]


def _conditions(troubles: Sequence[Trouble]) -> tuple[list[int], list[Condition]]:
    """When a node changes, and how it is before the first change and from each on: the worst of its troubles."""
    times = sorted({at_ns for one in troubles for at_ns in (one.begin_ns, one.end_ns)})
    there = ([one.condition for one in troubles if one.begin_ns <= at_ns < one.end_ns] for at_ns in times)
    return times, [Condition.WELL, *(max(each, key=_RANK.__getitem__, default=Condition.WELL) for each in there)]


def windows(
    disturbed: Collection[tuple[int, int]], may: Callable[[int], bool], when: Interval, resumes_ns: int = 0
) -> list[Interval]:
    """When something is owed within ``when``: it is possible, and no disturbance is recent.

    ``disturbed``: when something changed, and how long that may have an effect. ``may`` is asked for the beginning and
    for the time just after each change, and its answer holds until the next one. ``resumes_ns``: how long it takes
    until all is as before once it has been impossible.
    """
    begin_ns, until_ns = when
    free_ns = max((at_ns + lasts_ns for at_ns, lasts_ns in disturbed if at_ns <= begin_ns), default=begin_ns)
    later = sorted((at_ns, lasts_ns) for at_ns, lasts_ns in disturbed if begin_ns < at_ns < until_ns)
    found: list[Interval] = []
    was_possible = True
    for (at_ns, lasts_ns), (next_ns, _) in pairwise([(begin_ns, 0), *later, (until_ns, 0)]):
        free_ns = max(free_ns, at_ns + lasts_ns)
        if at_ns == next_ns:
            continue
        possible = may(at_ns)
        if not was_possible:
            free_ns = max(free_ns, at_ns + resumes_ns)
        was_possible = possible
        if possible and free_ns < next_ns:
            found.append(Interval(free_ns, next_ns))
    return found
