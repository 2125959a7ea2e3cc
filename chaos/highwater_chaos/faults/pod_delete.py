"""``podDelete``: a pod is deleted, as by a rollout or by hand; whoever made it makes another one."""

from __future__ import annotations

from typing import ClassVar

from highwater_chaos.backends.primitives import ReplacesPods
from highwater_chaos.base.process import Process
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.replaced_pods import ReplacedPodFault, seen_gone, uids_of


class PodDelete(ReplacedPodFault):
    """The pods are deleted, with their grace period. Only on Kubernetes."""

    KIND: ClassVar[str] = "podDelete"
    RANK: ClassVar[int] = 31
    SUFFERED: ClassVar[str] = "lost its pod"

    @property
    def lasts_ns(self) -> int | None:
        """It is over when it has been done."""
        return 0

    def inject(self, context: FaultContext) -> Process[None]:
        """Delete all pods. Confirmed when the pods that were there are gone."""
        touched = context.aim_at_processes(self.target)
        before = yield from uids_of(context, touched)
        for touch in touched:
            context.using(ReplacesPods).delete_pod(touch.name)
        for touch in touched:
            yield from seen_gone(context, touch, before[touch.name])
