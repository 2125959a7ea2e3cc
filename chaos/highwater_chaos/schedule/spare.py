"""``spare: lastInSync``: which random faults a replicated log promises to survive.

Kafka does not fsync what producers send: a record is safe while some in-sync replica keeps its page cache. KIP-903
closes the door through which a replica that lost its own could slip back into the ISR, but leaves one exception open
on purpose: the *last* member of the ISR is trusted, whatever happened to it. So a schedule that takes the cache of the
last replica that has the data loses acknowledged records legitimately, and says nothing about the code. These rules
keep random schedules inside the promise:

1. A fault that loses a cache (``powerLoss``, ``diskWipe``) hits a broker only where each partition of which it is a
   *member* has another *sound and steady* one.
2. A fault that may get a broker fenced hits it only where no partition would then depend on a *suspect* member: one
   that has lost its cache and that the controllers still list, because they have not seen it come back yet.
3. At most a minority of the controllers is hit at once, so that there can be an active one; their disks are never
   replaced (a voter that forgets its vote breaks Raft's own assumptions).
4. While there is a suspect anywhere, the active controller is left alone, and a member of a committed ISR loses its
   cache only once a controller has been active, unhurt, for a session time-out: brokers that cannot find the new
   controller in time are fenced, sound ones too, and the suspect may be the one that is left.

*Members* of a partition are its committed ISR and what its leader has proposed and not heard about yet; a replica is
*sound* if it is in both the ISR and the proposal, and its present incarnation is up, registered and unfenced; *steady*
if in addition no fault touches it now or did within the last session time-out, after which the controllers might still
fence it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from highwater_chaos.backends.protocol import broker_name, node_id
from highwater_chaos.backends.view import ClusterView, PartitionView

LOSES_CACHE: Final = frozenset({"powerLoss", "diskWipe"})


@dataclass(frozen=True, slots=True)
class Touches:
    """What the schedule is doing to nodes. ``now``: whether a fault is in force on a node; ``recently``: whether one
    was, within the last session time-out."""

    now: Callable[[str], bool]
    recently: Callable[[str], bool]
    lost_cache: Callable[[str], bool]
    """Whether the node has ever lost its page cache or its disk."""
    settled: Callable[[int], bool]
    """Whether a run time (ns) lies more than one session time-out back."""


def why_not(kind: str, nodes: Sequence[str], view: ClusterView, touches: Touches, controllers: int) -> str | None:
    """Why a fault must not hit ``nodes`` now, or None where it may."""
    active = view.active_controller()
    if active in nodes and any(_suspects(partition, view, touches) for partition in view.partitions.values()):
        return f"without {active} sound replicas might be fenced before suspect ones"
    if kind in LOSES_CACHE and _counted_on(nodes, view):
        since = view.active_since_ns()
        if active is None or since is None or not touches.settled(since) or touches.now(active):
            return "no controller has been active and unhurt for long enough"
    hit_controllers = [node for node in nodes if node.startswith("controller-")]
    if hit_controllers:
        names = [f"controller-{index}" for index in range(controllers)]
        hit = [name for name in names if name in hit_controllers or touches.now(name)]
        if len(hit) > (controllers - 1) // 2:
            return f"{len(hit)} of {controllers} controllers would be hit at once"
    for node in nodes:
        if node.startswith("broker-"):
            for partition in view.partitions.values():
                reason = _why_not_here(kind, node_id(node), nodes, partition, view, touches)
                if reason is not None:
                    return f"{partition.partition}: {reason}"
    return None


def _why_not_here(
    kind: str, broker: int, nodes: Sequence[str], partition: PartitionView, view: ClusterView, touches: Touches
) -> str | None:
    proposed = partition.isr if partition.proposed_isr is None else partition.proposed_isr
    if broker not in _members(partition):
        return None
    others = [
        other
        for other in partition.isr
        if other in proposed and broker_name(other) not in nodes and view.is_unfenced(other)
    ]
    steady = [
        other for other in others if not touches.now(broker_name(other)) and not touches.recently(broker_name(other))
    ]
    if kind in LOSES_CACHE and not steady:
        return f"broker {broker} is the only replica sure to be in sync"
    suspects = [member for member in _suspects(partition, view, touches) if member != broker]
    if suspects and not steady:
        return f"without broker {broker} it would depend on {suspects}, which lost what was not on disk"
    return None


def _counted_on(nodes: Sequence[str], view: ClusterView) -> bool:
    """Whether one of the nodes is in a committed ISR."""
    return any(broker_name(member) in nodes for partition in view.partitions.values() for member in partition.isr)


def _members(partition: PartitionView) -> list[int]:
    """The committed ISR and what its leader has proposed."""
    return list(dict.fromkeys((*partition.isr, *(partition.proposed_isr or ()))))


def _suspects(partition: PartitionView, view: ClusterView, touches: Touches) -> list[int]:
    return [
        member
        for member in _members(partition)
        if touches.lost_cache(broker_name(member)) and not view.is_registered(member)
    ]
