"""One machine of the simulation: a host with power, a disk and a clock, and at most one process at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from highwater_runtime.ports import Endpoint, NodeCore, Ports
from highwater_runtime.sim.clock import HostClock
from highwater_runtime.sim.connection import Connection
from highwater_runtime.sim.disk import KeepChoice, PowerLossEvidence, SimDisk
from highwater_runtime.sim.process import Process, ProcessState

CoreFactory = Callable[[Ports], NodeCore]


@dataclass(frozen=True, slots=True)
class NodeCrash:
    """A process that ended by what its core raised. ``reason``: ``disk-error`` (an ``OSError`` of a failing disk),
    ``halt`` (a ``NodeHaltError``) or ``exception`` (a bug)."""

    time_ns: int
    node: str
    incarnation: int
    error: Exception
    reason: str


@dataclass(eq=False, slots=True)
class SimNode:
    """A node by name. Its ``process`` is the current incarnation, or the last one."""

    name: str
    port: int
    factory: CoreFactory
    clock: HostClock
    disk: SimDisk
    has_disk: bool
    exceptions_are_findings: bool = False
    """Whether an exception of its core ends this node alone; else it ends the run."""
    process: Process | None = None
    incarnation: int = 0
    powered: bool = True
    orphans: list[Connection] = field(default_factory=list)
    """Connections of peers to processes that a power loss ended."""
    crashes: list[NodeCrash] = field(default_factory=list)
    power_losses: list[PowerLossEvidence] = field(default_factory=list)
    keep_at_power_cut: KeepChoice = "by-seed"
    """What a planned power cut (``disk.cut_power_at``) keeps."""

    @property
    def endpoint(self) -> Endpoint:
        """Where the node listens while it runs."""
        return Endpoint(self.name, self.port)

    @property
    def is_alive(self) -> bool:
        """Whether there is a process, running or paused."""
        return self.process is not None and self.process.state is not ProcessState.DEAD

    @property
    def is_paused(self) -> bool:
        """Whether the process is stopped by SIGSTOP."""
        return self.process is not None and self.process.state is ProcessState.PAUSED

    @property
    def is_held(self) -> bool:
        """Whether the process waits in a write that does not return."""
        return self.process is not None and self.process.is_held

    @property
    def core(self) -> NodeCore | None:
        """The core of the living process; None while there is none, or before it has booted."""
        if self.process is None or not self.is_alive:
            return None
        core: NodeCore | None = self.process.core
        return core

    def listens_on(self, port: int) -> bool:
        """Whether a connection to ``port`` is accepted."""
        return self.is_alive and port == self.port
