"""Events of Apache Kafka in pods, put together from the same sources, and by the same code, as those of a local run.

The metadata log is followed from here (:mod:`highwater_chaos.backends.local.apache_kafka.observing`); in ZooKeeper mode
what the ensemble commits is taken in (:meth:`KafkaPods.committed`), and leaders are asked. What a node logs
for the harness comes with its file of events, each line with the time of its machine's clock. So lines of pods are
as exact in time as events of our own nodes; a decision that a broker knew has the time of that broker's clock.

A decision is handed over once the lines that were written until it was seen have been read: they may say that a broker
knew it earlier.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from highwater_chaos.apache_kafka.node_logging import lines_known
from highwater_chaos.backends.kubernetes.cluster import ClusterError, Place
from highwater_chaos.backends.kubernetes.kafka_sessions import BrokerSessions
from highwater_chaos.backends.local.apache_kafka.event_lines import Line, LineSequence
from highwater_chaos.backends.local.apache_kafka.evidence import Declaration
from highwater_chaos.backends.local.apache_kafka.node_log import NodeLog
from highwater_chaos.backends.local.apache_kafka.observing import observe_metadata
from highwater_chaos.backends.local.apache_kafka.white_box import WhiteBox
from highwater_chaos.backends.local.apache_kafka.zookeeper_observing import LeadersAsked, mute
from highwater_chaos.backends.local.program import ClusterPlan, NodePlace, Observed, Role
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_name, broker_names, controller_names, node_id
from highwater_chaos.kube.client import Kube
from highwater_chaos.kube.cluster_id import cluster_id_of
from highwater_chaos.kube.kinds import LOG_CLUSTER
from highwater_pipeline.tables.recordings import RECORDED_EVENTS_FILE
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND, OutboundSecurity
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import BrokerRegistered, PartitionChanged

LINE_BEGINS: Final = b'{"seq":'
"""How a line of Kafka's begins, in a file that has our own processes' node events, too."""
_CATCH_UP_WITHIN: Final = 60.0
_AGAIN_AFTER: Final = 0.1
_NOWHERE: Final = Path("/nonexistent")


class _PodLines:
    """The lines of one incarnation, as they come."""

    def __init__(self) -> None:
        self._sequence = LineSequence()
        self._ready: list[Line] = []

    @property
    def lost(self) -> str | None:
        return self._sequence.lost

    def take(self, data: bytes, at: Callable[[int], int]) -> Line | None:
        """Take one line in; ``at`` gives the runner's time for a time of its machine."""
        line = self._sequence.line(data)
        if line is not None:
            line = Line(line.seq, at(line.ns), line.wall, line.level, line.logger, line.thread, line.text)
            self._ready.append(line)
        return line

    def read(self) -> Iterator[Line]:
        ready, self._ready = self._ready, []
        yield from ready

    def close(self) -> None:
        """There is nothing to close."""


