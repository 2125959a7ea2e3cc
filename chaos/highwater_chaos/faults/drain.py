"""``drain``: a machine takes no new pods, and those of the cluster on it are evicted, as before its upgrade."""

from __future__ import annotations

from typing import ClassVar

from highwater_chaos.backends.primitives import DrainsMachines, Primitive
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.faults.base import FaultContext, FaultTarget, ProbeResult
from highwater_chaos.faults.evict import Within, evicted
from highwater_chaos.faults.replaced_pods import GONE_NS, ReplacedPodFault
from highwater_runtime.ports import SECOND


class Drain(ReplacedPodFault):
    """The target's machine is cordoned, and the cluster's pods on it are evicted. Only on Kubernetes."""

    KIND: ClassVar[str] = "drain"
    RANK: ClassVar[int] = 33
    SUFFERED: ClassVar[str] = "was drained from its machine"
    within: Within = 60 * SECOND

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({DrainsMachines})

    def inject(self, context: FaultContext) -> Process[None]:
        """Cordon, then evict. Confirmed when the machine is unschedulable, and the pods that were there are gone."""
        machines = context.using(DrainsMachines)
        (first, *_) = context.resolve(self.target)
        yield from context.confirm(lambda: machines.pod_of(first) != "", f"{first} has a pod", GONE_NS)
        context.hit(beside := machines.beside(first))
        touched = [context.intend("node", node, (node,)) for node in beside]
        machine = machines.cordon(first, context.undone_by_ns)
        for touch in touched:
            cordoned = machines.cordoned(first)
            context.record_evidence(touch, f"machine {machine} of {touch.name} takes no pods", cordoned == machine)
        yield from evicted(context, touched, self.within)

    def heal(self, context: FaultContext) -> Process[None]:
        """Let pods onto the machine again."""
        machines = context.using(DrainsMachines)
        context.undo_each(lambda touch: machines.uncordon(touch.name))
        yield Sleep(0)

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Look whether the machine takes pods again, and the node runs."""
        if (machine := context.using(DrainsMachines).cordoned(touch.name)) is not None:
            return ProbeResult(False, f"machine {machine} still takes no pods")
        return super().probe(context, touch)
