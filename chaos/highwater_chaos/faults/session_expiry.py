"""``sessionExpiry``: the broker's session with the controller expires although the broker lives.

In KRaft mode a session is the controller's memory of heartbeats, so it expires honestly only when heartbeats stay
away: the broker's heartbeats are lost on the way until the controllers have fenced it. Nothing else of its traffic is
touched: it goes on leading and fetching, unaware, which is what makes an expired session dangerous.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import ClassVar, Final

from highwater_chaos.backends.protocol import Capability, RpcRule, node_id
from highwater_chaos.experiment.faults import SessionExpiry
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.rules import Rules
from highwater_chaos.schedule.process import Process, Sleep
from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import MS, SECOND

_SLACK_NS: Final = 60 * SECOND
"""On top of the session time-out: other faults may leave no controller active for a while; a new one counts anew."""


@dataclass(frozen=True, slots=True)
class SessionExpiryFault:
    """Confirmed by the controllers' record that fences the broker; healed once heartbeats pass again."""

    KIND: ClassVar[str] = "sessionExpiry"
    model: SessionExpiry
    rules: Rules

    @property
    def needs(self) -> frozenset[Capability]:
        """Interference by RPC."""
        return frozenset({Capability.RPC_RULES})

    @property
    def lasts_ns(self) -> int | None:
        """Until healed: the broker stays fenced as long."""
        return None

    def inject(self, context: FaultContext) -> Process[None]:
        """Lose heartbeats until each target is fenced."""
        view = context.view
        nodes = context.resolve(self.model.target)
        with_session: list[str] = []
        for node in nodes:
            if node.startswith("controller-"):
                context.saw(f"{node} is a controller and has no broker session", False, node=node)
            elif not view.is_unfenced(node_id(node)):
                context.saw(f"{node} is fenced or not registered: it has no session to lose", False, node=node)
            else:
                with_session.append(node)
        before = {node: view.fenced_count.get(node_id(node), 0) for node in with_session}
        for node in with_session:
            self.rules.add(context, RpcRule("drop", "BrokerHeartbeat", sources=(node,)))
        timeout = NodeConfig.of(context.cluster.config).broker_session_timeout_ms * MS + _SLACK_NS
        for node in with_session:
            fenced = yield from context.confirm(
                partial(_fenced_since, context, node_id(node), before[node]),
                f"the session of {node} has expired",
                timeout,
            )
            context.saw(
                f"the session of {node} {'was seen expired' if fenced else 'did not expire'}", fenced, node=node
            )

    def heal(self, context: FaultContext) -> Process[None]:
        """Let heartbeats pass."""
        self.rules.remove_all(context)
        context.saw_healed("heartbeats pass again")
        yield Sleep(0)


def _fenced_since(context: FaultContext, broker: int, before: int) -> bool:
    return context.view.fenced_count.get(broker, 0) > before
