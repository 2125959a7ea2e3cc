"""Faults drawn by the seed: what ``random`` injects next.

Drawing is a pure function of the randomness, the view and what is touched already; the runner does the rest.
"""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Final, Literal

from highwater_chaos.experiment.faults import (
    ClockSkew,
    DiskError,
    DiskFull,
    DiskStall,
    DiskWipe,
    Inject,
    Kill,
    Partition,
    Pause,
    PowerLoss,
    Restart,
    SessionExpiry,
    Stop,
)
from highwater_chaos.experiment.steps import RandomFaults
from highwater_chaos.experiment.targets import Target
from highwater_chaos.experiment.units import Nanoseconds
from highwater_runtime.ports import MS, SECOND

Direction = Literal["both", "aToB", "bToA"]

_SHORTEST_NS: Final = 200 * MS
_SHAPES: Final[tuple[Literal["halves", "bridge"], ...]] = ("halves", "bridge")
_DIRECTIONS: Final[tuple[Direction, ...]] = ("both", "both", "both", "aToB", "bToA")
_BROKERS_ONLY: Final = frozenset({"sessionExpiry", "diskWipe"})


class DrawnFault:
    """A fault to inject, the nodes it would touch (in the sense of :mod:`~highwater_chaos.schedule.spare`)."""

    __slots__ = ("inject", "kind", "nodes")

    def __init__(self, kind: str, inject: Inject, nodes: tuple[str, ...]) -> None:
        self.kind = kind
        self.inject = inject
        self.nodes = nodes


def draw_fault(
    plan: RandomFaults, brokers: Sequence[str], controllers: Sequence[str], random: Random
) -> DrawnFault | None:
    """Draw kind, target and length; ``brokers`` and ``controllers`` are the nodes that may be hit now.

    Returns None where the drawn kind finds no node.
    """
    kinds = sorted(plan.faults)
    kind = random.choices(kinds, [plan.faults[name] for name in kinds])[0]
    # Many short faults and a few long ones: the interesting schedules need both at once.
    length = Nanoseconds(max(min(_SHORTEST_NS, plan.lasting), int(plan.lasting * random.random() ** 2)))
    groups = [name for name in plan.targets if name == "brokers" or kind not in _BROKERS_ONLY]
    candidates = [node for name in groups for node in (brokers if name == "brokers" else controllers)]
    if not candidates:
        return None
    node = random.choice(candidates)
    if kind == "partition":
        return _draw_partition(node, brokers, controllers, length, random)
    target = _target(node)
    match kind:
        case "powerLoss":
            # A machine that comes back with another disk is the rarer and the harsher case.
            wipe = node.startswith("broker-") and random.random() < 0.3
            fault = Inject(for_=length, power_loss=PowerLoss(target=target, wipe=wipe))
        case "kill":
            fault = Inject(for_=length, kill=Kill(target=target))
        case "stop":
            fault = Inject(for_=length, stop=Stop(target=target))
        case "restart":
            fault = Inject(restart=Restart(target=target))
        case "diskWipe":
            fault = Inject(for_=length, disk_wipe=DiskWipe(target=target))
        case "diskFull":
            fault = Inject(for_=length, disk_full=DiskFull(target=target))
        case "diskError":
            fault = Inject(for_=length, disk_error=DiskError(target=target))
        case "diskStall":
            fault = Inject(for_=length, disk_stall=DiskStall(target=target))
        case "pause":
            fault = Inject(for_=length, pause=Pause(target=target))
        case "sessionExpiry":
            fault = Inject(for_=length, session_expiry=SessionExpiry(target=target))
        case "clockSkew":
            rate = random.choice([0.9, 0.99, 1.01, 1.1])
            skew = ClockSkew(target=target, rate=rate, offset=Nanoseconds(random.randrange(60 * SECOND)))
            fault = Inject(for_=length, clock_skew=skew)
        case other:
            raise AssertionError(f"{other} cannot be drawn")
    return DrawnFault(kind, fault, (node,))


def _draw_partition(
    node: str, brokers: Sequence[str], controllers: Sequence[str], length: Nanoseconds, random: Random
) -> DrawnFault:
    """A node alone, a broker without controllers, two brokers apart, or a shape over all nodes."""
    direction = random.choice(_DIRECTIONS)
    peers = [other for other in brokers if other != node]
    forms = ["isolate"]
    if node.startswith("broker-"):
        forms += ["from-controllers"] * 2 if controllers else []
        forms += ["from-broker"] * 2 if peers else []
    if len(brokers) + len(controllers) > 2:
        forms.append("shape")
    nodes: tuple[str, ...]
    match random.choice(forms):
        case "isolate":
            model = Partition(isolate=_target(node), direction=direction)
            nodes = (node,)
        case "from-controllers":
            others: list[Target] = [_target(name) for name in controllers]
            model = Partition(between=[_target(node), others], direction=direction)
            nodes = (node,)
        case "from-broker":
            peer = random.choice(peers)
            model = Partition(between=[_target(node), _target(peer)], direction=direction)
            nodes = (node, peer)
        case _:
            # Raft is safe in any partition, and the length bounds how long there may be no active controller.
            model = Partition(shape=random.choice(_SHAPES))
            nodes = tuple(brokers)
    return DrawnFault("partition", Inject(for_=length, partition=model), nodes)


def _target(node: str) -> Target:
    role, _, index = node.rpartition("-")
    return Target(broker=int(index)) if role == "broker" else Target(controller=int(index))
