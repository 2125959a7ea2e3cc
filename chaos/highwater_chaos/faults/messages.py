"""``hold``, ``drop``, ``delay``, ``duplicate``: interference with the messages of one RPC, by sender and receiver.

A rule that has caught nothing has done nothing, so these faults are confirmed by their count, when they end. One that
``random`` drew and that caught nothing is *idle*: it has done nothing, and nothing depends on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from random import Random
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple, Self

from pydantic import Field

from highwater_chaos.backends.primitives import AppliesRpcRules, Primitive, RpcRule
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.base.quantities import Duration, Nanoseconds
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.nodes import broker_names, node_names, quorum_names
from highwater_chaos.experiment.targets import Target
from highwater_chaos.experiment.timeouts import session_timeout_ms, timeouts
from highwater_chaos.faults.base import Drawn, Fault, FaultContext, FaultTarget, ProbeResult, target_of
from highwater_chaos.faults.drawing import Drawing
from highwater_runtime.ports import MS, SECOND
from highwater_runtime.switches import Mode

Action = Literal["hold", "drop", "delay", "duplicate"]

_Role = Literal["brokers", "quorum"]
_BROKERS: Final = "brokers"
_QUORUM: Final = "quorum"
"""The controllers, or the ZooKeeper servers."""
_Modes = tuple[Mode, ...]
_ANY: Final[_Modes] = ("kraft", "zookeeper")
_KRAFT: Final[_Modes] = ("kraft",)
_ZOOKEEPER: Final[_Modes] = ("zookeeper",)


class _Rpc(NamedTuple):
    """Who sends an RPC and who serves it (clients of the cluster have no role), how often it is drawn, and in clusters
    of which modes."""

    name: str
    clients: tuple[_Role, ...]
    servers: tuple[_Role, ...]
    weight: int = 1
    modes: _Modes = _ANY


RPCS: Final[Mapping[str, _Rpc]] = {
    rpc.name: rpc
    for rpc in (
        # replication
        _Rpc("Fetch", (_BROKERS, _QUORUM), (_BROKERS, _QUORUM), 6),
        _Rpc("ListOffsets", (_BROKERS,), (_BROKERS,)),
        _Rpc("AlterPartition", (_BROKERS,), (_QUORUM,), 6, _KRAFT),
        _Rpc("LeaderAndIsr", (_BROKERS,), (_BROKERS,), 6, _ZOOKEEPER),
        _Rpc("StopReplica", (_BROKERS,), (_BROKERS,), 3, _ZOOKEEPER),
        _Rpc("UpdateMetadata", (_BROKERS,), (_BROKERS,), 3, _ZOOKEEPER),
        # a broker's life
        _Rpc("BrokerHeartbeat", (_BROKERS,), (_QUORUM,), 3, _KRAFT),
        _Rpc("BrokerRegistration", (_BROKERS,), (_QUORUM,), 2, _KRAFT),
        _Rpc("AllocateProducerIds", (_BROKERS,), (_QUORUM,), 1, _KRAFT),
        _Rpc("ControlledShutdown", (_BROKERS,), (_BROKERS,), 1, _ZOOKEEPER),
        # the quorum
        _Rpc("Vote", (_QUORUM,), (_QUORUM,), 2),
        _Rpc("BeginQuorumEpoch", (_QUORUM,), (_QUORUM,), 2),
        _Rpc("EndQuorumEpoch", (_QUORUM,), (_QUORUM,)),
        _Rpc("FetchSnapshot", (_BROKERS, _QUORUM), (_QUORUM,)),
        # clients
        _Rpc("Produce", (), (_BROKERS,), 4),
        _Rpc("Metadata", (), (_BROKERS,)),
        _Rpc("InitProducerId", (), (_BROKERS,)),
        _Rpc("FindCoordinator", (), (_BROKERS,)),
        _Rpc("JoinGroup", (), (_BROKERS,)),
        _Rpc("SyncGroup", (), (_BROKERS,)),
        _Rpc("Heartbeat", (), (_BROKERS,)),
        _Rpc("LeaveGroup", (), (_BROKERS,)),
        _Rpc("OffsetCommit", (), (_BROKERS,), 2),
        _Rpc("OffsetFetch", (), (_BROKERS,)),
        # administration; brokers forward it
        _Rpc("CreateTopics", (_BROKERS,), (_BROKERS, _QUORUM)),
        _Rpc("CreatePartitions", (_BROKERS,), (_BROKERS, _QUORUM)),
        _Rpc("ElectLeaders", (_BROKERS,), (_BROKERS, _QUORUM)),
    )
}
"""What ``random`` draws: :data:`~highwater_chaos.experiment.steps.RANDOM_RPCS`, by name."""

_BOTH_ENDS: Final = 0.2
"""How often sender and receiver of a drawn rule are both named, if both can be."""
_SENDER: Final = 0.7
"""How often it is the sender, of those that name one."""

_COMMANDS: Final = frozenset({"LeaderAndIsr", "StopReplica", "UpdateMetadata"})
_FENCES: Final = frozenset({"BrokerHeartbeat", "BrokerRegistration"})
AMONG_VOTERS: Final = frozenset({"Vote", "BeginQuorumEpoch", "EndQuorumEpoch", "FetchSnapshot"})
"""RPCs of the quorum. Real ZooKeeper servers have none of them."""


class MessageFault(Fault):
    """Which messages: those of one RPC (Kafka's name, ``AlterPartition``), from and to whom, requests or responses."""

    EFFECT: ClassVar[Effect] = Effect.ACTS_ON_MESSAGES
    AIMED: ClassVar[bool] = False
    ACTION: ClassVar[Action]
    CAUGHT: ClassVar[str]
    """What happened to a message, as in ``held``."""
    DELIVERS: ClassVar[bool] = True
    """Whether a message that it caught arrives nevertheless."""
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
    def needs(self) -> frozenset[Primitive]:
        return frozenset({AppliesRpcRules})

    @classmethod
    def example(cls) -> Self:
        """A rule about fetches of any node."""
        return cls.model_validate({"rpc": "Fetch"})

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw an RPC, requests or responses, and a node that sends or serves it, sometimes both.

        A node may be down, or under another fault: a message may well arrive in another incarnation of its receiver.
        """
        random = drawing.random
        among = RPCS if drawing.rpcs is None else drawing.rpcs
        names = [name for name in among if drawing.cluster.mode in RPCS[name].modes]
        if not names:
            return None
        name = random.choices(names, [RPCS[rpc].weight for rpc in names])[0]
        ends = {"from": _nodes(RPCS[name].clients, drawing), "to": _nodes(RPCS[name].servers, drawing)}
        sides = [side for side in drawing.ends if ends[side]]
        if not sides:
            return None
        # Whom a sender asks depends on who leads; a rule that names it as well often catches nothing.
        chosen = sides if random.random() < _BOTH_ENDS else sides[:1] if random.random() < _SENDER else sides[-1:]
        body: dict[str, Any] = {
            "rpc": name,
            **_named(ends, chosen, random),
            "of": cls._draw_part(drawing),
            **cls._draw_more(drawing),
        }
        return Drawn(cls.model_validate(body), ())

    def suffered(self, who: str, others: Sequence[str]) -> str:
        """Which messages, and what happened to them."""
        del others
        return f"{self.rpc} messages of {who} were {self.CAUGHT}"

    def disturbs(self, cluster: Cluster) -> tuple[str, ...]:
        """Who depends on these messages: for its session, for its place in an ISR, or for its quorum."""
        sources, destinations = _possible(self.from_, cluster), _possible(self.to, cluster)
        if self.rpc in _FENCES:
            return tuple(node for node in sources if node.startswith("broker-"))
        if self.rpc in _COMMANDS:
            return tuple(node for node in destinations if node.startswith("broker-"))
        if self.rpc in AMONG_VOTERS:
            return tuple(dict.fromkeys((*sources, *destinations)))
        if self.rpc == "Fetch":
            # A follower that does not fetch leaves the ISR; a controller that no voter fetches from loses its majority.
            # No broker fetches from itself, and no controller from a broker.
            fetches = [
                (a, b) for a in sources for b in destinations if a != b and not (_is_voter(a) and not _is_voter(b))
            ]
            leads = (b for a, b in fetches if _is_voter(a))
            return tuple(dict.fromkeys((*(a for a, _ in fetches), *leads)))
        return ()

    def lingers_ns(self, cluster: Cluster) -> int:
        """A delayed message arrives so much later. Who lost one goes on waiting until its own time-out."""
        config = timeouts(cluster)
        waits_ms = session_timeout_ms(cluster)
        if self.rpc == "Fetch":
            waits_ms = max(waits_ms, config.replica_socket_timeout_ms + config.replica_lag_time_max_ms)
        return self.delay_ns + waits_ms * MS

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
        times = context.caught_at()
        known = {"times_ns": times} if times else {}
        for touch in context.record.intent:
            context.record_evidence(touch, f"caught {caught} {self.rpc} {self.of}s", caught > 0, caught=caught, **known)
        yield Sleep(0)

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Ask the nodes for the rules that they have in force, and for what they still hold back."""
        return rule_is_gone(context, touch)


class Hold(MessageFault):
    """Messages are kept back and delivered, in order, on heal."""

    KIND: ClassVar[str] = "hold"
    RANK: ClassVar[int] = 11
    EFFECT: ClassVar[Effect] = Effect.ACTS_ON_MESSAGES | Effect.LOSES_RESPONSES
    ACTION: ClassVar[Action] = "hold"
    CAUGHT: ClassVar[str] = "held"


class Drop(MessageFault):
    """Messages are lost; the connection breaks as a lost segment without retransmission would break it."""

    KIND: ClassVar[str] = "drop"
    RANK: ClassVar[int] = 12
    EFFECT: ClassVar[Effect] = Effect.ACTS_ON_MESSAGES | Effect.LOSES_RESPONSES
    ACTION: ClassVar[Action] = "drop"
    CAUGHT: ClassVar[str] = "dropped"
    DELIVERS: ClassVar[bool] = False


class Delay(MessageFault):
    """Messages arrive later by ``by``."""

    KIND: ClassVar[str] = "delay"
    RANK: ClassVar[int] = 13
    ALSO_CALLED: ClassVar[tuple[str, ...]] = ("slow", "latency")
    EFFECT: ClassVar[Effect] = Effect.ACTS_ON_MESSAGES | Effect.LOSES_RESPONSES
    ACTION: ClassVar[Action] = "delay"
    CAUGHT: ClassVar[str] = "delayed"
    by: Annotated[Duration, Field(description="How much later. A duration such as 500ms.")]

    @property
    def delay_ns(self) -> int:
        """Return how long messages are delayed (``by``), in ns."""
        return self.by

    @classmethod
    def example(cls) -> Self:
        """Return a delay of one second."""
        return cls.model_validate({"rpc": "Fetch", "by": Nanoseconds(SECOND)})

    @classmethod
    def _draw_more(cls, drawing: Drawing) -> dict[str, Any]:
        # Mostly short; some outlast every time-out and the restart of their receiver.
        return {"by": Nanoseconds(int(10 * MS + 15 * SECOND * drawing.random.random() ** 3))}


class Duplicate(MessageFault):
    """Requests arrive twice, as retries do."""

    KIND: ClassVar[str] = "duplicate"
    RANK: ClassVar[int] = 14
    ACTION: ClassVar[Action] = "duplicate"
    CAUGHT: ClassVar[str] = "sent twice"

    @classmethod
    def _draw_part(cls, drawing: Drawing) -> str:
        del drawing
        return "request"


def _nodes(roles: Sequence[_Role], drawing: Drawing) -> list[str]:
    """The nodes of these roles, of those that may be drawn from."""
    names = {_BROKERS: broker_names(drawing.cluster), _QUORUM: quorum_names(drawing.cluster)}
    return [node for role in roles for node in names[role] if node in drawing.among]


def _named(ends: Mapping[str, Sequence[str]], sides: Sequence[str], random: Random) -> dict[str, Target]:
    """Draw a node for each of the sides, never the same for both."""
    drawn: dict[str, str] = {}
    for side in sides:
        nodes = [node for node in ends[side] if node not in drawn.values()]
        if nodes:
            drawn[side] = random.choice(nodes)
    return {side: target_of(node) for side, node in drawn.items()}


def _is_voter(node: str) -> bool:
    return not node.startswith("broker-")


def _possible(target: Target | None, cluster: Cluster) -> tuple[str, ...]:
    """The nodes that a target may name, whatever the cluster is like by then."""
    if target is not None and target.choice in ("broker", "controller", "zookeeper"):
        return (f"{target.choice}-{target.chosen}",)
    return node_names(cluster)


def rule_is_gone(context: FaultContext, touch: FaultTarget) -> ProbeResult:
    """Look whether the nodes still have a rule in force or hold messages back because of it."""
    left = context.using(AppliesRpcRules).rule_left(context.key(touch))
    return ProbeResult(left is None, "the nodes have no such rule and hold nothing back" if left is None else left)
