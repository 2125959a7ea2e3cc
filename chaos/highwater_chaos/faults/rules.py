"""Faults on messages share this: rules put into force, counted while in force, and taken out again."""

from __future__ import annotations

from dataclasses import dataclass, field

from highwater_chaos.backends.protocol import RpcRule
from highwater_chaos.faults.base import FaultContext


@dataclass(slots=True)
class Rules:
    """The rules of one injected fault."""

    ids: list[int] = field(default_factory=list)
    caught_before: int = 0

    def add(self, context: FaultContext, rule: RpcRule) -> None:
        """Put a rule into force."""
        self.ids.append(context.backend.add_rule(rule))

    def caught(self, context: FaultContext) -> int:
        """How many messages the rules have acted upon so far."""
        return self.caught_before + sum(context.backend.rule_matches(rule_id) for rule_id in self.ids)

    def remove_all(self, context: FaultContext) -> None:
        """Take all rules out of force. Idempotent."""
        for rule_id in self.ids:
            context.backend.remove_rule(rule_id)
        # Known exactly only once they catch nothing more.
        self.caught_before = self.caught(context)
        self.ids.clear()
