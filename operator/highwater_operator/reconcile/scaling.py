"""How many brokers there are to be: as many as asked for, and never fewer than hold replicas.

Scaling down is safe only for brokers on which nothing lives. The rule is kept as a loop and not as a single check: a
topic that was placed on a leaving broker at the last moment brings its pod back (its storage was kept).
"""

from __future__ import annotations

from dataclasses import dataclass

from highwater_operator.admin import ClusterView

_NAMED = 10


@dataclass(frozen=True, slots=True)
class Scaling:
    """The brokers to have now. ``refused``: why it is not the number asked for; ``waiting``: what is not known yet."""

    brokers: int
    refused: str | None = None
    waiting: str | None = None


def scale(wanted: int, existing: int | None, view: ClusterView | None, why_unknown: str) -> Scaling:
    """Decide.

    Args:
        wanted: brokers as the resource has it.
        existing: replicas of the StatefulSet; None: there is none yet.
        view: the live cluster; None: it does not answer, because of ``why_unknown``.
        why_unknown: see above.
    """
    if view is None:
        if existing is None or wanted >= existing:
            return Scaling(wanted)
        why = f"cannot see what lives on brokers {_ids(range(wanted, existing))}: {why_unknown}"
        return Scaling(existing, waiting=why)
    held = {broker: view.replicas_on(broker) for broker in sorted(view.holders) if broker >= wanted}
    held = {broker: partitions for broker, partitions in held.items() if partitions}
    if not held:
        return Scaling(wanted)
    needed = max(held) + 1
    lives = "; ".join(f"broker {broker} holds replicas of {_some(partitions)}" for broker, partitions in held.items())
    return Scaling(
        needed,
        refused=f"asked for {wanted} brokers, but {lives}. Reassign these partitions to other brokers, and scaling goes"
        f" on by itself; or set brokers to {needed}",
    )


def to_unregister(brokers: int, pods: frozenset[int], view: ClusterView) -> list[int]:
    """Brokers that are gone for good: beyond the number that there are to be, without pod, fenced, and empty."""
    return [
        broker.id
        for broker in view.brokers.values()
        if broker.id >= brokers and broker.id not in pods and broker.fenced and not view.replicas_on(broker.id)
    ]


def _some(partitions: tuple[str, ...]) -> str:
    named = ", ".join(partitions[:_NAMED])
    more = len(partitions) - _NAMED
    return named if more <= 0 else f"{named} and {more} more"


def _ids(ids: range) -> str:
    return ", ".join(str(one) for one in ids)
