"""``nodeReboot``: the machine is reset by its kernel and boots again. Its page cache is lost, for every pod on it.

The difference to ``powerLoss``: it is the whole machine, with volumes of any class, the kubelet and the agent; nothing
says how many bytes were lost, and the machine itself decides when it is back.
"""

from __future__ import annotations

from functools import partial
from typing import Annotated, ClassVar

from pydantic import Field

from highwater_chaos.backends.primitives import Primitive, RebootsMachines
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.base.quantities import Duration, format_duration
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import Fault, FaultContext, FaultTarget, ProbeResult
from highwater_chaos.faults.nodes import runs
from highwater_chaos.faults.replaced_pods import GONE_NS
from highwater_chaos.faults.targets import TargetError
from highwater_runtime.ports import SECOND


class NodeReboot(Fault):
    """The machines of the targets are reset and boot again, and every pod on them loses its page cache. Only on
    Kubernetes, on nodes with the label highwater.dev/reboot=allowed."""

    KIND: ClassVar[str] = "nodeReboot"
    RANK: ClassVar[int] = 34
    DRAWN: ClassVar[bool] = False
    EFFECT: ClassVar[Effect] = Effect.ENDS_PROCESSES
    LOSES_CACHE: ClassVar[bool] = True
    SUFFERED: ClassVar[str] = "lost power with its machine"
    target: Victims
    within: Annotated[
        Duration,
        Field(description="How long a machine may take to boot, and its pods to run again after that. A duration."),
    ] = 300 * SECOND

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({RebootsMachines})

    @property
    def lasts_ns(self) -> int | None:
        """It is over when it has been done."""
        return 0

    @property
    def healed_within_ns(self) -> int:
        """As long as the boot may take."""
        return self.within

    def inject(self, context: FaultContext) -> Process[None]:
        """Reset all machines, one after the other, and then wait. Confirmed when each has another boot id."""
        machines = context.using(RebootsMachines)
        aimed_at = context.resolve(self.target)
        for node in aimed_at:
            yield from context.confirm(partial(_has_pod, machines, node), f"{node} has a pod", GONE_NS)
        together = dict.fromkeys(tuple(machines.beside(node)) for node in aimed_at)
        for beside in together:
            context.hit(beside)
        touched = {beside: [context.intend("node", node, (node,)) for node in beside] for beside in together}
        _ensure_alone(context)
        names = {beside: machines.reboot_machine(beside[0], self.within) for beside in together}
        for beside, machine in names.items():

            def is_known(node: str = beside[0]) -> bool:
                return machines.boot_of(node) is not None

            yield from context.confirm(is_known, f"machine {machine} has booted again", self.within)
            boot = machines.boot_of(beside[0])
            if boot is None:
                what = f"machine {machine} has not booted again within {format_duration(self.within)}"
            else:
                what = boot.failure or f"machine {machine} was reset: boot {boot.now} follows boot {boot.before}"
            for touch in touched[beside]:
                ok = boot is not None and not boot.failure
                context.record_evidence(touch, f"{touch.name}: {what}", ok, node=touch.name, machine=machine)

    def heal(self, context: FaultContext) -> Process[None]:
        """The machine does it."""
        del context
        yield Sleep(0)

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Look whether the machine's node is Ready again, and the cluster's node runs in a new incarnation."""
        why = context.using(RebootsMachines).why_not_back(touch.name)
        if why is not None:
            return ProbeResult(False, why)
        ended = any(item.ok and item.of == touch.name for item in context.record.inject_evidence)
        return runs(context, touch, touch.incarnation if ended else 0)


def _has_pod(machines: RebootsMachines, node: str) -> bool:
    return machines.pod_of(node) != ""


def _ensure_alone(context: FaultContext) -> None:
    """Raises ``TargetError`` if another fault is in force on a node of these machines: the reset would end it."""
    own = {touch.name for touch in context.record.intent}
    for other in context.in_force():
        shared = [node for touch in other.intent if touch.kind != "rule" for node in touch.nodes if node in own]
        if other is not context.record and shared:
            what = f"{other.id} ({other.name or other.kind}) is in force on {shared[0]}"
            raise TargetError(f"{what}, and a reset of its machine would end that: let it be healed first")
