"""What the harness asks of a place where clusters run (``sim``, ``local``; ``kubernetes`` on the same protocol).

A backend offers *primitives* (kill this node, cut this link); faults are built from them, one file a fault. What a
backend cannot do is missing from :attr:`Backend.capabilities`, and an experiment that needs it is refused before
anything starts.

Time is the backend's: virtual in the simulator, real elsewhere. The harness never sleeps; it asks the backend to
:meth:`~Backend.advance`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from highwater_chaos.experiment import Cluster
from highwater_chaos.workload.client_host import ClientHost
from highwater_runtime.ports.trace import NodeEvent


class BackendError(Exception):
    """A backend could not do what it was asked to: the machine refused, or a node did not answer. The message says
    what and why. The fault that asked has not come about, or is not known to be undone; the run goes on."""


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


class TimedEvent(NamedTuple):
    """One event of a node, or of its host (``NodeStarted``, ``NodeStopped``), at ``time_ns`` of run time. ``seq``
    counts from 0 without gaps what was handed out."""

    seq: int
    time_ns: int
    node: str
    incarnation: int
    event: NodeEvent


@dataclass(frozen=True, slots=True)
class RpcRule:
    """Messages to interfere with. ``rpc`` is Kafka's API name (``AlterPartition``); ``sources`` are clients of the RPC
    and ``destinations`` its servers, whichever ``part`` is meant; empty: any node."""

    action: Literal["hold", "drop", "delay", "duplicate"]
    rpc: str
    sources: tuple[str, ...] = ()
    destinations: tuple[str, ...] = ()
    part: Literal["request", "response"] = "request"
    delay_ns: int = 0


KeepMode = Literal["none", "prefix", "torn"]
ProcessState = Literal["running", "stopped", "gone"]
DiskTrouble = Literal["full", "error", "stall"]


@dataclass(frozen=True, slots=True)
class PowerLossReport:
    """What a power loss took: bytes that were written but not durable, and are gone."""

    lost_bytes: int


@dataclass(frozen=True, slots=True)
class MetricRow:
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


class Capability(Enum):
    """Primitives that a backend may or may not have."""

    POWER_LOSS = "power loss"
    KILL = "kill"
    STOP = "stop"
    DISK_WIPE = "disk wipe"
    DISK_FULL = "full disk"
    DISK_ERROR = "disk errors"
    DISK_STALL = "stalled disk"
    CUT = "network cuts"
    PAUSE = "pause"
    RPC_RULES = "interference by RPC"
    CLOCK_SKEW = "clock skew"
    CLIENT_PROCESSES = "clients in processes of their own"


class Abilities(Protocol):
    """What a place can do to a cluster, known before there is one."""

    @property
    def name(self) -> str:
        """The backend's."""

    def can(self, cluster: Cluster) -> frozenset[Capability]:
        """See :meth:`Backend.can`."""

    def why_not(self, cluster: Cluster, capability: Capability) -> str | None:
        """See :meth:`Backend.why_not`."""

    def problems(self, cluster: Cluster) -> list[str]:
        """See :meth:`Backend.problems`."""


