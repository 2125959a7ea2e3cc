"""What faults on processes share: how a node is seen to be gone, and how it is brought back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.faults.base import CONFIRM_NS, FaultContext
from highwater_chaos.schedule.process import Process


def seen_down(context: FaultContext, node: str, reason: str, timeout_ns: int | None = None) -> Process[bool]:
    """Evidence that the node's process is gone and that the host's event says why. A node that was down before (it was
    stopped, and now its machine loses power) has a newer event to look at."""
    backend, view = context.backend, context.view
    context.look()

    def gone() -> bool:
        seen = view.nodes.get(node)
        return backend.state(node) is NodeState.DOWN and seen is not None and not seen.up

    if timeout_ns is None:
        down = yield from context.confirm(gone, f"{node} is down")
    else:
        down = yield from context.confirm(gone, f"{node} is down", timeout_ns)
    found = view.nodes[node].last_stop_reason if node in view.nodes else ""
    context.saw(
        f"{node} is {'down' if down else 'still ' + backend.state(node).value}",
        down and found == reason,
        node=node,
        reason=found,
    )
    return down


def bring_back(context: FaultContext, nodes: Sequence[str]) -> Process[None]:
    """Start those of the nodes that are down; evidence that each runs again, in which incarnation. Where somebody else
    starts processes, and lets one wait, so do we."""
    backend = context.backend
    for node in nodes:
        if backend.state(node) is NodeState.DOWN:
            backend.start(node)
    for node in nodes:
        runs = partial(_runs, context, node)
        up = yield from context.confirm(runs, f"{node} runs")
        held_up = None if up else backend.held_up(node)
        if held_up is not None:
            up = yield from context.confirm(runs, held_up.why, held_up.at_most_ns + CONFIRM_NS)
            held_up = None if up else backend.held_up(node) or held_up
        why = backend.state(node).value if held_up is None else held_up.why
        context.saw_healed(
            f"{node} {'runs again' if up else 'does not run: ' + why}",
            up,
            node=node,
            incarnation=backend.incarnation(node),
        )


def _runs(context: FaultContext, node: str) -> bool:
    seen = context.view.nodes.get(node)
    state = context.backend.state(node)
    return state in (NodeState.UP, NodeState.PAUSED) and seen is not None and seen.up
