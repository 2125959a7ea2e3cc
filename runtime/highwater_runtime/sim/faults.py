"""What can be done to the network: cuts between hosts, slow links, and rules about single RPCs.

Semantics, fixed here:

* A *cut* is silence. What is on the way or sent later waits for TCP's retransmission and arrives, in order, some time
  after the cut is healed (a seeded share of at most a second) if its connection still stands; if the client closed it
  (request time-out) or an end lost power, it is lost.
* A *held* or *delayed* request steps out of its connection's line, as if held in the sender's network layer: later
  ones overtake it. It arrives after its release even if its sender has given up or died by then, as a request in the
  server's socket buffer would; but only at the same incarnation that its connection reached.
* A held or delayed *response* keeps its place: responses behind it on the same connection wait, as clients match
  responses by position.
* A *dropped* message vanishes alone; the client's time-out follows.
* A *duplicated* request is handed to the server twice, as a retry over a broken connection would; the second response
  goes nowhere.

``from_nodes`` and ``to_nodes`` of a rule are client and server of the RPC in both directions. Each fault counts what
it caught: a fault without hits is one that did not happen.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal, TypeVar

from highwater_runtime.sim.connection import Pair, RpcDirection
from highwater_runtime.sim.network import Fabric
from highwater_runtime.sim.rules import Cut, Fault, RpcRule, SlowLink, api_name

CutDirection = Literal["both", "aToB", "bToA"]

Nodes = str | Iterable[str]


def names(nodes: Nodes) -> tuple[str, ...]:
    """Sorted node names."""
    return (nodes,) if isinstance(nodes, str) else tuple(sorted(set(nodes)))


class NetworkFaults:
    """Inject and heal. Faults last until healed; healing is idempotent."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self.active: list[Fault] = []

    def cut(self, a: Nodes, b: Nodes, direction: CutDirection = "both") -> Cut:
        """Cut every host of ``a`` from every host of ``b``."""
        cut = Cut(_pairs(a, b, direction))
        for pair in cut.pairs:
            self._fabric.cuts.setdefault(pair, []).append(cut)
        self.active.append(cut)
        return cut

    def isolate(self, nodes: Nodes, direction: CutDirection = "both") -> Cut:
        """Cut ``nodes`` from all other hosts there are now (``aToB``: what ``nodes`` send is lost)."""
        inside = names(nodes)
        return self.cut(inside, [name for name in self._fabric.hosts if name not in inside], direction)

    def slow(self, a: Nodes, b: Nodes, extra_ns: int, direction: CutDirection = "both") -> SlowLink:
        """Clog the way between ``a`` and ``b``."""
        slow = SlowLink(_pairs(a, b, direction), extra_ns)
        for pair in slow.pairs:
            self._fabric.slow.setdefault(pair, []).append(slow)
        self.active.append(slow)
        return slow

    def hold(
        self,
        api: str | None = None,
        *,
        from_nodes: Nodes | None = None,
        to_nodes: Nodes | None = None,
        direction: RpcDirection = "request",
        limit: int | None = None,
    ) -> RpcRule:
        """Keep matching messages back until healed; then they go on in the order in which they were caught."""
        return self._rule(RpcRule("hold", api, _set(from_nodes), _set(to_nodes), direction, limit=limit))

    def drop(
        self,
        api: str | None = None,
        *,
        from_nodes: Nodes | None = None,
        to_nodes: Nodes | None = None,
        direction: RpcDirection = "request",
        limit: int | None = None,
        probability: float = 1.0,
    ) -> RpcRule:
        """Lose matching messages."""
        return self._rule(
            RpcRule("drop", api, _set(from_nodes), _set(to_nodes), direction, limit=limit, probability=probability)
        )

    def delay(
        self,
        delay_ns: int,
        api: str | None = None,
        *,
        from_nodes: Nodes | None = None,
        to_nodes: Nodes | None = None,
        direction: RpcDirection = "request",
        limit: int | None = None,
        probability: float = 1.0,
    ) -> RpcRule:
        """Let matching messages take ``delay_ns`` longer."""
        rule = RpcRule("delay", api, _set(from_nodes), _set(to_nodes), direction, delay_ns, limit, probability)
        return self._rule(rule)

    def duplicate(
        self,
        api: str | None = None,
        *,
        from_nodes: Nodes | None = None,
        to_nodes: Nodes | None = None,
        limit: int | None = None,
        probability: float = 1.0,
    ) -> RpcRule:
        """Deliver matching requests twice."""
        return self._rule(
            RpcRule("duplicate", api, _set(from_nodes), _set(to_nodes), limit=limit, probability=probability)
        )

    def heal(self, fault: Fault) -> None:
        """End one fault; does nothing if it has ended."""
        if fault not in self.active:
            return
        self.active.remove(fault)
        match fault:
            case Cut():
                _remove(self._fabric.cuts, fault.pairs, fault)
                self._fabric.retransmit()
            case SlowLink():
                _remove(self._fabric.slow, fault.pairs, fault)
            case RpcRule():
                self._fabric.rules.remove(fault)
                self._release(fault)

    def heal_all(self) -> None:
        """End every fault, in the order of injection."""
        for fault in list(self.active):
            self.heal(fault)

    def _rule(self, rule: RpcRule) -> RpcRule:
        if rule.api is not None:
            rule.api = api_name(rule.api)
        if rule.delay_ns < 0:
            raise ValueError(f"delay of {rule.delay_ns} ns is negative")
        self._fabric.rules.append(rule)
        self.active.append(rule)
        return rule

    def _release(self, rule: RpcRule) -> None:
        held, rule.held = rule.held, []
        for call in held:
            if rule.direction == "request":
                arrives = self._fabric.release_request(call)
            else:
                arrives = self._fabric.release_response(call)
            if arrives:
                rule.released += 1
            else:
                rule.lost += 1


F = TypeVar("F")

_DIRECTIONS: Final = ("both", "aToB", "bToA")


def _pairs(a: Nodes, b: Nodes, direction: CutDirection) -> tuple[Pair, ...]:
    if direction not in _DIRECTIONS:
        raise ValueError(f"direction must be one of {', '.join(_DIRECTIONS)}, not {direction!r}")
    there = [(x, y) for x in names(a) for y in names(b) if x != y]
    back = [(y, x) for x, y in there]
    chosen = {"both": there + back, "aToB": there, "bToA": back}[direction]
    return tuple(dict.fromkeys(chosen))


def _set(nodes: Nodes | None) -> frozenset[str] | None:
    return None if nodes is None else frozenset(names(nodes))


def _remove(by_pair: dict[Pair, list[F]], pairs: tuple[Pair, ...], fault: F) -> None:
    for pair in pairs:
        there = by_pair[pair]
        there.remove(fault)
        if not there:
            del by_pair[pair]
