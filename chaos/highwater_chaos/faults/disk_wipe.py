"""``diskWipe``: a broken disk is replaced by an empty one. The node is killed first; it comes back with nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from highwater_chaos.backends.protocol import Capability
from highwater_chaos.experiment.faults import DiskWipe
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.nodes import bring_back, seen_down
from highwater_chaos.schedule.process import Process


@dataclass(frozen=True, slots=True)
class DiskWipeFault:
    """Confirmed by a look at the empty disk."""

    KIND: ClassVar[str] = "diskWipe"
    model: DiskWipe

    @property
    def needs(self) -> frozenset[Capability]:
        """Kill and wipe."""
        return frozenset({Capability.KILL, Capability.DISK_WIPE})

    @property
    def lasts_ns(self) -> int | None:
        """Until ``restartAfter``."""
        return self.model.restart_after

    def inject(self, context: FaultContext) -> Process[None]:
        """Kill, then wipe."""
        for node in context.resolve(self.model.target):
            context.backend.kill(node)
            context.backend.wipe(node)
            yield from seen_down(context, node, "kill")
            empty = context.backend.disk_is_empty(node)
            context.saw(f"the disk of {node} is {'empty' if empty else 'not empty'}", empty, node=node)

    def heal(self, context: FaultContext) -> Process[None]:
        """Start them again, on the new disk."""
        yield from bring_back(context, context.record.targets)
