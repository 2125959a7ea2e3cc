"""``kill``: SIGKILL. The process is gone at once; the page cache, and with it every completed write, stays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from highwater_chaos.backends.protocol import Capability
from highwater_chaos.experiment.faults import Kill
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.nodes import bring_back, seen_down
from highwater_chaos.schedule.process import Process


@dataclass(frozen=True, slots=True)
class KillFault:
    """Confirmed by the host's event that the process was killed."""

    KIND: ClassVar[str] = "kill"
    model: Kill

    @property
    def needs(self) -> frozenset[Capability]:
        """Kill."""
        return frozenset({Capability.KILL})

    @property
    def lasts_ns(self) -> int | None:
        """Until ``restartAfter``."""
        return self.model.restart_after

    def inject(self, context: FaultContext) -> Process[None]:
        """Kill all targets."""
        nodes = context.resolve(self.model.target)
        for node in nodes:
            context.backend.kill(node)
        for node in nodes:
            yield from seen_down(context, node, "kill")

    def heal(self, context: FaultContext) -> Process[None]:
        """Start them again."""
        yield from bring_back(context, context.record.targets)
