"""Rules about RPCs, put into force in every host that they concern and kept in force while nodes come and go.

A rule acts in the *receiving* host, so it is installed on each of its destinations (all nodes where it names none). A
node that is down gets it when it is up again; a paused node gets it, by way of its socket's buffer, as it runs on.
Counts of incarnations that are gone are kept: what a rule has caught, it has caught.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from highwater_chaos.backends.local.control import ControlChannel, ControlError
from highwater_chaos.backends.primitives import RpcRule

_FORGOTTEN: Final = -1
"""Remote id of a rule before its node has answered with the id."""


@dataclass(slots=True)
class _Installed:
    """A rule on one incarnation of one node."""

    channel: ControlChannel
    remote_id: int | None = None
    caught: int = 0
    asking: bool = False


@dataclass(slots=True)
class _Rule:
    name: str
    rule: RpcRule
    nodes: tuple[str, ...]
    in_force: bool = True
    caught_before: int = 0
    """By incarnations that are gone."""
    installed: dict[str, _Installed] = field(default_factory=dict)


class RuleBook:
    """The rules of one run.

    Args:
        nodes: all nodes' names.
        channel: the control socket of a node's present incarnation; None while it has none.
        answers: whether a node can be expected to answer now (it runs, and is not paused).
    """

    def __init__(
        self,
        nodes: Iterable[str],
        channel: Callable[[str], ControlChannel | None],
        answers: Callable[[str], bool],
    ) -> None:
        self._nodes = tuple(nodes)
        self._channel = channel
        self._answers = answers
        self._rules: dict[str, _Rule] = {}

    def add(self, name: str, rule: RpcRule) -> None:
        """Put a rule into force on all nodes that answer, before this returns. One that fails is there to be removed.

        Raises:
            ControlError: where a node refuses it, or does not answer although it should.
        """
        made = self._rules[name] = _Rule(name, rule, rule.destinations or self._nodes)
        for node in made.nodes:
            self._install(made, node)
        self._settle(made, lambda one: one.remote_id is not None)

    def caught(self, name: str) -> int:
        """How many messages the rule had acted upon when its nodes were last asked (see :meth:`tick`)."""
        rule = self._rules.get(name)
        return 0 if rule is None else rule.caught_before + sum(one.caught for one in rule.installed.values())

    def remove(self, name: str) -> None:
        """Take a rule out of force. When this returns, nodes that answer have released the messages that it held and
        have reported its last count. Idempotent."""
        rule = self._rules.get(name)
        if rule is None or not rule.in_force:
            return
        rule.in_force = False
        for one in rule.installed.values():
            if one.remote_id is not None:
                self._uninstall(one)
        self._settle(rule, lambda one: one.remote_id == _FORGOTTEN)

    def left(self, name: str) -> str | None:
        """Probe: ask each node that runs whether it still applies the rule. Returns the first that does, or None.

        Raises:
            ControlError: a node does not answer now.
        """
        rule = self._rules.get(name)
        for node in () if rule is None else rule.nodes:
            channel = self._channel(node)
            if channel is None or not channel.is_open:
                continue  # it has not been reached in this incarnation, so it has no rule
            if not self._answers(node):
                raise ControlError(f"{node} cannot be asked for the rules that it applies")
            if channel.call("hasRule", {"key": name}):
                return f"{node} still applies it"
        return None

    # --- nodes that come and go ---

    def opened(self, node: str) -> None:
        """A node can be reached: it gets what is in force."""
        for rule in self._rules.values():
            if rule.in_force and node in rule.nodes:
                self._install(rule, node)

    def gone(self, node: str) -> None:
        """A node's incarnation is over."""
        for rule in self._rules.values():
            one = rule.installed.pop(node, None)
            if one is not None:
                rule.caught_before += one.caught

    def tick(self) -> None:
        """Ask for counts; answers come in with the channels' next pump."""
        for rule in self._rules.values():
            if not rule.in_force:
                continue
            for one in rule.installed.values():
                if one.remote_id is not None and not one.asking:
                    one.asking = True
                    one.channel.ask("ruleMatches", {"rule": one.remote_id}, partial(_counted, one))

    # --- one node ---

    def _install(self, rule: _Rule, node: str) -> None:
        channel = self._channel(node)
        if channel is None or not channel.is_open:
            return
        one = rule.installed[node] = _Installed(channel)
        params = {
            "key": rule.name,
            "action": rule.rule.action,
            "rpc": rule.rule.rpc,
            "sources": list(rule.rule.sources),
            "destinations": [node],
            "part": rule.rule.part,
            "delayNs": rule.rule.delay_ns,
        }
        channel.ask("addRule", params, partial(self._installed_as, rule, one))

    def _installed_as(self, rule: _Rule, one: _Installed, remote_id: Any) -> None:
        one.remote_id = int(remote_id)
        if not rule.in_force:
            self._uninstall(one)

    def _uninstall(self, one: _Installed) -> None:
        assert one.remote_id is not None
        one.channel.ask("ruleMatches", {"rule": one.remote_id}, partial(_counted, one))
        one.channel.ask("removeRule", {"rule": one.remote_id}, partial(_forgotten, one))

    def _settle(self, rule: _Rule, is_settled: Callable[[_Installed], bool]) -> None:
        """Wait for the nodes that can answer."""
        for node, one in list(rule.installed.items()):
            while not is_settled(one) and not one.channel.closed and self._answers(node):
                # Answers come in order: once this one is there, the earlier ones are.
                one.channel.call("ping")
            if one.channel.closed:
                continue
            if not is_settled(one) and self._answers(node):
                raise ControlError(f"{node} did not answer about a rule on {rule.rule.rpc}")


def _counted(one: _Installed, count: Any) -> None:
    one.asking = False
    one.caught = int(count)


def _forgotten(one: _Installed, _: Any) -> None:
    one.remote_id = _FORGOTTEN
