"""From a target to node names: once, when the fault starts.

``leaderOf`` and its like name a node by what it is at that moment; what was resolved is written into the fault's
record, so that a reader knows which node it was. Where nothing fits (a partition without leader), the fault cannot
take hold: :class:`TargetError`, and the run is inconclusive.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import cast, get_args

from highwater_chaos.backends.view import ClusterView, PartitionView
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import (
    broker_name,
    broker_names,
    controller_name,
    controller_names,
    zookeeper_names,
)
from highwater_chaos.experiment.targets import Group, Target


class TargetError(Exception):
    """No node answers to the target at this moment; the message says which target and why."""


def resolve(target: Target, cluster: Cluster, view: ClusterView, random: Random) -> tuple[str, ...]:
    """The nodes that ``target`` names now, at least one; brokers before controllers, by id.

    ``one``, ``minority`` … draw from ``random``, which the caller seeds for this one fault.
    """
    value = target.chosen
    match target.choice:
        case "broker" if isinstance(value, int):
            return (broker_name(value),)
        case "controller" | "zookeeper" as role if isinstance(value, int):
            return (f"{role}-{value}",)
        case "leaderOf":
            view_of = _partition(view, str(value))
            if view_of.leader < 0:
                raise TargetError(f"leaderOf {value}: the partition has no leader")
            return (broker_name(view_of.leader),)
        case "followerOf":
            view_of = _partition(view, str(value))
            followers = sorted(replica for replica in view_of.replicas if replica != view_of.leader)
            if not followers:
                raise TargetError(f"followerOf {value}: its only replica is its leader")
            return (broker_name(followers[0]),)
        case "isrOf":
            return tuple(broker_name(member) for member in sorted(_partition(view, str(value)).isr))
        case "lastIsrOf":
            members = _partition(view, str(value)).isr
            if len(members) != 1:
                raise TargetError(f"lastIsrOf {value}: the ISR is {members}, not a single replica")
            return (broker_name(members[0]),)
        case "activeController":
            active = view.active_controller()
            if active is None:
                raise TargetError("activeController: no controller is active")
            return (active,)
        case "followerController":
            active = view.active_controller()
            passive = [name for name in controller_names(cluster) if name != active]
            if active is None or not passive:
                raise TargetError("followerController: " + ("no controller is active" if passive else "there is one"))
            return (passive[0],)
        case how:
            assert value in get_args(Group)
            return draw(how, group(cast("Group", value), cluster), random)


def group(name: Group, cluster: Cluster) -> tuple[str, ...]:
    """All nodes of one role; none where the cluster's mode has none."""
    match name:
        case "brokers":
            return broker_names(cluster)
        case "controllers":
            return controller_names(cluster)
        case "zookeepers":
            return zookeeper_names(cluster)


def draw(how: str, nodes: Sequence[str], random: Random) -> tuple[str, ...]:
    """``one``, ``minority`` (largest), ``majority`` (smallest), ``minorityThird`` (largest below a third) or ``all``.

    Raises:
        TargetError: where the group is too small to have such a part.
    """
    sizes: dict[str, Callable[[int], int]] = {
        "one": lambda _: 1,
        "minority": lambda n: (n - 1) // 2,
        "majority": lambda n: n // 2 + 1,
        "minorityThird": lambda n: (n - 1) // 3,
        "all": lambda n: n,
    }
    size = sizes[how](len(nodes))
    if size == 0:
        raise TargetError(f"{how}: {len(nodes)} nodes are too few ({', '.join(nodes)})")
    chosen = random.sample(range(len(nodes)), size)
    return tuple(nodes[index] for index in sorted(chosen))


def _partition(view: ClusterView, name: str) -> PartitionView:
    found = view.partitions.get(name)
    if found is None:
        raise TargetError(f"partition {name}: the controllers have not said anything about it")
    return found


__all__ = ["TargetError", "controller_name", "draw", "group", "resolve"]