class Backend(ClientHost, Protocol):
    """A place where a cluster runs. Methods that act on a node raise ``KeyError`` for an unknown one, and
    :class:`BackendError` where the place does not let them."""

    name: str
    capabilities: frozenset[Capability]
    """What can be done to a cluster of our own runtime."""
    poll_ns: int
    """How often the harness had best look at the cluster: looking costs time where time is real."""

    # --- before the run ---

    def can(self, cluster: Cluster) -> frozenset[Capability]:
        """What can be done to this cluster: less than :attr:`capabilities` where its runtime is not ours."""

    def why_not(self, cluster: Cluster, capability: Capability) -> str | None:
        """What stands in the way of a capability that :meth:`can` does not list (``needs root``); None where there is
        nothing to say but that the backend does not have it."""

    def problems(self, cluster: Cluster) -> list[str]:
        """Why this cluster cannot be brought up here (its runtime, its file system); nothing is made."""

    # --- life of the run ---

    def build(self, cluster: Cluster, seed: int, spool: Path | None = None) -> None:
        """Create the cluster's nodes and start them all. Returns before they are up: they come up while time advances.

        ``spool``: a directory for what is recorded while the run goes on, which outlives the backend; None: it finds
        one of its own, where it needs one.
        """

    def now_ns(self) -> int:
        """Run time in nanoseconds since :meth:`build`."""

    def advance(self, until_ns: int) -> None:
        """Let the cluster live until run time ``until_ns``."""

    def close(self) -> None:
        """Tear everything down. Idempotent."""

    # --- observation ---

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
        times, also after :meth:`close`."""

    def reachable(self, source: str, destination: str) -> bool:
        """Probe: whether a message from ``source`` to ``destination`` would get through the network now."""

    def process_state(self, node: str) -> ProcessState:
        """Probe: the node's process as its kernel has it."""

    def clock_error(self, node: str) -> tuple[int, float]:
        """Probe: the node's wall clock minus the right one in ns, and its rate (1.0: right)."""

    def disk_probe(self, node: str) -> str:
        """Probe: try to write and sync on the node's disk; ``"ok"``, ``"stalled"`` or the errno's name (``ENOSPC``)."""

    def disk_is_empty(self, node: str) -> bool:
        """Probe: whether the node's data directory holds nothing."""

    def metric_samples(self) -> Iterable[MetricRow]:
        """All series of all living nodes, now."""

    def violations(self) -> Sequence[InvariantViolation]:
        """Invariants that the backend itself saw broken while the run went on (only the simulator looks)."""

    def replica_dump(self) -> Iterator[dict[str, Any]]:
        """Every record of every replica's log, stopped brokers' too: rows of the ``replica_log`` table without
        ``run_id`` (``broker, partition, topic_id, offset, leader_epoch, producer_id, sequence, value, crc``).

        Raises :class:`BackendError` where a log cannot be read: a part of the rows would be judged as if it were all.
        """

    def doubts(self) -> Sequence[str]:
        """What the backend itself saw that makes the run impossible to judge: a node that ended without a fault or a
        crash (``node-crashed``, which is a finding) to explain it, an event file that cannot be read."""

    def files(self) -> Mapping[str, bytes]:
        """Files to keep with the run (logs and configs of nodes), by their path in the run directory."""

    def trace_digest(self) -> str:
        """Hex digest over everything that happened, equal for equal runs; ``""`` where runs cannot be equal."""

    # --- nodes ---

    def start(self, node: str) -> None:
        """Start a node that is down (a new incarnation over whatever its disk holds)."""

    def held_up(self, node: str) -> HeldUp | None:
        """What whoever starts this backend's processes waits for before it starts this one; None: nothing."""

    def kill(self, node: str) -> None:
        """SIGKILL: the process is gone, the page cache stays."""

    def stop(self, node: str) -> None:
        """Ask for a clean shutdown; the node is ``STOPPING``, then ``DOWN``."""

    def power_loss(self, node: str, keep: KeepMode) -> PowerLossReport:
        """The machine loses power: process gone, page cache gone but for what ``keep`` says."""

    def wipe(self, node: str) -> None:
        """Replace the disk of a node that is down by an empty one."""

    def pause(self, node: str, until_ns: int | None = None) -> None:
        """SIGSTOP. Here as with :meth:`cut` and :meth:`disk_trouble`, ``until_ns`` is the run time at which the fault
        ends by itself even where the harness does not get to undo it; None: when the run ends."""

    def resume(self, node: str) -> None:
        """SIGCONT."""

    # --- network, disk, clock ---

    def cut(self, cut: str, source: str, destination: str, until_ns: int | None = None) -> None:
        """Lose every message from ``source`` to ``destination``, on old and new connections. ``cut`` is the caller's
        name for it. Two cuts of one link are both in force."""

    def uncut(self, cut: str) -> None:
        """Undo one :meth:`cut`, also one that failed halfway. Idempotent; nothing if there never was one."""

    def add_rule(self, name: str, rule: RpcRule) -> None:
        """Put a rule into force. ``name`` is the caller's name for it."""

    def rule_matches(self, name: str) -> int:
        """How many messages the rule has acted upon, exactly once it is out of force; before, as far as is known. 0 if
        there never was one."""

    def remove_rule(self, name: str) -> None:
        """Take a rule out of force, also one that failed halfway; what it holds back is let go. Idempotent."""

    def rule_left(self, name: str) -> str | None:
        """Probe, after :meth:`remove_rule`: ask the nodes for the rules that they apply. Returns what is left of this
        one (in force, or messages held back), or None. A node that cannot be asked is something left."""

    def disk_trouble(self, node: str, trouble: DiskTrouble, until_ns: int | None = None) -> None:
        """Make the node's disk full, failing or stalled."""

    def disk_heal(self, node: str) -> None:
        """Undo :meth:`disk_trouble`."""

    def skew_clock(self, node: str, offset_ns: int, rate: float) -> None:
        """Set the node's wall clock off by ``offset_ns`` and let its clock run at ``rate`` (0, 1.0: right again)."""
