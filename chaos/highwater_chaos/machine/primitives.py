"""The list of what a machine does to single nodes until it is undone: a small protocol for each primitive.

From this list alone follow

- the methods of backends whose nodes live on this machine
  (:func:`highwater_chaos.backends.on_machines.with_machine_methods`): they make the fault through the run's journal;
- the kinds of faults that a node agent takes, how it reads requests for them, and its probes
  (:mod:`highwater_operator.agent.faults.derived`);
- the methods of the backend on Kubernetes, which ask the agent of the node's machine;
- what the journal may name (``runs.kinds``);
- what is tried of a machine, and so what ``highwater doctor`` and skipped tests say (:mod:`~.capabilities`).

A new primitive is a class of faults in a module of its own (:class:`~.node_fault.NodeFault`), a protocol here, and the
protocol's methods in the simulator.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol, runtime_checkable

from highwater_chaos.machine.faults.cuts import Cut
from highwater_chaos.machine.faults.disk_error import DiskError
from highwater_chaos.machine.faults.disk_freeze import DiskFreeze
from highwater_chaos.machine.faults.disk_full import DiskFull
from highwater_chaos.machine.faults.node_fault import NodeFault
from highwater_chaos.machine.faults.pauses import Pause, process_state
from highwater_chaos.machine.kernel.identity import ProcessState


@dataclass(frozen=True, slots=True)
class Begins:
    """The method begins a fault, for which agents are asked by its ``kind``."""

    kind: str
    fault: type[NodeFault]


@dataclass(frozen=True, slots=True)
class Ends:
    """The method ends faults of this kind."""

    fault: type[NodeFault]


@dataclass(frozen=True, slots=True)
class Probes:
    """The method looks at a node, with a function of the node and of the method's other parameters. It returns plain
    data."""

    look: Callable[..., Any]


Role = Begins | Ends | Probes


@runtime_checkable
class PausesNodes(Protocol):
    """Processes that can be paused."""

    def pause(self, node: str, until_ns: int | None = None) -> None:
        """Stop the node's processes (SIGSTOP)."""

    def resume(self, node: str) -> None:
        """Let the node's processes go on (SIGCONT)."""

    def process_state(self, node: str) -> ProcessState:
        """Probe: the node's processes as the kernel has them; ``stopped`` if any of them is."""


@runtime_checkable
class MendsDisks(Protocol):
    """What disks in trouble of any kind have in common. Backends have these methods of their own: some disks are also
    stalled by their nodes."""

    def disk_heal(self, node: str) -> None:
        """Undo whatever was done to the disk."""

    def disk_probe(self, node: str) -> str:
        """Probe: try to write and sync on the node's disk; ``"ok"``, ``"stalled"`` (a flush does not end),
        ``"blocked"`` (a write does not return) or the errno's name (``ENOSPC``)."""


@runtime_checkable
class FillsDisks(MendsDisks, Protocol):
    """Disks that can be full."""

    def fill_disk(self, node: str, until_ns: int | None = None) -> None:
        """Leave no room on the node's disk."""


@runtime_checkable
class FailsDisks(MendsDisks, Protocol):
    """Disks that can fail."""

    def fail_disk(self, node: str, until_ns: int | None = None) -> None:
        """Let reads and writes on the node's disk fail."""


@runtime_checkable
class BlocksWrites(MendsDisks, Protocol):
    """Disks that can stall so badly that ``write()`` does not return."""

    def block_writes(self, node: str, until_ns: int | None = None) -> None:
        """Let no write to the node's disk return; probes see ``blocked``."""


@runtime_checkable
class CutsLinks(Protocol):
    """Links that can be cut. Backends have these methods of their own: they know the nodes' addresses."""

    def cut(self, cut: str, source: str, destination: str, until_ns: int | None = None) -> None:
        """Lose every message from ``source`` to ``destination``, on old and new connections. ``cut`` is the caller's
        name for it. Two cuts of one link are both in force."""

    def uncut(self, cut: str) -> None:
        """Undo one :meth:`cut`, also one that failed halfway. Idempotent; nothing if there never was one."""

    def reachable(self, source: str, destination: str) -> bool:
        """Probe: whether a message from ``source`` to ``destination`` would get through the network now."""


@dataclass(frozen=True, slots=True)
class MachinePrimitive:
    """``title``: as messages to users name it. ``methods``: what its methods do."""

    title: str
    methods: Mapping[str, Role]

    @property
    def fault(self) -> type[NodeFault]:
        """Return the fault that the primitive brings about."""
        return next(role.fault for role in self.methods.values() if isinstance(role, Begins))


MACHINE_PRIMITIVES: Final[dict[type[Any], MachinePrimitive]] = {
    FillsDisks: MachinePrimitive("full disk", {"fill_disk": Begins("diskFull", DiskFull)}),
    FailsDisks: MachinePrimitive("disk errors", {"fail_disk": Begins("diskError", DiskError)}),
    BlocksWrites: MachinePrimitive("blocked writes", {"block_writes": Begins("diskFreeze", DiskFreeze)}),
    CutsLinks: MachinePrimitive("network cuts", {"cut": Begins("partition", Cut)}),
    PausesNodes: MachinePrimitive(
        "pause",
        {"pause": Begins("pause", Pause), "resume": Ends(Pause), "process_state": Probes(process_state)},
    ),
}
