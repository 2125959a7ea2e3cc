"""``stop``: SIGTERM. The node shuts down cleanly: controlled shutdown, flush, clean-shutdown marker."""

from __future__ import annotations

from typing import ClassVar

from highwater_chaos.backends.primitives import Primitive, StopsNodes
from highwater_chaos.base.process import Process
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.nodes import SHUTDOWN_NS, NodeDownFault, RestartAfter, seen_down


class Stop(NodeDownFault):
    """SIGTERM: controlled shutdown."""

    KIND: ClassVar[str] = "stop"
    RANK: ClassVar[int] = 2
    SUFFERED: ClassVar[str] = "was stopped"
    EFFECT: ClassVar[Effect] = Effect.ENDS_PROCESSES | Effect.KEEPS_CONNECTIONS | Effect.STOPS_IN_ORDER
    target: Victims
    restart_after: RestartAfter = None

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({StopsNodes})

    @property
    def lasts_ns(self) -> int | None:
        """Until ``restartAfter``."""
        return self.restart_after

    def inject(self, context: FaultContext) -> Process[None]:
        """Ask all targets to stop. Confirmed by the host's event that each stopped by itself."""
        touched = context.aim_at_processes(self.target)
        for touch in touched:
            context.using(StopsNodes).stop(touch.name)
        for touch in touched:
            yield from seen_down(context, touch, "stop", SHUTDOWN_NS)
