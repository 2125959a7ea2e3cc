"""``diskWipe``: a broken disk is replaced by an empty one. The node is killed first; it comes back with nothing."""

from __future__ import annotations

from typing import ClassVar

from highwater_chaos.backends.primitives import Primitive, WipesDisks
from highwater_chaos.base.process import Process
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import Drawn, FaultContext, target_of
from highwater_chaos.faults.drawing import Drawing
from highwater_chaos.faults.nodes import NodeDownFault, RestartAfter, seen_down


class DiskWipe(NodeDownFault):
    """The disk is replaced by an empty one under a stopped node, which is then started again."""

    KIND: ClassVar[str] = "diskWipe"
    RANK: ClassVar[int] = 4
    EFFECT: ClassVar[Effect] = Effect.ENDS_PROCESSES
    LOSES_CACHE: ClassVar[bool] = True
    SUFFERED: ClassVar[str] = "lost its disk"
    target: Victims
    restart_after: RestartAfter = None

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({WipesDisks})

    @property
    def lasts_ns(self) -> int | None:
        """Until ``restartAfter``."""
        return self.restart_after

    @property
    def replaces_disk(self) -> bool:
        """Return True: the disk is replaced."""
        return True

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw a broker: a voter that forgets its vote breaks Raft's own assumptions."""
        node = drawing.node("brokers")
        return None if node is None else Drawn(cls(target=target_of(node)), (node,))

    def inject(self, context: FaultContext) -> Process[None]:
        """Kill, then wipe. Confirmed by a look at the empty disk."""
        for touch in context.aim_at_processes(self.target):
            node = touch.name
            context.using(WipesDisks).kill_and_wipe(node)
            down = yield from seen_down(context, touch, "kill")
            if down:
                empty = context.using(WipesDisks).disk_is_empty(node)
                context.record_evidence(
                    touch, f"the disk of {node} is {'empty' if empty else 'not empty'}", empty, node=node
                )
