"""``restart``: a rolling restart. Each target in turn is stopped cleanly and started; the next follows once the one
before is back and in sync, as an operator rolls a cluster. With ``config`` each starts with other properties, and keeps
them: a rolling upgrade of ``inter.broker.protocol.version``."""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from pydantic import Field

from highwater_chaos.backends.primitives import ConfiguresNodes, Primitive, StopsNodes
from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.base.process import Process
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.nodes import node_id
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.nodes import SHUTDOWN_NS, NodeDownFault, seen_down
from highwater_runtime.ports import SECOND

BACK_NS: Final = 60 * SECOND
"""How long a restarted node may take to be in sync again."""


class Restart(NodeDownFault):
    """Clean restart of each target in turn, the next once the one before is back (rolling)."""

    KIND: ClassVar[str] = "restart"
    RANK: ClassVar[int] = 3
    SUFFERED: ClassVar[str] = "was restarted"
    EFFECT: ClassVar[Effect] = Effect.KEEPS_CONNECTIONS | Effect.STOPS_IN_ORDER | Effect.ONE_AFTER_THE_OTHER
    target: Victims
    config: dict[str, str | int | bool] = Field(
        description="Properties, by Kafka's names, that each target has from now on.", default_factory=dict
    )

    @property
    def needs(self) -> frozenset[Primitive]:
        """Stop; and configuration of a single node where there is any."""
        return frozenset({StopsNodes, ConfiguresNodes} if self.config else {StopsNodes})

    @property
    def lasts_ns(self) -> int | None:
        """It is over when it has been done."""
        return 0

    def inject(self, context: FaultContext) -> Process[None]:
        """Roll. Confirmed by each node's new incarnation; a broker is unfenced and in the ISR of what it replicates."""
        backend = context.backend
        for touch in context.aim_at_processes(self.target):
            node, before = touch.name, backend.incarnation(touch.name)
            context.using(StopsNodes).stop(node)
            down = yield from seen_down(context, touch, "stop", SHUTDOWN_NS)
            if not down:
                return
            if self.config:
                context.using(ConfiguresNodes).configure(node, self.config)
            backend.start(node)
            back = yield from context.confirm(
                partial(_is_back, context, node, before),
                f"{node} is back in sync",
                BACK_NS,
            )
            now = backend.incarnation(node)
            context.record_evidence(
                touch,
                f"{node} {'is back' if back else 'is not back in sync'} in incarnation {now}",
                back and now > before,
                node=node,
                incarnation=now,
            )
            if not back:
                return


def _is_back(context: FaultContext, node: str, before: int) -> bool:
    view = context.view
    if context.backend.state(node) is not NodeState.UP or context.backend.incarnation(node) <= before:
        return False  # on Kubernetes the incarnation that was stopped may be the last one heard of
    if not node.startswith("broker-"):
        return view.active_controller() is not None  # there is a quorum, or an ensemble, that has elected it
    broker = node_id(node)
    return view.is_unfenced(broker) and all(
        broker in partition.isr for partition in view.partitions.values() if broker in partition.replicas
    )
