"""``kill``: SIGKILL. The process is gone at once; the page cache, and with it every completed write, stays."""

from __future__ import annotations

from typing import ClassVar

from highwater_chaos.backends.primitives import KillsNodes, Primitive
from highwater_chaos.base.process import Process
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.nodes import NodeDownFault, RestartAfter, seen_down


class Kill(NodeDownFault):
    """SIGKILL: the process is gone at once, the page cache stays."""

    KIND: ClassVar[str] = "kill"
    RANK: ClassVar[int] = 1
    ALSO_CALLED: ClassVar[tuple[str, ...]] = ("crash",)
    SUFFERED: ClassVar[str] = "was killed"
    EFFECT: ClassVar[Effect] = Effect.ENDS_PROCESSES | Effect.KEEPS_CONNECTIONS
    target: Victims
    restart_after: RestartAfter = None

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({KillsNodes})

    @property
    def lasts_ns(self) -> int | None:
        """Until ``restartAfter``."""
        return self.restart_after

    def inject(self, context: FaultContext) -> Process[None]:
        """Kill all targets. Confirmed by the host's event that the process was killed."""
        touched = context.aim_at_processes(self.target)
        for touch in touched:
            context.using(KillsNodes).kill(touch.name)
        for touch in touched:
            yield from seen_down(context, touch, "kill")
