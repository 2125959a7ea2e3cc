"""Rules about RPCs on Kubernetes: a fault for each pod that a rule concerns, and another for each new incarnation.

A rule acts in the receiving node's process and is gone with it, so a node that starts again gets it again. A paused
node cannot be asked; it gets the rule when it runs on. What is counted of incarnations that are gone is what was last
asked of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from highwater_chaos.backends.kubernetes.faults import FaultDesk, InjectedFault, PodPlace
from highwater_chaos.backends.primitives import RpcRule
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.experiment.units import format_duration


@dataclass(slots=True)
class _Rule:
    rule: RpcRule
    nodes: tuple[str, ...]
    in_force: bool = True
    waiting: set[str] = field(default_factory=set)
    """Nodes that were paused when they were to get it."""
    faults: list[InjectedFault] = field(default_factory=list)
    pending: list[Future[InjectedFault]] = field(default_factory=list)
    looks: dict[str, Future[InjectedFault]] = field(default_factory=dict)


class MessageRules:
    """The rules of one run. ``is_paused``: whether a node is paused just now."""

    def __init__(self, desk: FaultDesk, places: Mapping[str, PodPlace], is_paused: Callable[[str], bool]) -> None:
        self._desk = desk
        self._places = places
        self._is_paused = is_paused
        self._rules: dict[str, _Rule] = {}

    def add(self, name: str, rule: RpcRule) -> None:
        """Put a rule into force on all nodes that run, before this returns. A node that is down gets it when it starts,
        one that is paused when it is resumed.

        Raises:
            BackendError: no node took it.
        """
        # A ZooKeeper server knows no rules: no message of Kafka's protocol comes to it.
        destinations = rule.destinations or tuple(self._places)
        nodes = tuple(node for node in destinations if not node.startswith("zookeeper-"))
        made = self._rules[name] = _Rule(rule, nodes)
        for node in made.nodes:
            if self._is_paused(node):
                made.waiting.add(node)
            else:
                self._ask(made, node)
        wrong = self._settle(made, wait=True)
        if not made.faults and not made.waiting:
            raise BackendError(f"{rule.action} {rule.rpc}: {'; '.join(wrong)}")

    def started(self, node: str) -> None:
        """A node runs again, without the rules that its last incarnation had."""
        for rule in self._rules.values():
            rule.waiting.discard(node)
            if rule.in_force and node in rule.nodes:
                self._ask(rule, node)

    def resumed(self, node: str) -> None:
        """A node is not paused any more."""
        for rule in self._rules.values():
            if node in rule.waiting:
                rule.waiting.discard(node)
                if rule.in_force:
                    self._ask(rule, node)

    def caught(self, name: str) -> int:
        """How many messages it has acted upon, as its nodes were last asked; they are asked again. A node that is
        paused answers later, and delays no other."""
        rule = self._rules.get(name)
        if rule is None:
            return 0
        self._settle(rule, wait=False)
        for fault in rule.faults:
            look = rule.looks.get(fault.id)
            if not fault.healed and (look is None or look.done()):
                rule.looks[fault.id] = self._desk.look_soon(fault)
        return sum(self._matches(fault) for fault in rule.faults)

    def remove(self, name: str) -> None:
        """Out of force everywhere. Idempotent."""
        rule = self._rules.get(name)
        if rule is None:
            return
        rule.in_force = False
        self._settle(rule, wait=True)
        for future in [self._desk.heal_soon(fault) for fault in rule.faults]:
            future.result()

    def left(self, name: str) -> str | None:
        """What the nodes still have of a rule that was removed, as their agents saw it; None: nothing."""
        rule = self._rules.get(name)
        for fault in [] if rule is None else rule.faults:
            if (left := self._desk.seen_healed(fault)) is not None:
                return f"{fault.place.name}: {left}"
        return None

    def _ask(self, rule: _Rule, node: str) -> None:
        asked = rule.rule
        parameters: dict[str, object] = {"rpc": asked.rpc, "sources": list(asked.sources), "part": asked.part}
        if asked.delay_ns:
            parameters["by"] = format_duration(asked.delay_ns)
        what = f"{asked.action} {asked.rpc} at {node}"
        rule.pending.append(self._desk.inject_soon(self._places[node], asked.action, what, None, parameters))

    @staticmethod
    def _settle(rule: _Rule, *, wait: bool) -> list[str]:
        wrong: list[str] = []
        ready = [future for future in rule.pending if wait or future.done()]
        rule.pending = [future for future in rule.pending if future not in ready]
        for future in ready:
            try:
                rule.faults.append(future.result())
            except BackendError as error:
                wrong.append(str(error))
        return wrong

    @staticmethod
    def _matches(fault: InjectedFault) -> int:
        return int(fault.details("matches") or 0)
