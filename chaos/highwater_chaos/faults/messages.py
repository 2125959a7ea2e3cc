"""``hold``, ``drop``, ``delay``, ``duplicate``: interference with the messages of one RPC, by sender and receiver.

A rule that has caught nothing has done nothing, so these faults are confirmed by their count: the first message that
they catch is the evidence, and one that was healed without having caught any "never took hold".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from highwater_chaos.backends.protocol import Capability, RpcRule
from highwater_chaos.experiment.faults import Delay, Drop, Duplicate, Hold
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.rules import Rules
from highwater_chaos.schedule.process import Process, Sleep


@dataclass(frozen=True, slots=True)
class MessageFault:
    """One of the four; ``rules`` is the handle on what is in force."""

    KIND: ClassVar[str] = "messages"
    action: Literal["hold", "drop", "delay", "duplicate"]
    model: Hold | Drop | Delay | Duplicate
    rules: Rules

    @property
    def needs(self) -> frozenset[Capability]:
        """Interference by RPC."""
        return frozenset({Capability.RPC_RULES})

    @property
    def lasts_ns(self) -> int | None:
        """Until healed."""
        return None

    def inject(self, context: FaultContext) -> Process[None]:
        """Put the rule into force. It returns at once: messages that it catches come later (see :meth:`caught`)."""
        model = self.model
        self.rules.add(
            context,
            RpcRule(
                self.action,
                model.rpc,
                sources=context.resolve(model.from_),
                destinations=context.resolve(model.to),
                part=model.of,
                delay_ns=model.by if isinstance(model, Delay) else 0,
            ),
        )
        yield Sleep(0)

    def caught(self, context: FaultContext) -> int:
        """How many messages it has caught."""
        return self.rules.caught(context)

    def heal(self, context: FaultContext) -> Process[None]:
        """Take the rule out of force and let go what it holds; here it turns out whether it ever did anything."""
        first_time = bool(self.rules.ids)
        self.rules.remove_all(context)
        if first_time:
            caught = self.rules.caught_before
            context.saw(f"caught {caught} {self.model.rpc} {self.model.of}s", caught > 0, caught=caught)
            context.saw_healed("the rule is out of force")
        yield Sleep(0)
