"""``partition``: messages between groups of nodes are lost, both ways or one way.

Connections do not break at once: packets vanish, as with a failed switch or a firewall rule that drops, and each side
finds out by its own time-outs. Clients are outside every group: they reach whom they can.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import ClassVar

from highwater_chaos.backends.protocol import Capability, broker_names, controller_names
from highwater_chaos.experiment.faults import Partition
from highwater_chaos.experiment.targets import Target
from highwater_chaos.faults.base import FaultContext
from highwater_chaos.faults.targets import TargetError
from highwater_chaos.schedule.process import Process, Sleep

Link = tuple[str, str]
"""Messages from the first node to the second."""


@dataclass(frozen=True, slots=True)
class PartitionFault:
    """Confirmed by probes across every cut link, at the start and at the end."""

    KIND: ClassVar[str] = "partition"
    model: Partition
    cuts: list[Link] = field(default_factory=list)

    @property
    def needs(self) -> frozenset[Capability]:
        """Cuts."""
        return frozenset({Capability.CUT})

    @property
    def lasts_ns(self) -> int | None:
        """Until healed."""
        return None

    def inject(self, context: FaultContext) -> Process[None]:
        """Cut the links."""
        links = self._links(context)
        for source, destination in links:
            context.backend.cut(source, destination, context.undone_by_ns)
            self.cuts.append((source, destination))
        for source, destination in links:
            lost = yield from context.confirm(
                partial(_lost, context, source, destination),
                f"nothing gets from {source} to {destination}",
            )
            context.saw(
                f"a probe from {source} to {destination} {'was lost' if lost else 'got through'}",
                lost,
                source=source,
                destination=destination,
            )

    def heal(self, context: FaultContext) -> Process[None]:
        """Join them again. A link that another fault still cuts stays cut, and that is no fault of this one."""
        healed, self.cuts[:] = list(self.cuts), []
        for source, destination in healed:
            context.backend.uncut(source, destination)
        for source, destination in healed:
            reachable = context.backend.reachable(source, destination)
            seen = "got through" if reachable else "is still lost to another cut"
            context.saw_healed(
                f"a probe from {source} to {destination} {seen}",
                source=source,
                destination=destination,
            )
        yield Sleep(0)

    def _links(self, context: FaultContext) -> list[Link]:
        everyone = (*broker_names(context.cluster), *controller_names(context.cluster))
        model = self.model
        if model.shape is not None:
            links = shape_links(model.shape, everyone, context.random)
            context.record.targets = tuple(dict.fromkeys(node for link in links for node in link))
            return links
        if model.between is not None:
            side_a, side_b = (_side(context, side) for side in model.between)
        else:
            assert model.isolate is not None
            side_a = list(context.resolve(model.isolate))
            side_b = [node for node in everyone if node not in side_a]
        if both := [node for node in side_a if node in side_b]:
            raise TargetError(f"partition: {', '.join(both)} would be on both sides of the cut")
        return cross(side_a, side_b, model.direction)


def _lost(context: FaultContext, source: str, destination: str) -> bool:
    return not context.backend.reachable(source, destination)


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
