"""Rules about RPCs on Kubernetes: a :class:`~.host_faults.HostFault` for each node that a rule concerns.

What is counted of incarnations that are gone is what was last asked of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field

from highwater_chaos.backends.kubernetes.faults import FaultClient, InjectedFault, PodPlace
from highwater_chaos.backends.kubernetes.host_faults import HostFault, HostFaults
from highwater_chaos.backends.primitives import RpcRule
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.base.quantities import format_duration


@dataclass(slots=True)
class _Rule:
    faults: dict[str, HostFault]
    """By node."""
    looks: dict[str, Future[InjectedFault]] = field(default_factory=dict)


class MessageRules:
    """The rules of one run."""

    def __init__(self, client: FaultClient, places: Mapping[str, PodPlace], host_faults: HostFaults) -> None:
        self._client = client
        self._places = places
        self._host_faults = host_faults
        self._rules: dict[str, _Rule] = {}

    def add(self, name: str, rule: RpcRule) -> None:
        """Put a rule into force on all nodes that run, before this returns. A node that is down gets it when it starts,
        one that is paused when it is resumed.

        Raises:
            BackendError: no node took it.
        """
        parameters: dict[str, object] = {"rpc": rule.rpc, "sources": list(rule.sources), "part": rule.part}
        if rule.delay_ns:
            parameters["by"] = format_duration(rule.delay_ns)
        # A ZooKeeper server knows no rules: no message of Kafka's protocol comes to it.
        destinations = rule.destinations or tuple(self._places)
        made = self._rules[name] = _Rule(
            {
                node: self._host_faults.make(
                    node, rule.action, f"{rule.action} {rule.rpc} at {node}", lambda: parameters
                )
                for node in destinations
                if not node.startswith("zookeeper-")
            }
        )
        for fault in made.faults.values():
            fault.ask()
        wrong = [missed for fault in made.faults.values() if (missed := fault.missed()) is not None]
        if not any(fault.given or fault.is_postponed for fault in made.faults.values()):
            raise BackendError(f"{rule.action} {rule.rpc}: {'; '.join(wrong)}")

    def caught(self, name: str) -> int:
        """How many messages it has acted upon, as its nodes were last asked; they are asked again. A node that is
        paused answers later, and delays no other."""
        rule = self._rules.get(name)
        if rule is None:
            return 0
        given = [one for fault in rule.faults.values() for one in fault.given]
        for one in given:
            look = rule.looks.get(one.id)
            if not one.healed and (look is None or look.done()):
                rule.looks[one.id] = self._client.look_soon(one)
        return sum(int(one.details("matches") or 0) for one in given)

    def remove(self, name: str) -> None:
        """Out of force everywhere. Idempotent."""
        rule = self._rules.get(name)
        for future in [] if rule is None else [one for fault in rule.faults.values() for one in fault.end()]:
            future.result()

    def left(self, name: str) -> str | None:
        """What the nodes still have of a rule that was removed, as their agents saw it; None: nothing."""
        rule = self._rules.get(name)
        for node, fault in {} if rule is None else rule.faults.items():
            if (left := fault.left()) is not None:
                return f"{node}: {left}"
        return None
