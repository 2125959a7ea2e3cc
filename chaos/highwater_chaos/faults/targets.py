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
from highwater_chaos.experiment.targets import Group, NamedNodes, Target


class TargetError(Exception):
    """No node answers to the target at this moment; the message says which target and why."""


HitBy = Callable[[str], Sequence[str]]
"""The nodes that the latest fault of a name was aimed at. Raises :class:`TargetError`."""


def hit_by_none(name: str) -> Sequence[str]:
    """Raises :class:`TargetError`: there has been no fault."""
    raise TargetError(f"not {name}: no fault of this name has been aimed at a node yet")


def resolve(
    target: Target, cluster: Cluster, view: ClusterView, random: Random, hit_by: HitBy = hit_by_none
) -> tuple[str, ...]:
    """The nodes that ``target`` names now, at least one; brokers before controllers, by id.

    ``one``, ``minority`` … draw from ``random``, which the caller seeds for this one fault.
    """
    match target.not_:
        case None:
            left_out: frozenset[str] = frozenset()
        case str() as name:
            left_out = frozenset(hit_by(name))
        case other:
            left_out = frozenset(_named(other, cluster, view, random, frozenset()))
    return _named(target, cluster, view, random, left_out)


def _named(
    target: NamedNodes, cluster: Cluster, view: ClusterView, random: Random, left_out: frozenset[str]
) -> tuple[str, ...]:
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
        case "followerOf" | "inSyncFollowerOf" | "isrOf" as how:
            return _replicas(how, str(value), _partition(view, str(value)), left_out)
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
            passive = [name for name in controller_names(cluster) if name != active and name not in left_out]
            if active is None or not passive:
                why = "no controller is active" if active is None else _nobody_left(left_out, "there is one")
                raise TargetError(f"followerController: {why}")
            return (passive[0],)
        case how:
            assert value in get_args(Group)
            return draw(how, group(cast("Group", value), cluster), random, left_out)


def _replicas(how: str, name: str, partition: PartitionView, left_out: frozenset[str]) -> tuple[str, ...]:
    """Replicas of a partition by their part in it. Raises :class:`TargetError` if there is none."""
    isr, leader = sorted(partition.isr), partition.leader
    match how:
        case "isrOf":
            found, none = isr, "the ISR is empty"
        case "inSyncFollowerOf":
            found = [member for member in isr if member != leader]
            none = f"the ISR is {isr}, and the leader is {leader if leader >= 0 else 'none'}"
        case _:
            found = sorted(replica for replica in partition.replicas if replica != leader)
            none = "its only replica is its leader"
    nodes = [node for node in map(broker_name, found) if node not in left_out]
    if not nodes and (left_out or how != "isrOf"):
        raise TargetError(f"{how} {name}: {_nobody_left(left_out, none) if found else none}")
    return tuple(nodes) if how == "isrOf" else (nodes[0],)


def _nobody_left(left_out: frozenset[str], otherwise: str) -> str:
    return f"no node is left without {', '.join(sorted(left_out))}" if left_out else otherwise


def group(name: Group, cluster: Cluster) -> tuple[str, ...]:
    """All nodes of one role; none where the cluster's mode has none."""
    match name:
        case "brokers":
            return broker_names(cluster)
        case "controllers":
            return controller_names(cluster)
        case "zookeepers":
            return zookeeper_names(cluster)


def draw(how: str, nodes: Sequence[str], random: Random, left_out: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """``one``, ``minority`` (largest), ``majority`` (smallest), ``minorityThird`` (largest below a third) or ``all``,
    by the size of the group, but none of ``left_out``: ``all`` is then all others.

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
    left = [node for node in nodes if node not in left_out]
    if how == "all":
        size = len(left)
    if not left or size > len(left):
        raise TargetError(f"{how}: without {', '.join(sorted(left_out))} too few nodes are left ({', '.join(left)})")
    chosen = random.sample(range(len(left)), size)
    return tuple(left[index] for index in sorted(chosen))


def _partition(view: ClusterView, name: str) -> PartitionView:
    found = view.partitions.get(name)
    if found is None:
        raise TargetError(f"partition {name}: the controllers have not said anything about it")
    return found


__all__ = ["HitBy", "TargetError", "controller_name", "draw", "group", "hit_by_none", "resolve"]
