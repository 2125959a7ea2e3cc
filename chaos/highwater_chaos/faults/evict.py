"""``evict``: pods are evicted by the Eviction API, which asks PodDisruptionBudgets first."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from highwater_chaos.backends.primitives import ReplacesPods
from highwater_chaos.base.process import Process
from highwater_chaos.base.quantities import Duration
from highwater_chaos.faults.base import FaultContext, FaultTarget
from highwater_chaos.faults.replaced_pods import ReplacedPodFault, seen_gone, uids_of
from highwater_runtime.ports import SECOND

Within = Annotated[
    Duration,
    Field(description="How long a PodDisruptionBudget may refuse it before that is the outcome. A duration."),
]


class Evict(ReplacedPodFault):
    """The pods are evicted, one after the other, if their PodDisruptionBudget allows it. Only on Kubernetes."""

    KIND: ClassVar[str] = "evict"
    RANK: ClassVar[int] = 32
    SUFFERED: ClassVar[str] = "was evicted"
    within: Within = 60 * SECOND

    @property
    def lasts_ns(self) -> int | None:
        """It is over when it has been done."""
        return 0

    def inject(self, context: FaultContext) -> Process[None]:
        """Evict one pod after the other. Confirmed when the pods that were there are gone."""
        yield from evicted(context, context.aim_at_processes(self.target), self.within)


def evicted(context: FaultContext, touched: list[FaultTarget], within_ns: int) -> Process[None]:
    """Evict the pods of nodes. What a PodDisruptionBudget refuses is evidence that it was not done."""
    before = yield from uids_of(context, touched)
    for touch in touched:
        refusals: list[str | None] = []

        def granted(node: str = touch.name, said: list[str | None] = refusals) -> bool:
            said.append(context.using(ReplacesPods).evict_pod(node))
            return said[-1] is None

        if not (yield from context.confirm(granted, f"{touch.name} may be evicted", within_ns)):
            context.record_evidence(touch, f"the eviction of {touch.name} was refused: {refusals[-1]}", ok=False)
            continue
        yield from seen_gone(context, touch, before[touch.name])
