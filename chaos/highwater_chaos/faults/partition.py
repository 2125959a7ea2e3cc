"""``partition``: messages between groups of nodes are lost, both ways or one way.

Connections do not break at once: packets vanish, as with a failed switch or a firewall rule that drops, and each side
finds out by its own time-outs. Clients are outside every group: they reach whom they can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from random import Random
from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from highwater_chaos.backends.primitives import CutsLinks, Primitive
from highwater_chaos.base.process import Process, Sleep
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.base import OneOf
from highwater_chaos.experiment.faults import Effect
from highwater_chaos.experiment.nodes import quorum_names
from highwater_chaos.experiment.targets import Target
from highwater_chaos.faults.base import Drawn, Fault, FaultContext, FaultTarget, ProbeResult, target_of
from highwater_chaos.faults.drawing import Drawing
from highwater_chaos.faults.targets import TargetError

Link = tuple[str, str]
"""Messages from the first node to the second."""
Direction = Literal["both", "aToB", "bToA"]
_SHAPES: Final[tuple[Literal["halves", "bridge"], ...]] = ("halves", "bridge")
_DIRECTIONS: Final[tuple[Direction, ...]] = ("both", "both", "both", "aToB", "bToA")


class Partition(OneOf, Fault):
    """Messages between groups of nodes are lost. ``between`` two groups, ``isolate`` nodes from all others, or a
    ``shape``: ``halves``; ``majoritiesRing`` (each node sees a majority, no two the same); ``bridge`` (two halves
    that share one node). ``direction`` cuts one way only: ``aToB`` from the first group to the second."""

    KIND: ClassVar[str] = "partition"
    RANK: ClassVar[int] = 10
    ALSO_CALLED: ClassVar[tuple[str, ...]] = ("cut", "isolate")
    EFFECT: ClassVar[Effect] = Effect.LOSES_RESPONSES
    between: Annotated[
        list[Target | list[Target]] | None,
        Field(min_length=2, max_length=2, description="Two groups, each a target or a list of targets: {broker: 0}."),
    ] = None
    isolate: Annotated[Target | None, Field(description="These nodes, from all others.")] = None
    shape: Annotated[
        Literal["halves", "majoritiesRing", "bridge"] | None,
        Field(description="Of the whole cluster, with the seed: who is cut from whom."),
    ] = None
    direction: Annotated[
        Literal["both", "aToB", "bToA"], Field(description="Which way messages are lost, where there are two sides.")
    ] = "both"

    @classmethod
    def common(cls) -> frozenset[str]:
        """The direction stands beside the choice."""
        return frozenset({"direction"})

    @model_validator(mode="after")
    def _one_way_needs_sides(self) -> Self:
        if self.shape is not None and self.direction != "both":
            raise PydanticCustomError(
                "direction",
                "direction {found} needs between or isolate: a shape has no sides",
                {"found": self.direction},
            )
        return self

    def suffered(self, who: str, others: Sequence[str]) -> str:
        """From whom it was cut off."""
        return f"{who} was cut off{' from ' if others else ''}{', '.join(others)}"

    @property
    def needs(self) -> frozenset[Primitive]:
        return frozenset({CutsLinks})

    @classmethod
    def example(cls) -> Self:
        """Return a cut of one broker from all others."""
        return cls(isolate=Target(broker=0))

    @classmethod
    def draw(cls, drawing: Drawing) -> Drawn | None:
        """Draw a node alone, a broker without the quorum, two brokers apart, a minority of the quorum without the
        others, or a shape over all nodes."""
        node = drawing.node("brokers", "quorum")
        if node is None:
            return None
        random, brokers, quorum = drawing.random, drawing.brokers, drawing.quorum
        direction, voters = random.choice(_DIRECTIONS), quorum_names(drawing.cluster)
        peers = [other for other in brokers if other != node]
        forms = ["isolate"]
        if node.startswith("broker-"):
            forms += ["from-quorum"] * 2 if quorum else []
            forms += ["from-broker"] * 2 if peers else []
        elif len(voters) > 2:
            forms += ["within-quorum"] * 2
        if len(brokers) + len(quorum) > 2:
            forms.append("shape")
        match random.choice(forms):
            case "isolate":
                return Drawn(cls(isolate=target_of(node), direction=direction), (node,))
            case "from-quorum":
                others: list[Target] = [target_of(name) for name in quorum]
                return Drawn(cls(between=[target_of(node), others], direction=direction), (node,))
            case "from-broker":
                peer = random.choice(peers)
                return Drawn(cls(between=[target_of(node), target_of(peer)], direction=direction), (node, peer))
            case "within-quorum":
                others_of = [name for name in quorum if name != node]
                with_it = random.sample(others_of, min((len(voters) - 1) // 2 - 1, len(others_of)))
                minority = (node, *with_it)
                rest = [target_of(name) for name in voters if name not in minority]
                groups: list[Target | list[Target]] = [[target_of(name) for name in minority], rest]
                return Drawn(cls(between=groups, direction=direction), minority)
            case _:
                # Raft is safe in any partition, so the quorum is not aimed at: see :meth:`disturbs`.
                return Drawn(cls(shape=random.choice(_SHAPES)), tuple(brokers))

    def disturbs(self, cluster: Cluster) -> tuple[str, ...]:
        """A shape is over all nodes, so it may part the active controller from its majority."""
        return tuple(quorum_names(cluster)) if self.shape is not None else ()

    def inject(self, context: FaultContext) -> Process[None]:
        """Cut the links. Confirmed by a probe across each of them that is lost."""
        touched = [context.cut(source, destination) for source, destination in self._links(context)]
        for touch in touched:
            source, destination = touch.nodes
            lost = yield from context.confirm(
                partial(_lost, context, source, destination),
                f"nothing gets from {source} to {destination}",
            )
            context.record_evidence(
                touch,
                f"a probe from {source} to {destination} {'was lost' if lost else 'got through'}",
                lost,
                source=source,
                destination=destination,
            )

    def heal(self, context: FaultContext) -> Process[None]:
        context.undo_each(context.join)
        yield Sleep(0)

    def probe(self, context: FaultContext, touch: FaultTarget) -> ProbeResult:
        """Send a probe across the link. One that another fault cuts too is looked at again after that fault's heal."""
        source, destination = touch.nodes
        reached = context.using(CutsLinks).reachable(source, destination)
        what = f"a probe from {source} to {destination} {'got through' if reached else 'is still lost'}"
        return ProbeResult(reached, what, {"source": source, "destination": destination})

    def _links(self, context: FaultContext) -> list[Link]:
        everyone = context.nodes
        if self.shape is not None:
            links = shape_links(self.shape, everyone, context.random)
            context.record.targets = tuple(dict.fromkeys(node for link in links for node in link))
            return links
        if self.between is not None:
            side_a, side_b = (_side(context, side) for side in self.between)
        else:
            assert self.isolate is not None
            side_a = list(context.resolve(self.isolate))
            side_b = [node for node in everyone if node not in side_a]
        if both := [node for node in side_a if node in side_b]:
            raise TargetError(f"partition: {', '.join(both)} would be on both sides of the cut")
        return cross(side_a, side_b, self.direction)


