"""The protocols of a backend, a place where clusters run (``sim``, ``local``, ``kubernetes``).

Every backend offers a cluster's *lifecycle*, its *observation*, and a home for *clients*
(:class:`~highwater_chaos.workload.client_host.ClientHost`). What it can do to nodes and links are *primitives*, a small
protocol each (:mod:`~.primitives`); faults are built from them, one file a fault. An experiment that needs a primitive
which the backend does not implement, or which the machine does not allow it, is refused before anything starts.

Time is the backend's: virtual in the simulator, real elsewhere. The harness never sleeps; it asks the backend to
:meth:`~Lifecycle.advance`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol, runtime_checkable

import msgspec

from highwater_chaos.backends.primitives import Needs, Primitive
from highwater_chaos.workload.client_host import ClientHost
from highwater_runtime.ports.trace import NodeEvent

if TYPE_CHECKING:
    from highwater_chaos.experiment import Cluster
    from highwater_chaos.records.dump import Dumped
    from highwater_chaos.workload.metadata_probe import KnownLeaders, KnownMetadata


class BackendError(Exception):
    """A backend could not carry out a request: the machine refused, or a node did not respond. The message says
    what and why. The fault is not in force, or it is unknown whether it is undone; the run continues."""


class NodeState(Enum):
    """What the backend did to a node's process; says nothing about what the cluster thinks of it."""

    UP = "up"
    PAUSED = "paused"
    STOPPING = "stopping"
    DOWN = "down"


class HeldUp(NamedTuple):
    """Why a node that was started does not run yet though nothing is wrong with it, and for how long at most."""

    why: str
    at_most_ns: int


class TimedEvent(msgspec.Struct, frozen=True, gc=False):
    """One event of a node, or of its host (``NodeStarted``, ``NodeStopped``), at ``time_ns`` of run time. ``seq``
    counts from 0 without gaps what was handed out."""

    seq: int
    time_ns: int
    node: str
    incarnation: int
    event: NodeEvent


class MetricRow(NamedTuple):
    """One value of one series at ``time_ns`` of run time."""

    time_ns: int
    node: str
    incarnation: int
    name: str
    labels: Mapping[str, str]
    value: float


@dataclass(frozen=True, slots=True)
class InvariantViolation:
    """An invariant that did not hold at ``time_ns``; ``what`` is a sentence about ``subject``."""

    name: str
    time_ns: int
    subject: str
    what: str


class Capabilities(Protocol):
    """What a backend can do to a cluster, known before the cluster exists."""

    @property
    def name(self) -> str:
        """The backend's."""

    def can(self, cluster: Cluster) -> frozenset[Primitive]:
        """What can be done to this cluster: what the backend implements, less what the machine or the cluster's
        software does not support."""

    def why_not(self, cluster: Cluster, primitive: Primitive) -> str | None:
        """What stands in the way of a primitive that :meth:`can` does not list (``needs root``); None if there is
        nothing to say but that the backend does not have it."""

    def problems(self, cluster: Cluster) -> list[str]:
        """Why this cluster cannot be brought up here (its runtime, its file system); nothing is made."""


class Lifecycle(Protocol):
    """A cluster's life, and its time. Methods that act on a node raise ``KeyError`` for an unknown one, and
    :class:`BackendError` if the place does not let them."""

    poll_ns: int
    """How often the harness had best look at the cluster: looking costs time where time is real."""

    def build(self, cluster: Cluster, seed: int, spool: Path | None = None, *, needs: Needs = None) -> None:
        """Create the cluster's nodes and start them all. Returns before they are up: they come up while time advances.

        ``needs``: what the schedule may use, so that nothing is prepared for the rest.
        ``spool``: a directory for what is recorded while the run goes on, which outlives the backend; None: it finds
        one of its own, where it needs one.
        """

    def now_ns(self) -> int:
        """Run time in nanoseconds since :meth:`build`."""

    def advance(self, until_ns: int) -> None:
        """Let the cluster live until run time ``until_ns``."""

    def start(self, node: str) -> None:
        """Start a node that is down (a new incarnation over whatever its disk holds)."""

    def held_up(self, node: str) -> HeldUp | None:
        """What must be done before this backend starts this process; None: nothing."""

    def close(self) -> None:
        """Remove everything. Idempotent."""


