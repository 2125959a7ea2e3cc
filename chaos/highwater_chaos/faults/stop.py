"""``stop``: SIGTERM. The node shuts down cleanly: controlled shutdown, flush, clean-shutdown marker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Final

from highwater_chaos.backends.protocol import Capability
from highwater_chaos.experiment.faults import Stop
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.nodes import bring_back, seen_down
from highwater_chaos.schedule.process import Process
from highwater_runtime.ports import SECOND

SHUTDOWN_NS: Final = 60 * SECOND
"""Longer than Kafka's own bound on a controlled shutdown (30 s)."""


@dataclass(frozen=True, slots=True)
class StopFault:
    """Confirmed by the host's event that the node stopped by itself."""

    KIND: ClassVar[str] = "stop"
    model: Stop

    @property
    def needs(self) -> frozenset[Capability]:
        """Stop."""
        return frozenset({Capability.STOP})

    @property
    def lasts_ns(self) -> int | None:
        """Until ``restartAfter``."""
        return self.model.restart_after

    def inject(self, context: FaultContext) -> Process[None]:
        """Ask all targets to stop, and wait until they have."""
        nodes = context.resolve(self.model.target)
        for node in nodes:
            context.backend.stop(node)
        for node in nodes:
            yield from seen_down(context, node, "stop", SHUTDOWN_NS)

    def heal(self, context: FaultContext) -> Process[None]:
        """Start them again."""
        yield from bring_back(context, context.record.targets)