class KafkaPods:
    """The nodes of one run; a :class:`~highwater_chaos.backends.local.program.Site` for its observers.

    Args:
        endpoints: where each node is reached from here, by its name.
        security: how the node at an endpoint is met.
    """

    def __init__(
        self,
        cluster: Cluster,
        cluster_id: str,
        endpoints: Mapping[str, Endpoint],
        seed: int,
        security: Callable[[Endpoint], OutboundSecurity] = lambda _: PLAINTEXT_OUTBOUND,
    ) -> None:
        assert cluster.kafka is not None
        places = tuple(_place(name, endpoint) for name, endpoint in endpoints.items())
        self.plan = ClusterPlan(cluster, cluster_id, seed, places)
        self._names = frozenset(endpoints)
        self._incarnations: dict[str, int] = {}
        self._declaration = Declaration(cluster.kafka, cluster.mode, ())
        self._lines: dict[str, _PodLines] = {}
        self._logs: dict[str, NodeLog] = {}
        known = lines_known(cluster.kafka, cluster.mode)
        self._white_box = WhiteBox(self, self._begin, self._declaration.lose) if known else None
        self._decided: list[Observed] = []
        self._sessions: dict[str, BrokerSessions] = {}
        self._leaders: LeadersAsked | None = None
        if cluster.mode == "zookeeper":
            self._sessions = {one.name: BrokerSessions(one.node_id) for one in self.plan.of_role("broker")}
            self._leaders = LeadersAsked(self)
        self._observer = self._leaders or observe_metadata(self, asks=not known, security=security)

    def incarnation(self, node: str) -> int:
        """How often the node was started, as far as is known."""
        return self._incarnations.get(node, 0)

    def enter_network(self) -> None:
        """The runner is in the pods' network."""

    def files(self) -> Mapping[str, bytes]:
        """The file of the run that says which kinds of events it has."""
        return {RECORDED_EVENTS_FILE: self._declaration.encoded()}

    def starting(self, node: str, incarnation: int, at_ns: int) -> None:
        """A node's process has been started; its lines are those of this incarnation from now on. ZooKeeper's servers
        write none."""
        if node not in self._names:
            return
        place = self.plan.place(node)
        if (sessions := self._sessions.get(node)) is not None:
            sessions.starting()
        self._logs[node] = NodeLog(place.node_id, is_controller=place.role == "controller")
        self._lines[node] = _PodLines()
        self._incarnations[node] = incarnation
        if self._white_box is not None:
            self._white_box.starting(node, incarnation, at_ns)

    def read(self, node: str, data: bytes, at: Callable[[int], int]) -> list[Observed]:
        """Take in a line of a node; returns what it says of the node itself."""
        if (lines := self._lines.get(node)) is None or (line := lines.take(data, at)) is None:
            return []
        if (sessions := self._sessions.get(node)) is None:
            event = self._logs[node].event_in(line.logger, line.text)
            found = None if event is None else (line.ns, event)
        else:
            found = sessions.read(line)
        if found is None:
            return []
        return [Observed(found[0], line.wall * 1_000_000, node, self.incarnation(node), found[1])]

    def committed(self, by_ensemble: Sequence[Observed]) -> list[Observed]:
        """What the ZooKeeper ensemble has committed, and what follows from it for brokers; nothing in KRaft mode."""
        events: list[Observed] = []
        for one in by_ensemble:
            events.append(one)
            if isinstance(one.event, PartitionChanged) and self._leaders is not None:
                self._leaders.saw(one.event)
            elif isinstance(one.event, BrokerRegistered):
                events += self._registered(one, one.event)
        return events

    def _registered(self, one: Observed, event: BrokerRegistered) -> list[Observed]:
        name = broker_name(event.broker)
        if (sessions := self._sessions.get(name)) is None:
            return []
        found = sessions.registered(int(event.reason, 16), event.broker_epoch, one.time_ns)
        if found is None:
            return []
        return [Observed(found[0], one.node_time_ns, name, self.incarnation(name), found[1])]

    def of_replicas(self) -> list[Observed]:
        """What the lines that have been read say of replicas, node by node."""
        if self._white_box is not None:
            return self._white_box.take()
        for lines in self._lines.values():
            list(lines.read())
        return []

    def decided(self, horizon_ns: int) -> list[Observed]:
        """What the cluster decided, in order, as far as it was seen by ``horizon_ns``: a time until which all lines
        have been read."""
        self._decided += self._observer.take()
        ready = [one for one in self._decided if one.time_ns <= horizon_ns]
        del self._decided[: len(ready)]
        return ready if self._white_box is None else self._white_box.settled(ready)

    def catch_up(self) -> None:
        """Wait until what was decided before is known; of an ensemble others wait. Raises ``ClusterError``."""
        if self._leaders is not None:
            return
        missing = {place.node_id for place in self.plan.of_role("broker")}
        deadline = time.monotonic() + _CATCH_UP_WITHIN
        while missing:
            self._decided += (taken := self._observer.take())
            missing -= {one.event.broker for one in taken if isinstance(one.event, BrokerRegistered)}
            if time.monotonic() > deadline:
                notes = "".join(f"; {note}" for note in self._observer.notes())
                raise ClusterError(
                    f"the metadata log could not be read in {_CATCH_UP_WITHIN:g} s: brokers {sorted(missing)} are not"
                    f" registered{notes}"
                )
            time.sleep(_AGAIN_AFTER)

    def notes(self) -> Sequence[str]:
        """What was not seen of the metadata, and logs that do not say whose a registration is."""
        return [*self._observer.notes(), *(mute(name) for name, one in self._sessions.items() if one.is_mute)]

    def close(self) -> None:
        """End the observer. Idempotent."""
        self._observer.close()

    def _begin(self, place: NodePlace, _incarnation: int) -> _PodLines:
        return self._lines[place.name]


def kafka_pods(
    *,
    api: Kube,
    place: Place,
    cluster: Cluster,
    at: Callable[[Endpoint], Endpoint],
    seed: int,
    security: Callable[[Endpoint], OutboundSecurity],
) -> KafkaPods | None:
    """The pods of a LogCluster that runs; None: its nodes are our own. ``at``: where an address of the pods' network is
    reached from here; ``security``: how the node there is met. Raises ``ClusterError``."""
    if cluster.kafka is None:
        return None
    found = api.get(LOG_CLUSTER, place.namespace, place.cluster)
    if found is None:
        raise ClusterError(f"LogCluster {place.namespace}/{place.cluster} was deleted")
    names = (*controller_names(cluster), *broker_names(cluster))
    endpoints = {name: at(place.endpoint(name)) for name in names}
    return KafkaPods(cluster, cluster_id_of(found["metadata"]["uid"]), endpoints, seed, security)


def _place(name: str, endpoint: Endpoint) -> NodePlace:
    role: Role = "broker" if name.startswith("broker-") else "controller"
    return NodePlace(name, node_id(name), role, endpoint, endpoint, _NOWHERE, _NOWHERE, None)
