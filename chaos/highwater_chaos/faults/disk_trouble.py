"""``diskFull`` (ENOSPC), ``diskError`` (EIO), ``diskStall`` (flushes never complete): a disk that is there and fails.

A broker may crash on it, as Kafka does when its log directory fails; healing the disk starts it again.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from highwater_chaos.backends.protocol import Capability, DiskTrouble
from highwater_chaos.experiment.faults import DiskError, DiskFull, DiskStall
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.nodes import bring_back
from highwater_chaos.schedule.process import Process

_SIGN: Final[dict[DiskTrouble, str]] = {"full": "ENOSPC", "error": "EIO", "stall": "stalled"}


@dataclass(frozen=True, slots=True)
class DiskFullFault:
    """Confirmed by a probe's write that fails with ENOSPC."""

    KIND: ClassVar[str] = "diskFull"
    model: DiskFull

    @property
    def needs(self) -> frozenset[Capability]:
        """Full disks."""
        return frozenset({Capability.DISK_FULL})

    @property
    def lasts_ns(self) -> int | None:
        """Until healed."""
        return None

    def inject(self, context: FaultContext) -> Process[None]:
        """Fill the disk."""
        yield from _begin(context, context.resolve(self.model.target), "full")

    def heal(self, context: FaultContext) -> Process[None]:
        """Make room."""
        yield from _end(context)


@dataclass(frozen=True, slots=True)
class DiskErrorFault:
    """Confirmed by a probe's write that fails with EIO."""

    KIND: ClassVar[str] = "diskError"
    model: DiskError

    @property
    def needs(self) -> frozenset[Capability]:
        """Disk errors."""
        return frozenset({Capability.DISK_ERROR})

    @property
    def lasts_ns(self) -> int | None:
        """Until healed."""
        return None

    def inject(self, context: FaultContext) -> Process[None]:
        """Break the disk."""
        yield from _begin(context, context.resolve(self.model.target), "error")

    def heal(self, context: FaultContext) -> Process[None]:
        """Mend it."""
        yield from _end(context)


@dataclass(frozen=True, slots=True)
class DiskStallFault:
    """Confirmed by a probe's flush that does not complete."""

    KIND: ClassVar[str] = "diskStall"
    model: DiskStall

    @property
    def needs(self) -> frozenset[Capability]:
        """Stalled disks."""
        return frozenset({Capability.DISK_STALL})

    @property
    def lasts_ns(self) -> int | None:
        """Until healed."""
        return None

    def inject(self, context: FaultContext) -> Process[None]:
        """Stall the disk."""
        yield from _begin(context, context.resolve(self.model.target), "stall")

    def heal(self, context: FaultContext) -> Process[None]:
        """Let flushes go on."""
        yield from _end(context)


def _begin(context: FaultContext, nodes: tuple[str, ...], trouble: DiskTrouble) -> Process[None]:
    for node in nodes:
        context.backend.disk_trouble(node, trouble, context.undone_by_ns)
    for node in nodes:
        expected = _SIGN[trouble]
        seen = yield from context.confirm(
            partial(_probe_sees, context, node, expected),
            f"a probe on the disk of {node} sees {expected}",
        )
        found = expected if seen else context.backend.disk_probe(node)
        context.saw(f"a probe on the disk of {node} saw {found}", seen, node=node, probe=found)


def _end(context: FaultContext) -> Process[None]:
    for node in context.record.targets:
        context.backend.disk_heal(node)
    for node in context.record.targets:
        seen = yield from context.confirm(
            partial(_probe_sees, context, node, "ok"),
            f"a probe on the disk of {node} succeeds",
        )
        found = "ok" if seen else context.backend.disk_probe(node)
        context.saw_healed(f"a probe on the disk of {node} saw {found}", seen, node=node, probe=found)
    yield from bring_back(context, context.record.targets)


def _probe_sees(context: FaultContext, node: str, expected: str) -> bool:
    return context.backend.disk_probe(node) == expected
