"""Faults of one node: what they are made on, and how they are seen.

A node is a process, a volume and a network namespace of this machine, whoever has started it: a run of the backend
``local`` or the kubelet. A :class:`NodeFault` is a :class:`~.resource.Resource` that knows how to find what it acts on
there. All that is asked of a machine for a kind of fault is such a class and its line in :mod:`~.primitives`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple, Protocol, Self

from highwater_chaos.machine.disk.power_loss import try_to_write
from highwater_chaos.machine.disk.volumes import Volume
from highwater_chaos.machine.process.processes import Process
from highwater_chaos.machine.resource import Resource

Part = Literal["processes", "volume", "network"]
"""What of a node a fault is done to."""


class MachineNode(Protocol):
    """One node. Methods raise ``MachineError``, or what its owner has for it, where it does not have the thing now."""

    @property
    def name(self) -> str:
        """Return the name that messages show."""

    def running(self) -> Process | None:
        """Its processes; None: it does not run."""

    def processes(self) -> Process:
        """The same of a node that must run."""

    def volume(self) -> Volume:
        """The volume with its data, if it is one that may be harmed."""

    def network(self) -> str:
        """Its network namespace, which must be its own."""


class Seen(NamedTuple):
    """What a probe saw of a fault. Neither in force nor gone: something else is wrong."""

    what: str
    in_force: bool
    gone: bool
    details: Mapping[str, Any]


class NodeFault(Resource, Protocol):
    """A fault of one node that lasts until it is undone."""

    ACTS_ON: ClassVar[Part]
    """What of the node has the fault. With its processes it ends."""
    MAY_END_NODES: ClassVar[bool]
    """Whether a node may well end by itself because of it."""

    @classmethod
    def on(cls, node: MachineNode, /, *parameters: Any, **named: Any) -> Self:
        """The fault of a node, not made yet. Parameters are those of the primitive, and have bounds in their types, and
        defaults with which a machine tries the fault (:mod:`~.capabilities`).

        Raises:
            MachineError: the node does not have what it acts on.
        """

    def seen(self, *, closely: bool = True) -> Seen:
        """Probe: look at it now. ``closely``: the look may take seconds."""


def met_by_write(volume: Volume) -> str | None:
    """Probe: the error that a small write to a volume meets; None: it works."""
    return try_to_write(Path(volume.mount_point)) if volume.mounted() else "not mounted"


@dataclass(frozen=True, slots=True)
class VolumeFault:
    """What faults of disks have in common."""

    ACTS_ON: ClassVar[Part] = "volume"
    MAY_END_NODES: ClassVar[bool] = True
    MEETS: ClassVar[str]
    """What a probe's write meets."""
    volume: Volume

    @classmethod
    def on(cls, node: MachineNode, /) -> Self:
        return cls(node.volume())

    def seen(self, *, closely: bool = True) -> Seen:
        del closely
        return self._seen(met_by_write(self.volume))

    def _seen(self, met: str | None) -> Seen:
        saw = f"a write to volume {self.volume.name} {'works' if met is None else f'fails with {met}'}"
        return Seen(saw, met == self.MEETS, met is None, {"met": met or "ok", "expected": self.MEETS})
