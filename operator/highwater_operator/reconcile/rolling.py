"""Which pod may be replaced next, when pods are behind their StatefulSet's template.

One pod at a time. Controllers first, the active one last of them: each change of the active controller costs an
election. Each only while every node reaches every controller, or those that are left might not find each other. In
ZooKeeper mode its servers first, their leader last of them, and each only while all others serve and have what the
leader has; then brokers, the active controller last of them. Brokers only while no partition is
under-replicated, so that no partition loses more than one replica at a time. A broker whose replicas are
the ones that are missing goes before all others, if no such partition has it in its ISR: they lose nothing, and a log
that has failed stays off-line until its broker starts again. A pod that is behind and
not ready goes first and at once: it serves no client, and may be just what the change repairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from highwater_operator.admin import ClusterView
from highwater_operator.objects.naming import ROLES, Role, node_id
from highwater_operator.reconcile.observation import PodView, SetView

_NAMED = 5


@dataclass(frozen=True, slots=True)
class Roll:
    """``behind``: pods to be replaced yet; ``next``: the one to delete now; ``waiting``: why there is none."""

    behind: tuple[str, ...] = ()
    next: PodView | None = None
    waiting: str | None = None


def next_restart(
    sets: Mapping[Role, SetView], pods: Sequence[PodView], view: ClusterView | None, why_unknown: str
) -> Roll:
    """Decide. ``view`` None: the live cluster does not answer, because of ``why_unknown``."""
    unsettled = [one.name for one in sets.values() if one.update_revision is None]
    if unsettled:
        return Roll(waiting=f"StatefulSet {unsettled[0]} has not been taken up by its controller yet")
    behind = [pod for pod in pods if pod.revision != sets[pod.role].update_revision and not pod.terminating]
    names = tuple(pod.name for pod in behind)
    if not behind:
        return Roll()
    going = [pod.name for pod in pods if pod.terminating]
    if going:
        return Roll(names, waiting=f"{going[0]} is terminating")
    for role in sets:
        found = sum(pod.role == role for pod in pods)
        if found < sets[role].replicas:
            return Roll(names, waiting=f"{found} of {sets[role].replicas} {role} pods exist")
    dead = next((pod for pod in behind if not pod.ready), None)
    if dead is not None:
        return Roll(names, next=dead)
    unready = [pod.name for pod in pods if not pod.ready]
    if unready:
        return Roll(names, waiting=f"{unready[0]} is not ready")
    if view is None:
        return Roll(names, waiting=why_unknown)
    unsafe = why_unsafe(view)
    if unsafe is not None:
        return Roll(names, waiting=unsafe)
    if view.under_replicated:
        missing = (pod for pod in behind if pod.role == "broker" and pod.index in view.out_of_sync)
        if (first := next(missing, None)) is not None:
            return Roll(names, next=first)
        named = ", ".join(view.under_replicated[:_NAMED])
        return Roll(names, waiting=f"{len(view.under_replicated)} partitions are under-replicated: {named}")
    costly = frozenset[int]() if view.quorum is None else view.quorum.costly
    order = sorted(behind, key=lambda pod: (ROLES.index(pod.role), node_id(pod.role, pod.index) in costly, pod.index))
    return Roll(names, next=order[0])


def why_unsafe(view: ClusterView) -> str | None:
    """Why the cluster could not do without any one more node now, whatever its replicas are; None: it could."""
    if view.quorum is None:
        return f"the metadata quorum is not known ({'; '.join(view.problems) or 'no leader'})"
    if (unsafe := view.quorum.why_unsafe) is not None:
        return unsafe
    if view.silent:
        return f"brokers {list(view.silent)} do not answer"
    return None
