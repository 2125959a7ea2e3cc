"""``nodeReboot``: the machine is reset by its kernel, without a sync. What the page cache had is lost, of every pod.

The record says what boot it was, and is durable before anything happens; the agent that starts in the next boot
finds it there (:meth:`~highwater_operator.agent.service.Faults.tick`). Until the reset, the fault is undone as any
other: then there is none, and the nodes that stand still go on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar, Literal

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.kernel.proc import unwritten_bytes
from highwater_operator.agent.containers import node_container
from highwater_operator.agent.faults.base import Context, Fault
from highwater_operator.agent.pods import Pod
from highwater_operator.agent.records import Evidence


class NodeReboot(Fault):
    """Confirmed twice: by what stands still before the reset, and by another boot after it."""

    RESETS: ClassVar[bool] = True
    kind: Literal["nodeReboot"]

    def inject(self, context: Context) -> list[Evidence]:
        machine = context.machine
        boot = machine.ensure_resettable()
        nodes = machine.nodes()
        still = [pod.name for pod in nodes if _stands_still(context, pod)]
        for pod in nodes:
            machine.sync_events(pod)
        unwritten = unwritten_bytes()
        saw = (
            f"machine {machine.node} is about to be reset in boot {boot}, with {unwritten} bytes that are on no disk;"
            f" the events of {len(nodes)} nodes are, of which {', '.join(still) or 'none'} ran and stand still"
        )
        return [Evidence(saw[:1000], details={"boot": boot, "unwrittenBytes": unwritten})]


def _stands_still(context: Context, pod: Pod) -> bool:
    """Pause a node of a LogCluster. Returns False for one that does not run. Raises ``MachineError``."""
    container = node_container(pod)
    if container is None:
        return False
    try:
        context.make(Pause(replace(context, pod=pod).processes_of(container)))
    except MachineError:
        if node_container(pod) == container:
            raise
        return False  # it has ended meanwhile
    return True