class Observation(Protocol):
    """What is seen of a cluster, and recorded."""

    def state(self, node: str) -> NodeState:
        """What was done to the node's process last."""

    def incarnation(self, node: str) -> int:
        """How often the node was started; 0 before the first start."""

    def events_since(self, seq: int) -> Sequence[TimedEvent]:
        """Node events with number ``seq`` or later, in order; those before have been looked at, and may be forgotten.
        Of kinds that come with every record, a backend may hand out no more than the last of those that came up
        together."""

    def event_lines(self) -> Iterable[bytes]:
        """All node events as lines of ``events/nodes.jsonl``, without line ends. They can be gone through any number of
        times, also after :meth:`Lifecycle.close`."""

    def metric_samples(self) -> Iterable[MetricRow]:
        """All series of all living nodes, now."""

    def violations(self) -> Sequence[InvariantViolation]:
        """Invariants that the backend itself saw broken while the run went on."""

    def replica_dump(self) -> Generator[Dumped, None, None]:
        """Every record of every replica's log, stopped brokers' too, batch by batch.

        Close it if you do not take all: it holds files of the nodes' disks open.

        Raises :class:`BackendError` if a log cannot be read: a part of the rows would be judged as if it were all.
        """

    def inconclusive_reasons(self) -> Sequence[str]:
        """What the backend itself saw that makes the run impossible to judge: a node that ended without a fault or a
        crash (``node-crashed``, which is a finding) to explain it, an event file that cannot be read."""

    def files(self) -> Mapping[str, bytes]:
        """Files to keep with the run (logs and configs of nodes), by their path in the run directory."""

    def trace_digest(self) -> str:
        """Hex digest over everything that happened, equal for equal runs; ``""`` where runs cannot be equal."""


class EventFiles(NamedTuple):
    """Where events are written while a run goes on: ``paths`` by time, each with lines as nodes write them. Further
    paths come behind these. ``start_ns``: when run time began, by CLOCK_MONOTONIC, which is the time of the lines."""

    start_ns: int
    paths: Sequence[Path]


@runtime_checkable
class RecordsToFiles(Protocol):
    """A place whose nodes write their events into files of this machine."""

    def event_files(self) -> EventFiles:
        """The files so far. :meth:`Observation.event_lines` are a merge of them."""


@runtime_checkable
class ObservesWithDelay(Protocol):
    """A place whose nodes' events come by way of machines that may be slow to answer."""

    def observed_until_ns(self) -> int:
        """Return the run time up to which :meth:`Observation.events_since` has handed out all that happened."""


@runtime_checkable
class ElectsByZnode(Protocol):
    """A place where releases run that have no request to elect preferred leaders: their controllers watch a znode."""

    def elects_by_znode(self) -> bool:
        """Return whether the release of this run is one of them."""

    def elect_preferred(self, partitions: Sequence[tuple[str, int]], on_outcome: Callable[[str | None], None]) -> None:
        """Ask for an election of these partitions. ``on_outcome`` gets why that failed, or None. To be called by
        :meth:`Backend.post`."""


@runtime_checkable
class OwnsTopics(Protocol):
    """A place where nothing but a run's own topics may be deleted when it is over."""

    def creating(self, topic: str) -> None:
        """Note that the run is about to create a topic."""

    def created(self, topic: str, topic_id: str) -> None:
        """Note that it has, and the topic's id (hex)."""

    def not_created(self, topic: str) -> None:
        """Note that somebody else had created it before."""


@runtime_checkable
class Attaches(Protocol):
    """A place that runs experiments on clusters that it did not make, and that say nothing of themselves but what
    clients may ask for."""

    def is_attached(self) -> bool:
        """Return whether it does."""


@runtime_checkable
class Borrows(Protocol):
    """A place that may run an experiment on a cluster of somebody else's."""

    def is_borrowed(self) -> bool:
        """Return whether it does, so that others may have changed what the nodes are set to."""


@runtime_checkable
class HasClocks(Protocol):
    """A place whose nodes run on several machines, each with a clock of its own."""

    def clock_errors_ns(self) -> Mapping[str, int]:
        """Return how far the run times of each node's events may be off, by node."""


@runtime_checkable
class ShowsControllers(Protocol):
    """A place that can look into the memory of controllers and brokers."""

    def known_to_controllers(self) -> Mapping[str, KnownMetadata]:
        """Return what each live controller has as committed, by node."""

    def known_to_brokers(self) -> Mapping[str, KnownLeaders]:
        """Return what each live broker acts on, by node."""


@runtime_checkable
class ShowsRest(Protocol):
    """A place that can look into all nodes at once."""

    def unrest(self) -> Iterator[InvariantViolation]:
        """Yield what must agree once the cluster is at rest, and does not agree now."""

    def is_at_rest(self) -> bool:
        """Return whether :meth:`unrest` has nothing to yield. To ask this often costs less."""


@runtime_checkable
class LosesNodes(Protocol):
    """A place where nodes may be removed for good while the run goes on."""

    def is_gone(self, node: str) -> bool:
        """Return whether a node has been removed, and with it everything that a fault did to it."""


class Backend(Capabilities, Lifecycle, Observation, ClientHost, Protocol):
    """A place where a cluster runs. Which faults it can inject follows from the primitives that it implements as well
    (:mod:`~.primitives`)."""

    @property
    def primitives(self) -> frozenset[Primitive]:
        """What can be done to a cluster of our own runtime."""
