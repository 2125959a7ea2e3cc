"""What faults on processes share: how a node is seen to be gone, how it is brought back, and how that is seen."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.base.process import Process, Sleep, Until
from highwater_chaos.base.quantities import Duration
from highwater_chaos.faults.base import (
    CONFIRM_NS,
    Drawn,
    Fault,
    FaultContext,
    FaultTarget,
    ProbeResult,
    target_of,
)
from highwater_chaos.faults.drawing import Drawing
from highwater_runtime.ports import SECOND

RestartAfter = Annotated[
    Duration | None,
    Field(
        description="The node starts again after this time (a duration such as 2s); absent: when the fault is healed."
    ),
]
"""When a node that a fault has stopped comes back."""

SHUTDOWN_NS: Final = 60 * SECOND
"""How long a clean shutdown may take: longer than Kafka's own bound on a controlled shutdown (30 s)."""


class NodeDownFault(Fault):
    """A fault after which its targets do not run. Healed when each runs again, in a new incarnation."""

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        node = drawing.node("brokers", "quorum")
        return None if node is None else Drawn(cls.model_validate({"target": target_of(node)}), (node,))

    def heal(self, context: FaultContext) -> Process[None]:
        yield from start_all_again(context)

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Look whether it runs: in a new incarnation, if it was seen to go down."""
        ended = any(item.ok and item.of == touch.name for item in context.record.inject_evidence)
        return runs(context, touch, touch.incarnation if ended else 0)


def seen_down(context: FaultContext, touch: FaultTarget, reason: str, timeout_ns: int = CONFIRM_NS) -> Process[bool]:
    """Note evidence that the node's process is gone and that the host's event says why. A node that was down before (it
    was stopped, and now its machine loses power) has a newer event to look at."""
    backend, view, node = context.backend, context.view, touch.name
    context.look()

    def gone() -> bool:
        seen = view.nodes.get(node)
        return backend.state(node) is NodeState.DOWN and seen is not None and not seen.up

    down = yield from context.confirm(gone, f"{node} is down", timeout_ns)
    found = view.nodes[node].last_stop_reason if node in view.nodes else ""
    context.record_evidence(
        touch,
        f"{node} is {'down' if down else 'still ' + backend.state(node).value}",
        down and found == reason,
        node=node,
        reason=found,
    )
    return down


def start_all_again(context: FaultContext) -> Process[None]:
    """Start every touched node that is down; one that is still stopping is waited for."""
    backend = context.backend

    def stopping() -> bool:
        return any(backend.state(touch.name) is NodeState.STOPPING for touch in context.record.intent)

    def start(touch: FaultTarget) -> None:
        if backend.state(touch.name) is NodeState.DOWN:
            backend.start(touch.name)

    if stopping():
        yield Until(lambda: not stopping(), SHUTDOWN_NS, "nodes have stopped")
    context.undo_each(start)
    yield Sleep(0)


def runs(context: FaultContext, touch: FaultTarget, after: int = 0) -> ProbeResult:
    """Look whether the node runs, by its own event, in an incarnation later than ``after``."""
    node, backend = touch.name, context.backend
    seen = context.view.nodes.get(node)
    state = backend.state(node)
    incarnation = 0 if seen is None else seen.incarnation
    started = state in (NodeState.UP, NodeState.PAUSED)
    ok = started and seen is not None and seen.up and incarnation > after
    data = {"node": node, "incarnation": incarnation}
    if ok:
        return ProbeResult(True, f"{node} runs again", data)
    held_up = backend.held_up(node)
    why = held_up.why if held_up is not None else "no event of it has come since" if started else state.value
    return ProbeResult(False, f"{node} does not run: {why}", data)
