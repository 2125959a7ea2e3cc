"""Whether every node comes to know of the cluster what is committed.

Worked example (ZooKeeper mode): a broker was killed and started again, and the controller took it out of all ISRs. Each
leader took it in again, and wrote a notification of that. The controller is deaf to them. So the znodes have the full
ISR, and every broker tells its clients the short one, for ever. Nothing is lost by it today. But the next decision of
this controller follows from what it knows, and so does every client.

The rule: once the cluster has recovered, each broker answers Metadata as the committed state is (live brokers, topics
and their ids, leaders, leader epochs, ISRs, replicas, and in ZooKeeper mode the controller). Each controller has the
same in memory, with the partition epochs. That is eventual: one moment is enough at which both are equal.

The traps: clusters go on to change meanwhile (groups make topics, the harness deletes its own), so a difference counts
only if it lasts as long as a recovery may. And what is committed is known by node events alone: a partition of which
they say nothing may be older than the run (a borrowed cluster), so it is not called a difference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Final

from highwater_chaos.backends.protocol import Backend, ShowsControllers
from highwater_chaos.backends.view import ClusterView, PartitionView
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_name, broker_names, node_id
from highwater_chaos.workload.clients import Clients
from highwater_chaos.workload.metadata_probe import KnownLeaders, KnownMetadata, KnownPartition
from highwater_runtime.ports import MS

_ASK_AGAIN_NS: Final = 500 * MS


class Agreement:
    """Of one run: what nodes know of the cluster, against ``view``. A node that agreed once is not looked at again."""

    def __init__(self, cluster: Cluster, view: ClusterView, backend: Backend, clients: Clients) -> None:
        self._cluster = cluster
        self._view = view
        self._backend = backend
        self._clients = clients
        self._answers: dict[int, KnownMetadata] = {}
        self._brokers = [node_id(name) for name in broker_names(cluster)]
        self._agreed: dict[str, None] = {}

    @property
    def shows_controllers(self) -> bool:
        """Whether the backend shows what controllers have in memory."""
        return isinstance(self._backend, ShowsControllers)

    def ask(self) -> Process[None]:
        """Ask each broker for its metadata until it has agreed."""
        while self.of_brokers():
            for broker in self._brokers:
                if broker_name(broker) not in self._agreed:
                    self._backend.post(partial(self._ask, broker))
            yield Sleep(_ASK_AGAIN_NS)

    def _ask(self, broker: int) -> None:
        self._clients.metadata_probe.ask(broker, self._answers)

    def of_brokers(self) -> list[str]:
        """What brokers answer that is not committed, as clauses: one of each broker."""
        clauses = []
        for broker in self._brokers:
            name = broker_name(broker)
            answer = self._answers.get(broker)
            if name in self._agreed:
                continue
            if answer is None:
                clauses.append(f"{name} did not answer Metadata")
            elif (clause := next(self._differences(answer, broker), None)) is not None:
                clauses.append(f"{name} answers Metadata with {clause}")
            else:
                self._agreed[name] = None
        return clauses

    def now(self) -> dict[str, str]:
        """What each broker has in memory that is not committed, as a clause: who lives, and who leads what."""
        if not isinstance(self._backend, ShowsControllers):
            return {}
        view = self._view
        live = tuple(sorted(broker for broker, one in view.brokers.items() if one.is_live))
        led = {name: (one.leader, one.leader_epoch) for name, one in view.partitions.items()}
        return {name: _unlike(known, live, led) for name, known in self._backend.known_to_brokers().items()}

    def of_controllers(self) -> list[str]:
        """What controllers have in memory that is not committed, as clauses: one of each."""
        if not isinstance(self._backend, ShowsControllers):
            return []
        clauses = []
        for name, known in self._backend.known_to_controllers().items():
            key = f"the controller on {name}"
            if key in self._agreed:
                continue
            if (clause := next(self._differences(known), None)) is not None:
                clauses.append(f"{key} has in memory {clause}")
            else:
                self._agreed[key] = None
        return clauses

    def of_leaders(self) -> list[str]:
        """Partitions that their preferred replica has not led at any look, though it could, as clauses."""
        clauses = []
        for name, partition in self._view.partitions.items():
            key, preferred = f"the leader of {name}", partition.replicas[0]
            if key in self._agreed:
                continue
            if partition.leader != preferred and preferred in partition.isr and self._view.is_unfenced(preferred):
                clauses.append(f"{name} is led by {partition.leader} and not by its preferred replica, {preferred}")
            else:
                self._agreed[key] = None
        return clauses

    def _differences(self, known: KnownMetadata, broker: int = -1) -> Iterator[str]:
        """``broker``: whose answer that is (−1: a controller's memory)."""
        view = self._view
        live = tuple(sorted(broker for broker in view.brokers if view.is_unfenced(broker)))
        if known.brokers != live:
            yield f"the live brokers {list(known.brokers)}, but {list(live)} are live"
        if self._cluster.mode == "zookeeper" and known.controller is not None:
            active, named = view.active_controller(), broker_name(known.controller)
            if active is not None and named != active:
                yield f"{named} as the controller, but that is {active}"
        for name, partition in view.partitions.items():
            own = known.partitions.get(name)
            if own is None:
                yield f"no partition {name}, which is committed"
            elif own != (committed := _like(partition, own)):
                yield f"{name} as {_told(own)}, but {_told(committed)} is committed"
        for name in known.partitions:
            if view.was_deleted(name) and not view.may_have_missed_deletion(name, broker):
                yield f"{name}, which was deleted"


def _unlike(known: KnownLeaders, live: tuple[int, ...], led: Mapping[str, tuple[int, int]]) -> str:
    if known.brokers != live:
        return f"the live brokers {list(known.brokers)}, but {list(live)} are live"
    for name, leader in led.items():
        own = known.leaders.get(name)
        if own != leader:
            return f"(leader, epoch) {own} of {name}, but {leader} is committed"
    return ""


def _like(partition: PartitionView, own: KnownPartition) -> KnownPartition:
    """The committed state, as far as a node says what it knows."""
    return KnownPartition(
        partition.topic_id if own.topic_id else "",
        partition.leader,
        None if own.leader_epoch is None else partition.leader_epoch,
        None if own.partition_epoch is None else partition.partition_epoch,
        tuple(sorted(partition.isr)),
        tuple(sorted(partition.replicas)),
    )


def _told(known: KnownPartition) -> str:
    epoch = "" if known.partition_epoch is None else f", partition epoch {known.partition_epoch}"
    topic = f" of topic {known.topic_id}" if known.topic_id else ""
    term = "" if known.leader_epoch is None else f" in epoch {known.leader_epoch}"
    leads = f"leader {known.leader}{term}{epoch}"
    return f"({leads}, ISR {list(known.isr)}, replicas {list(known.replicas)}{topic})"
