"""``pause``: SIGSTOP for a while, as a long garbage collection or a frozen virtual machine would do."""

from __future__ import annotations

from typing import ClassVar

from highwater_chaos.backends.primitives import PausesNodes, Primitive
from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import Drawn, Fault, FaultContext, FaultTarget, ProbeResult, target_of
from highwater_chaos.faults.drawing import Drawing
from highwater_runtime.ports import MS


class Pause(Fault):
    """SIGSTOP, as a long garbage collection would; SIGCONT on heal."""

    KIND: ClassVar[str] = "pause"
    RANK: ClassVar[int] = 8
    ALSO_CALLED: ClassVar[tuple[str, ...]] = ("hang", "freeze")
    SUFFERED: ClassVar[str] = "hung (pause)"
    EFFECT: ClassVar[Effect] = Effect.HOLDS_PROCESSES | Effect.LOSES_RESPONSES
    target: Victims

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({PausesNodes})

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        node = drawing.node("brokers", "quorum")
        return None if node is None else Drawn(cls(target=target_of(node)), (node,))

    def inject(self, context: FaultContext) -> Process[None]:
        """Pause all targets. Confirmed by the kernel's word for the process: all of its threads stand still. The node's
        silence is none: what it said before may arrive later, and an idle node says nothing."""
        backend, pauses = context.backend, context.using(PausesNodes)
        touched = context.aim_at_processes(self.target)
        for touch in touched:
            if backend.state(touch.name) is NodeState.UP:
                pauses.pause(touch.name, context.undone_by_ns)
            else:
                state = backend.state(touch.name).value
                context.record_evidence(touch, f"{touch.name} is {state}: nothing to pause", False, node=touch.name)
        yield Sleep(20 * MS)
        for touch in touched:
            process = pauses.process_state(touch.name)
            saw = f"the process of {touch.name} is {process}"
            context.record_evidence(touch, saw, process == "stopped", node=touch.name)

    def heal(self, context: FaultContext) -> Process[None]:
        context.undo_each(lambda touch: context.using(PausesNodes).resume(touch.name))
        yield Sleep(0)

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Look at the process: the kernel has it running, or it has ended (by another fault) and its pause with it."""
        state = context.using(PausesNodes).process_state(touch.name)
        return ProbeResult(state != "stopped", f"the process of {touch.name} is {state}", {"node": touch.name})