def _lost(context: FaultContext, source: str, destination: str) -> bool:
    return not context.using(CutsLinks).reachable(source, destination)


def _side(context: FaultContext, side: Target | list[Target]) -> list[str]:
    targets = side if isinstance(side, list) else [side]
    return list(dict.fromkeys(node for target in targets for node in context.resolve(target)))


def cross(side_a: Iterable[str], side_b: Sequence[str], direction: str) -> list[Link]:
    """Links between two sides, in one or both directions."""
    links: list[Link] = []
    for a in side_a:
        for b in side_b:
            if direction in ("both", "aToB"):
                links.append((a, b))
            if direction in ("both", "bToA"):
                links.append((b, a))
    return links


def shape_links(shape: str, nodes: Sequence[str], random: Random) -> list[Link]:
    """Cut links of a grudge over shuffled nodes, as Jepsen draws them.

    ``halves``: a smaller and a larger half. ``bridge``: two halves that only one node, in the middle, can reach.
    ``majoritiesRing``: nodes on a ring see their nearest neighbours, so that each sees a majority and no two the same.
    """
    order = list(nodes)
    random.shuffle(order)
    count = len(order)
    match shape:
        case "halves":
            return cross(order[: count // 2], order[count // 2 :], "both")
        case "bridge":
            middle = count // 2
            return cross(order[:middle], order[middle + 1 :], "both")
        case "majoritiesRing":
            reach = (count // 2 + 1) // 2
            links: list[Link] = []
            for i, source in enumerate(order):
                for j, destination in enumerate(order):
                    distance = min((i - j) % count, (j - i) % count)
                    if distance > reach:
                        links.append((source, destination))
            if not links:
                raise TargetError(f"majoritiesRing: {count} nodes are too few, each would see all; four are needed")
            return links
        case _:
            raise AssertionError(f"unknown shape {shape}")
