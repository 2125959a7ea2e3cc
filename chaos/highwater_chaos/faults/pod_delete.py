"""``podDelete``: a pod is deleted, as by a rollout or by hand; whoever made it makes another one."""

from __future__ import annotations

from typing import ClassVar

from highwater_chaos.backends.primitives import Primitive, ReplacesPods
from highwater_chaos.base.process import Process
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.replaced_pods import ReplacedPodFault, seen_gone, uids_of


class PodDelete(ReplacedPodFault):
    """The pods are deleted, with their grace period. Only on pods of others, on Kubernetes."""

    KIND: ClassVar[str] = "podDelete"
    RANK: ClassVar[int] = 31
    DRAWN: ClassVar[bool] = False
    SUFFERED: ClassVar[str] = "lost its pod"
    EFFECT: ClassVar[Effect] = Effect.ENDS_PROCESSES | Effect.KEEPS_CONNECTIONS | Effect.STOPS_IN_ORDER
    target: Victims

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({ReplacesPods})

    @property
    def lasts_ns(self) -> int | None:
        """It is over when it has been done."""
        return 0

    def inject(self, context: FaultContext) -> Process[None]:
        """Delete all pods. Confirmed when the pods that were there are gone."""
        touched = context.aim_at_processes(self.target)
        before = uids_of(context, touched)
        for touch in touched:
            context.using(ReplacesPods).delete_pod(touch.name)
        for touch in touched:
            yield from seen_gone(context, touch, before[touch.name])
