"""``pause``: SIGSTOP for a while, as a long garbage collection or a frozen virtual machine would do."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from highwater_chaos.backends.protocol import Capability, NodeState
from highwater_chaos.experiment.faults import Pause
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.schedule.process import Process, Sleep
from highwater_runtime.ports import MS


@dataclass(frozen=True, slots=True)
class PauseFault:
    """Confirmed by the process state, and by the node's silence in its event stream for a moment."""

    KIND: ClassVar[str] = "pause"
    model: Pause

    @property
    def needs(self) -> frozenset[Capability]:
        """Pause."""
        return frozenset({Capability.PAUSE})

    @property
    def lasts_ns(self) -> int | None:
        """Until healed."""
        return None

    def inject(self, context: FaultContext) -> Process[None]:
        """Pause all targets."""
        nodes = context.resolve(self.model.target)
        for node in nodes:
            if context.backend.state(node) is not NodeState.UP:
                context.saw(f"{node} is {context.backend.state(node).value}: nothing to pause", False, node=node)
                continue
            context.backend.pause(node, context.undone_by_ns)
        # What it said before it stood still may not have been looked at yet.
        context.look()
        before = {node: _events(context, node) for node in nodes}
        yield Sleep(20 * MS)
        for node in nodes:
            paused = context.backend.state(node) is NodeState.PAUSED
            said = _events(context, node) - before[node]
            context.saw(
                f"{node} is {context.backend.state(node).value} and said {said} things in 20 ms",
                paused and said == 0,
                node=node,
            )

    def heal(self, context: FaultContext) -> Process[None]:
        """Resume those still paused."""
        for node in context.record.targets:
            if context.backend.state(node) is NodeState.PAUSED:
                context.backend.resume(node)
        for node in context.record.targets:
            running = yield from context.confirm(
                partial(_not_paused, context, node),
                f"{node} runs on",
            )
            context.saw_healed(f"{node} is {context.backend.state(node).value}", running, node=node)


def _events(context: FaultContext, node: str) -> int:
    seen = context.view.nodes.get(node)
    return seen.events if seen is not None else 0


def _not_paused(context: FaultContext, node: str) -> bool:
    return context.backend.state(node) is not NodeState.PAUSED
