"""The seam between the backend and what it runs: how one node is started, and how its events are seen.

The backend knows machines: namespaces, disks, processes, faults. A :class:`NodeProgram` knows the software: which files
a node needs, its command line, what cannot be done to it, and how to tell what it does. There is one for our own
runtime (:mod:`~highwater_chaos.backends.local.highwater_program`); another system under test is another program, and
nothing else of the backend changes. Nodes of one cluster may be of several programs, by their role
(:mod:`~highwater_chaos.backends.local.programs`).

Threads: everything here is called on the harness's main thread, many times a second; nothing may block it for long. A
program that must ask its nodes over the network does so on a thread of its own, which enters the network of the
clients first (:meth:`Site.enter_network`), and hands over what it learnt in :meth:`Observer.poll`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from highwater_chaos.backends.primitives import Primitive
from highwater_chaos.experiment import Cluster
from highwater_runtime.config import PropertyValue
from highwater_runtime.ports import Endpoint
from highwater_runtime.ports.trace import NodeEvent

Role = Literal["broker", "controller", "zookeeper"]


@dataclass(frozen=True, slots=True)
class NodePlace:
    """Where one node lives: the same for all its incarnations."""

    name: str
    node_id: int
    role: Role
    bind: Endpoint
    """What it listens on, in its own network namespace where it has one."""
    advertised: Endpoint
    """How clients and other nodes reach it; the same as ``bind`` but where that is a wildcard."""
    data: Path
    """Its data directory, on its own disk: the only place that power loss, wiping and the like touch. The directory
    exists (empty) before the first start and after a wipe."""
    files: Path
    """Config and sockets: outside of the faults' reach."""
    record: Path | None
    """A file for what the node says of itself, which outlives the run; outside of the faults' reach, too. None: nobody
    observes the node or breaks it, so it has no control socket either."""
    peer_ports: tuple[int, ...] = ()
    """Further ports at the same address: for servers of the node's own kind, or for a node behind its proxy."""


@dataclass(frozen=True, slots=True)
class ClusterPlan:
    """One run's cluster with all its places, controllers (or ZooKeeper servers) first."""

    cluster: Cluster
    cluster_id: str
    seed: int
    places: tuple[NodePlace, ...]
    own: Mapping[str, Mapping[str, PropertyValue]] = field(default_factory=dict)
    """Properties that single nodes have beside the cluster's."""
    interferes: bool = False
    """Whether rules about messages may come, for which some nodes need something in front of them."""

    def config_of(self, name: str) -> dict[str, PropertyValue]:
        """The properties that the experiment gives a node."""
        return {**self.cluster.config, **self.own.get(name, {})}

    def configured(self, name: str, config: Mapping[str, PropertyValue]) -> ClusterPlan:
        """The plan with these properties added to a node's own."""
        return replace(self, own={**self.own, self.place(name).name: {**self.own.get(name, {}), **config}})

    def place(self, name: str) -> NodePlace:
        """The place of a node; raises ``KeyError`` for an unknown one."""
        for place in self.places:
            if place.name == name:
                return place
        raise KeyError(name)

    def of_role(self, role: Role) -> tuple[NodePlace, ...]:
        """All places of one role, by id."""
        return tuple(place for place in self.places if place.role == role)


@dataclass(frozen=True, slots=True)
class Launch:
    """What to execute. ``env`` is added to the harness's environment. Output goes to the node's log."""

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, Path] = field(default_factory=dict)
    """Files to keep with the run, by their path in the run directory (``config/broker-0.properties``)."""
    log: Path | None = None
    """Where the software logs, if it does not log to its output."""
    control: Path | None = None
    """A socket over which the process takes instructions; None: it takes none."""


class Observed(NamedTuple):
    """One event of a node. ``time_ns``: CLOCK_MONOTONIC of this machine; ``node_time_ns``: the node's wall clock."""

    time_ns: int
    node_time_ns: int
    node: str
    incarnation: int
    event: NodeEvent


class Site(Protocol):
    """What an observer may ask of the backend. Safe from any thread."""

    plan: ClusterPlan

    def enter_network(self) -> None:
        """Move the *calling thread* into the network where clients live, for good (as root a namespace of the run)."""

    def incarnation(self, node: str) -> int:
        """How often the node was started."""


class Observer(Protocol):
    """Where the events of one run's nodes come from. ``NodeStopped`` is not its affair: the backend knows why."""

    @property
    def records(self) -> Sequence[Path]:
        """Files that hold all events, a line each as nodes write them. Then :meth:`poll` need not return every one: of
        the kinds that come with each record, the last. Empty: what :meth:`poll` returns is all there is."""

    def starting(self, node: str, incarnation: int, time_ns: int) -> None:
        """The backend is about to start a process (``time_ns``: CLOCK_MONOTONIC). An observer whose nodes do not say
        so themselves makes the ``NodeStarted`` event of it."""

    def poll(self) -> Sequence[Observed]:
        """Events that have come up since the last call, those of one node in their order. Must not block.

        What is returned now must have happened before what a later call returns, as far as one can have caused the
        other: conditions and targets look at events in this order. (The recorded order is that of ``time_ns``.)
        """

    def notes(self) -> Sequence[str]:
        """What about the observation makes the run impossible to judge (a torn file, a lost observer); usually
        nothing."""

    def close(self) -> None:
        """Stop observing. Idempotent."""


class NodeProgram(Protocol):
    """One kind of software to run as nodes. Stateless: one object may serve many runs."""

    name: str
    stopped_status: int
    """The exit status of a node that was asked to stop (SIGTERM) and did so cleanly."""
    memory_mib: int
    """What a node takes under load."""
    says_why_it_ends: bool
    """Whether a node that ends by an exception reports it (``node-crashed``). Of other software every end that no fault
    asked for is taken for a crash."""
    done_by_nodes: frozenset[Primitive]
    """What the nodes' processes do themselves when their control socket asks for it."""

    def problems(self, cluster: Cluster) -> list[str]:
        """Why this cluster cannot be run here with this program (a missing JVM, a mode it does not have)."""

    def why_no_rules(self, cluster: Cluster) -> str | None:
        """What stands in the way of rules about messages of this cluster here; None: nothing, if :attr:`done_by_nodes`
        has them."""

    def launch(self, plan: ClusterPlan, place: NodePlace, incarnation: int) -> Launch:
        """Write the node's files below ``place.files``, format ``place.data`` where that is needed, and say what to
        execute. Called before every start. Raises ``OSError`` where a file cannot be written."""

    def observer(self, site: Site) -> Observer:
        """Begin to observe a run's nodes, none of which has been started."""
