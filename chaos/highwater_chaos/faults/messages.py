"""``hold``, ``drop``, ``delay``, ``duplicate``: interference with the messages of one RPC, by sender and receiver.

A rule that has caught nothing has done nothing, so these faults are confirmed by their count, when they end. One that
``random`` drew and that caught nothing is *idle*: it has done nothing, and nothing depends on it.
"""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final, Literal, Self

from pydantic import Field

from highwater_chaos.backends.protocol import Capability, RpcRule
from highwater_chaos.experiment.targets import Target
from highwater_chaos.experiment.units import Duration, Nanoseconds
from highwater_chaos.faults.base import Drawing, Drawn, Fault, FaultContext, Seen, Touch, target_of
from highwater_chaos.process import Process, Sleep
from highwater_runtime.ports import MS, SECOND

Action = Literal["hold", "drop", "delay", "duplicate"]

BROKER_RPCS: Final = (
    "Fetch",
    "Produce",
    "AlterPartition",
    "BrokerHeartbeat",
    "BrokerRegistration",
    "OffsetsForLeaderEpoch",
    "AllocateProducerIds",
)
"""What brokers send or serve."""
CONTROLLER_RPCS: Final = (
    "Fetch",
    "FetchSnapshot",
    "Vote",
    "BeginQuorumEpoch",
    "EndQuorumEpoch",
    "AlterPartition",
    "BrokerHeartbeat",
)
"""What controllers send or serve."""


class MessageFault(Fault):
    """Which messages: those of one RPC (Kafka's name, ``AlterPartition``), from and to whom, requests or responses."""

    ACTION: ClassVar[Action]
    rpc: Annotated[
        str,
        Field(
            min_length=1, max_length=60, description="The RPC by its name in Kafka, such as AlterPartition or Fetch."
        ),
    ]
    from_: Annotated[Target | None, Field(alias="from", description="Its client; absent: any node.")] = None
    to: Annotated[Target | None, Field(description="Its server; absent: any node.")] = None
    of: Annotated[Literal["request", "response"], Field(description="Which of its messages.")] = "request"

    @property
    def needs(self) -> frozenset[Capability]:
        """Interference by RPC."""
        return frozenset({Capability.RPC_RULES})

    @property
    def delay_ns(self) -> int:
        """How much later messages arrive."""
        return 0

    @classmethod
    def example(cls) -> Self:
        """A rule about fetches of any node."""
        return cls.model_validate({"rpc": "Fetch"})

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw a node, one of its RPCs, whether it is client or server, and requests or responses."""
        node = drawing.node("brokers", "controllers")
        if node is None:
            return None
        random = drawing.random
        rpc = random.choice(BROKER_RPCS if node.startswith("broker-") else CONTROLLER_RPCS)
        side = random.choice(("from", "to"))
        body: dict[str, Any] = {
            "rpc": rpc,
            side: target_of(node),
            "of": cls._draw_part(drawing),
            **cls._draw_more(drawing),
        }
        return Drawn(cls.model_validate(body), (node,))

    @classmethod
    def _draw_part(cls, drawing: Drawing) -> str:
        return drawing.random.choice(("request", "response"))

    @classmethod
    def _draw_more(cls, drawing: Drawing) -> dict[str, Any]:
        del drawing
        return {}

    def inject(self, context: FaultContext) -> Process[None]:
        """Put the rule into force. It returns at once: messages that it catches come later."""
        sources, destinations = context.resolve(self.from_), context.resolve(self.to)
        context.add_rule(
            RpcRule(
                self.ACTION,
                self.rpc,
                sources=sources,
                destinations=destinations,
                part=self.of,
                delay_ns=self.delay_ns,
            ),
        )
        yield Sleep(0)

    def heal(self, context: FaultContext) -> Process[None]:
        """Take the rule out of force and let go what it holds; here it turns out whether it ever did anything."""
        context.undo_each(context.remove_rule)
        # Known exactly only once the rule catches nothing more.
        caught = context.caught()
        context.record.idle = caught == 0
        for touch in context.record.intent:
            context.saw(touch, f"caught {caught} {self.rpc} {self.of}s", caught > 0, caught=caught)
        yield Sleep(0)

    def probe(self, context: FaultContext, touch: Touch) -> Seen:
        """Ask the nodes for the rules that they have in force, and for what they still hold back."""
        return rule_is_gone(context, touch)


class Hold(MessageFault):
    """Messages are kept back and delivered, in order, on heal."""

    KIND: ClassVar[str] = "hold"
    ACTION: ClassVar[Action] = "hold"


class Drop(MessageFault):
    """Messages are lost; the connection breaks as a lost segment without retransmission would break it."""

    KIND: ClassVar[str] = "drop"
    ACTION: ClassVar[Action] = "drop"


class Delay(MessageFault):
    """Messages arrive later by ``by``."""

    KIND: ClassVar[str] = "delay"
    ACTION: ClassVar[Action] = "delay"
    by: Annotated[Duration, Field(description="How much later. A duration such as 500ms.")]

    @property
    def delay_ns(self) -> int:
        """``by``."""
        return self.by

    @classmethod
    def example(cls) -> Self:
        """By a second."""
        return cls.model_validate({"rpc": "Fetch", "by": Nanoseconds(SECOND)})

    @classmethod
    def _draw_more(cls, drawing: Drawing) -> dict[str, Any]:
        # Mostly short; some outlast every time-out and the restart of their receiver.
        return {"by": Nanoseconds(int(10 * MS + 15 * SECOND * drawing.random.random() ** 3))}


class Duplicate(MessageFault):
    """Requests arrive twice, as retries do."""

    KIND: ClassVar[str] = "duplicate"
    ACTION: ClassVar[Action] = "duplicate"

    @classmethod
    def _draw_part(cls, drawing: Drawing) -> str:
        del drawing
        return "request"


def rule_is_gone(context: FaultContext, touch: Touch) -> Seen:
    """Look whether the nodes still have a rule in force or hold messages back because of it."""
    left = context.backend.rule_left(context.key(touch))
    return Seen(left is None, "the nodes have no such rule and hold nothing back" if left is None else left)
