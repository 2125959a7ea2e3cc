"""``sessionExpiry``: the broker's session with the controller expires although the broker lives.

In KRaft mode a session is the controller's memory of heartbeats, so it expires honestly only when heartbeats stay
away: the broker's heartbeats are lost on the way until the controllers have fenced it. Nothing else of its traffic is
touched: it goes on leading and fetching, unaware, which is what makes an expired session dangerous.
"""

from __future__ import annotations

from functools import partial
from typing import ClassVar, Final

from highwater_chaos.backends.primitives import AppliesRpcRules, Primitive, RpcRule
from highwater_chaos.experiment.nodes import node_id
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.faults.base import Drawing, Drawn, Fault, FaultContext, Seen, Touch, target_of
from highwater_chaos.faults.messages import rule_is_gone
from highwater_chaos.process import Process, Sleep
from highwater_runtime.config import NodeConfig
from highwater_runtime.ports import MS, SECOND

_SLACK_NS: Final = 60 * SECOND
"""On top of the session time-out: other faults may leave no controller active for a while, and a new one counts from
its election."""


class SessionExpiry(Fault):
    """The broker's session with the controller expires although the broker lives."""

    KIND: ClassVar[str] = "sessionExpiry"
    target: Victims

    @property
    def needs(self) -> frozenset[Primitive]:
        """Interference by RPC."""
        return frozenset({AppliesRpcRules})

    @property
    def healed_within_ns(self) -> int:
        """Heartbeats that pass again may have to wait for a controller to be elected."""
        return _SLACK_NS

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw a broker; None if it has no session to lose."""
        node = drawing.node("brokers")
        if node is None or not drawing.view.is_unfenced(node_id(node)):
            return None
        return Drawn(cls(target=target_of(node)), (node,))

    def inject(self, context: FaultContext) -> Process[None]:
        """Lose heartbeats until each target is fenced. Confirmed by the controllers' record that fences the broker."""
        view = context.view
        with_session: list[Touch] = []
        for touch in context.aim(self.target):
            node = touch.name
            if node.startswith("controller-"):
                context.saw(touch, f"{node} is a controller and has no broker session", False, node=node)
            elif not view.is_unfenced(node_id(node)):
                context.saw(touch, f"{node} is fenced or not registered: it has no session to lose", False, node=node)
            else:
                with_session.append(touch)
        before = {touch.name: view.fenced_count.get(node_id(touch.name), 0) for touch in with_session}
        rules = {
            touch.name: context.add_rule(RpcRule("drop", "BrokerHeartbeat", (touch.name,))) for touch in with_session
        }
        timeout = NodeConfig.of(context.cluster.config).broker_session_timeout_ms * MS + _SLACK_NS
        for touch in with_session:
            node = touch.name
            fenced = yield from context.confirm(
                partial(_fenced_since, context, node_id(node), before[node]),
                f"the session of {node} has expired",
                timeout,
            )
            what = f"the session of {node} {'was seen expired' if fenced else 'did not expire'}"
            context.saw(touch, what, fenced, node=node)
            context.saw(rules[node], what, fenced, node=node)

    def heal(self, context: FaultContext) -> Process[None]:
        """Let heartbeats pass."""
        context.undo_each(context.remove_rule, "rule")
        yield Sleep(0)

    def probe(self, context: FaultContext, touch: Touch) -> Seen:
        """Look whether the rule is gone, and whether the controllers have the broker unfenced, with a session."""
        if touch.kind == "rule":
            return rule_is_gone(context, touch)
        node = touch.name
        if node.startswith("controller-"):
            return Seen(True, f"{node} has no broker session")
        live = context.view.is_unfenced(node_id(node))
        return Seen(
            live, f"{node} {'is unfenced: it has a session again' if live else 'has no session'}", {"node": node}
        )


def _fenced_since(context: FaultContext, broker: int, before: int) -> bool:
    return context.view.fenced_count.get(broker, 0) > before
