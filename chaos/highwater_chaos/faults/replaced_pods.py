"""What faults share after which a node's pod is another one: how it is seen to be gone, and to be back."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar

from highwater_chaos.backends.primitives import Primitive, ReplacesPods
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import Fault, FaultContext, FaultTarget, ProbeResult
from highwater_chaos.faults.nodes import runs
from highwater_runtime.ports import SECOND

GONE_NS = 150 * SECOND
"""How long a pod may take to end: longer than the grace periods in use."""


class ReplacedPodFault(Fault):
    """Healed when each node runs in its next pod, which whoever made the first one makes."""

    DRAWN: ClassVar[bool] = False
    EFFECT: ClassVar[Effect] = Effect.ENDS_PROCESSES | Effect.KEEPS_CONNECTIONS | Effect.STOPS_IN_ORDER
    target: Victims

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({ReplacesPods})

    def heal(self, context: FaultContext) -> Process[None]:
        del context
        yield Sleep(0)

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Look whether it runs: in a new incarnation, if its pod was seen to go."""
        ended = any(item.ok and item.of == touch.name for item in context.record.inject_evidence)
        return runs(context, touch, touch.incarnation if ended else 0)


def uids_of(context: FaultContext, touched: Sequence[FaultTarget]) -> Process[dict[str, str]]:
    """The pods of nodes, before anything is done to them. Waits for the next pod of a node that is being replaced."""
    pods = context.using(ReplacesPods)

    def has_pod(node: str) -> bool:
        return pods.pod_of(node) != ""

    for touch in touched:
        yield from context.confirm(partial(has_pod, touch.name), f"{touch.name} has a pod", GONE_NS)
    return {touch.name: pods.pod_of(touch.name) for touch in touched}


def seen_gone(context: FaultContext, touch: FaultTarget, uid: str) -> Process[None]:
    """Note evidence that the pod that a node had is gone."""
    pods, node = context.using(ReplacesPods), touch.name

    def is_gone(node: str, uid: str) -> bool:
        return pods.pod_of(node) != uid

    gone = yield from context.confirm(partial(is_gone, node, uid), f"the pod of {node} is gone", GONE_NS)
    context.record_evidence(
        touch, f"pod {uid} of {node} is {'gone' if gone else 'still there'}", gone, node=node, uid=uid
    )
