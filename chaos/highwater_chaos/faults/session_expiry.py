"""``sessionExpiry``: the broker's session expires although the broker lives.

In ZooKeeper mode the session is ended from outside: another connection takes it over by its id and password, and closes
it. The broker's ephemeral nodes are gone at once, ``/controller`` among them if it is the controller, and the broker
finds out when it next hears from a server. Until then it goes on leading, and commanding.

In KRaft mode a session is the controller's memory of heartbeats, so it expires honestly only when heartbeats stay
away: the broker's heartbeats are lost on the way until the controllers have fenced it. Nothing else of its traffic is
touched: it goes on leading and fetching, unaware, which is what makes an expired session dangerous.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import ClassVar, Final

from highwater_chaos.backends.primitives import AppliesRpcRules, ExpiresSessions, Primitive, RpcRule
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.base.process import Process, Sleep, Until
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.nodes import node_id
from highwater_chaos.experiment.targets import Victims
from highwater_chaos.experiment.timeouts import timeouts
from highwater_chaos.faults.base import Drawn, Fault, FaultContext, FaultTarget, ProbeResult, target_of
from highwater_chaos.faults.drawing import Drawing
from highwater_chaos.faults.messages import rule_is_gone
from highwater_runtime.ports import MS, SECOND

_SLACK_NS: Final = 60 * SECOND
"""On top of the session time-out: other faults may leave no controller active for a while, and a new one counts from
its election. In ZooKeeper mode: they may leave the ensemble without a majority."""


class SessionExpiry(Fault):
    """The broker's session with the controller, or with ZooKeeper, expires although the broker lives."""

    KIND: ClassVar[str] = "sessionExpiry"
    RANK: ClassVar[int] = 9
    SUFFERED: ClassVar[str] = "lost its session"
    EFFECT: ClassVar[Effect] = Effect.ENDS_SESSIONS
    target: Victims

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({AppliesRpcRules})

    def needs_in(self, cluster: Cluster) -> frozenset[Primitive]:
        """Interference by RPC, or a client of the ensemble."""
        return frozenset({ExpiresSessions}) if cluster.mode == "zookeeper" else self.needs

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
        """End each target's session, or lose heartbeats until it is fenced.

        Confirmed by the servers of the ensemble, which do not know the session any more, and the transaction that
        unregistered the broker; in KRaft mode by the controllers' record that fences it.
        """
        if context.cluster.mode == "zookeeper":
            yield from _end_sessions(context, context.aim(self.target))
        else:
            yield from self._lose_heartbeats(context)

    def _lose_heartbeats(self, context: FaultContext) -> Process[None]:
        view = context.view
        with_session: list[FaultTarget] = []
        for touch in context.aim(self.target):
            node = touch.name
            if node.startswith("controller-"):
                context.record_evidence(touch, f"{node} is a controller and has no broker session", False, node=node)
            elif not view.is_unfenced(node_id(node)):
                context.record_evidence(
                    touch, f"{node} is fenced or not registered: it has no session to lose", False, node=node
                )
            else:
                with_session.append(touch)
        context.record.idle = not with_session
        before = {touch.name: view.fenced_count.get(node_id(touch.name), 0) for touch in with_session}
        rules = {
            touch.name: context.add_rule(RpcRule("drop", "BrokerHeartbeat", (touch.name,))) for touch in with_session
        }
        timeout = timeouts(context.cluster).broker_session_timeout_ms * MS + _SLACK_NS
        for touch in with_session:
            node = touch.name
            fenced = yield from context.confirm(
                partial(_fenced_since, context, node_id(node), before[node]),
                f"the session of {node} has expired",
                timeout,
            )
            what = f"the session of {node} {'was seen expired' if fenced else 'did not expire'}"
            context.record_evidence(touch, what, fenced, node=node)
            context.record_evidence(rules[node], what, fenced, node=node)

    def heal(self, context: FaultContext) -> Process[None]:
        """Let heartbeats pass. A broker whose session was ended begins another by itself."""
        context.undo_each(context.remove_rule, "rule")
        yield Sleep(0)

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Look whether the rule is gone, and whether the broker has a session: it is registered, and not fenced."""
        if touch.kind == "rule":
            return rule_is_gone(context, touch)
        node = touch.name
        if not node.startswith("broker-"):
            return ProbeResult(True, f"{node} has no broker session")
        live = context.view.is_unfenced(node_id(node))
        return ProbeResult(
            live, f"{node} {'is unfenced: it has a session again' if live else 'has no session'}", {"node": node}
        )


def _end_sessions(context: FaultContext, touches: Sequence[FaultTarget]) -> Process[None]:
    """End the sessions at the ensemble."""
    view = context.view
    ended: list[tuple[FaultTarget, int, int]] = []
    without = 0
    for touch in touches:
        node = touch.name
        if not node.startswith("broker-"):
            context.record_evidence(touch, f"{node} is a ZooKeeper server and has no session", False, node=node)
            continue
        session = yield from _session_of(context, node)
        if session is None:
            context.record_evidence(touch, f"nobody said in time which session {node} has", False, node=node)
        elif session == 0:
            context.record_evidence(touch, f"{node} is not registered: it has no session to lose", False, node=node)
            without += 1
        else:
            ended.append((touch, session, view.unregistered_count.get(node_id(node), 0)))
            _has_lost(context, node, *ended[-1][1:])
    for touch, session, before in ended:
        node = touch.name
        gone = yield from context.confirm(
            partial(_has_lost, context, node, session, before), f"the session of {node} has ended", _SLACK_NS
        )
        what = f"session {session:#x} of {node} {'has ended' if gone else 'was not seen to end'}"
        context.record_evidence(touch, what, gone, node=node, session=session)
    context.record.idle = without == len(touches)


def _session_of(context: FaultContext, node: str) -> Process[int | None]:
    """The broker's session; 0: it has none; None: the ensemble and its transactions did not agree on one in time.

    An answer of the ensemble is older than the transactions that have been seen since, or newer: a broker may register
    again, or lose its registration, in between.
    """
    found = 0

    def agree() -> bool:
        nonlocal found
        try:
            found = context.using(ExpiresSessions).session(node)
        except BackendError:
            return False
        context.look()
        broker = context.view.brokers.get(node_id(node))
        if broker is None or broker.broker_epoch < 0:
            return found == 0
        return broker.registered_by == f"{found:032x}"

    agreed = yield Until(agree, _SLACK_NS, f"a ZooKeeper server has said which session {node} has")
    return found if agreed else None


def _has_lost(context: FaultContext, node: str, session: int, before: int) -> bool:
    """Whether two witnesses agree that the session is over: a client of the ensemble, and the transactions."""
    sessions = context.using(ExpiresSessions)
    try:
        if sessions.session(node) == session:
            sessions.end_session(node, session)  # again: the connection that was to close it may have broken
            return False
    except BackendError:
        return False  # nobody has answered yet, and the first look counts as any other
    return context.view.unregistered_count.get(node_id(node), 0) > before


def _fenced_since(context: FaultContext, broker: int, before: int) -> bool:
    return context.view.fenced_count.get(broker, 0) > before
