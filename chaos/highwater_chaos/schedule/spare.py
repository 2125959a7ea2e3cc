"""``spare: lastInSync``: which random faults a replicated log promises to survive.

Kafka does not fsync the records of producers: a record is safe while some in-sync replica keeps its page cache. KIP-903
keeps a replica that lost its page cache out of the ISR, with one exception on purpose: the *last* member of the ISR is
trusted, whatever happened to it (KIP-966 removes that exception). So if a schedule takes the page cache of the last
replica with the data, the loss of acknowledged records is no bug, and the run says nothing about the code.

Example: the ISR is {0, 1}. Broker 1 loses power; until it has registered again, the controller still lists it. In this
time a rule that drops heartbeats gets broker 0 fenced, although broker 0 is healthy. The ISR is {1}, and the records
that broker 1 has lost are lost.

These rules keep random schedules within the promise:

1. A fault that loses a cache (``powerLoss``, ``diskWipe``) hits a broker only if each partition of which it is, or may
   soon be, a *member* has another *sound and steady* one.
2. A fault that may get a broker fenced, or out of an ISR, hits or disturbs it only if no partition would then depend on
   a *suspect* member: one that has lost its cache and that the controllers still list, because they have not seen it
   come back yet.
3. At most a minority of the controllers is hit at once, so that there can be an active one; their disks are never
   replaced (a voter that forgets its vote breaks Raft's own assumptions).
4. While there is a suspect anywhere, the active controller is left alone, and no other is disturbed. A member of a
   committed ISR loses its cache only once a controller has been active, untouched, for a session time-out, with a
   majority untouched: brokers that cannot find the new controller in time are fenced, sound ones too, and the suspect
   may be the one that is left.
5. A partition is reassigned, and a reassignment cancelled, only if it has no suspect. A replica that a reassignment
   under way may remove is not steady.

*ZooKeeper mode* has no KIP-903. A broker whose session has ended is taken out of the ISRs by the controller, which is
itself a broker, after the broker may have registered again. Until then it is a member that lacks records, and a
controller that is elected then keeps it, since it cannot tell that the broker was ever away. So here:

6. A member that lost its cache stays *suspect* until it has left the members and become one again, after its next
   registration.
7. The active controller does not lose its cache if somebody counts on it: the next controller might read the list of
   brokers after it has registered again. No member loses its cache if the controller was touched within a session
   time-out, or is not the incarnation that is registered.
8. A broker that its leader has proposed for the ISR does not lose its cache: the conditional write has no broker epoch
   of the proposed broker (KAFKA-14139).
9. While there is a suspect, no server of the ensemble is hit or disturbed: sessions of sound brokers might end, and
   the suspect be elected, since it is in the ISR. Nor does a member lose its cache if a server is hit or disturbed, or
   was within a session time-out: one server that is cut off keeps the sessions of its brokers from being renewed.

*Apache Kafka from 4.1 on* has eligible leader replicas (KIP-966): replicas that left the ISR when it was smaller than
``min.insync.replicas``. They have all that was acknowledged, and one of them is elected if the ISR is empty. Who is
eligible is not seen here, but who may be. So there:

10. While an ISR is smaller than ``min.insync.replicas``, any replica may be one that is counted on, as a member is.

*Members* of a partition are its committed ISR and what its leader has proposed and has got no response for yet. A
replica that was touched lately may become one by a message that is still on its way. A replica is *sound* if it is in
both the ISR and the proposal, and its present incarnation is up, registered and unfenced; *steady* if in addition no
fault hits or disturbs it now, or did within the last session time-out, after which the controllers might still fence
it. Which nodes a rule about messages *disturbs*, and for how long, is in :mod:`highwater_chaos.faults.messages`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from highwater_chaos.apache_kafka.versions import release_parts
from highwater_chaos.backends.view import ClusterView, PartitionView
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_name, node_id, quorum_names

_ELIGIBLE_REPLICAS: Final = (4, 1, 0)
_MIN_ISR: Final = "min.insync.replicas"


def _nothing_moves(partition: str) -> Sequence[Sequence[int]]:
    del partition
    return ()


@dataclass(frozen=True, slots=True)
class Disruptions:
    """What the schedule is doing to nodes. ``now``: whether a fault that hits or disturbs a node is in force;
    ``recently``: whether one was, within the last session time-out."""

    now: Callable[[str], bool]
    recently: Callable[[str], bool]
    lost_cache: Callable[[str], int | None]
    """The number of the next event when the node last lost its page cache or its disk; None if it never did."""
    settled: Callable[[int], bool]
    """Whether a run time (ns) lies more than one session time-out back."""
    moving_to: Callable[[str], Sequence[Sequence[int]]] = _nothing_moves
    """The replicas that a partition may have after reassignments that are under way."""

    def unsteady(self, node: str) -> bool:
        """Whether one cannot count on the node."""
        return self.now(node) or self.recently(node)


@dataclass(frozen=True, slots=True)
class FaultEffect:
    """What a fault would do: the nodes it is aimed at, those it disturbs, and whether the former lose their caches."""

    targets: Sequence[str]
    disturbs: Sequence[str] = ()
    loses_cache: bool = False


def why_not(effect: FaultEffect, cluster: Cluster, view: ClusterView, disruptions: Disruptions) -> str | None:
    """Why a fault must not be injected now, or None if it may."""
    reason = _why_not_controllers(effect, quorum_names(cluster), view, disruptions)
    if reason is not None:
        return reason
    for node in dict.fromkeys((*effect.targets, *effect.disturbs)):
        if node.startswith("broker-"):
            for partition in view.partitions.values():
                reason = _why_not_here(effect, node, partition, cluster, view, disruptions)
                if reason is not None:
                    return f"{partition.partition}: {reason}"
    return None


def why_not_reassign(partition: PartitionView, view: ClusterView, disruptions: Disruptions) -> str | None:
    """Why a partition must not be reassigned now, or None if it may."""
    suspects = _suspects(partition, view, disruptions)
    return f"{partition.partition} counts on {suspects}, which lost what was not on disk" if suspects else None


def _why_not_controllers(
    effect: FaultEffect, names: Sequence[str], view: ClusterView, disruptions: Disruptions
) -> str | None:
    active = view.active_controller()
    zookeeper = view.mode == "zookeeper"
    left_alone = (active, *names) if zookeeper else (active,)
    disturbed = [name for name in effect.targets if name in left_alone]
    disturbed += [name for name in effect.disturbs if name in names or name == active]
    if disturbed and any(_suspects(partition, view, disruptions) for partition in view.partitions.values()):
        return f"without {active} sound replicas might be fenced before suspect ones"
    minority = (len(names) - 1) // 2
    if effect.loses_cache and _counted_on(effect.targets, view, disruptions):
        since = view.active_since_ns()
        untouched = active is not None and not disruptions.now(active)
        if zookeeper and active is not None:
            # The ensemble names a broker that is dead, or that has restarted and is the controller no longer.
            untouched = not disruptions.unsteady(active) and view.is_unfenced(node_id(active))
        if since is None or not disruptions.settled(since) or not untouched:
            return "no controller has been active and untouched for long enough"
        if sum(disruptions.now(name) for name in names) > minority:
            return "the active controller might lose its majority"
        unsteady = [name for name in names if zookeeper and disruptions.unsteady(name)]
        if unsteady:
            return f"sessions of sound brokers might end, because of {unsteady[0]}"
        if zookeeper and active in effect.targets:
            return f"the next controller might not notice that {active} was away"
    hit = [name for name in names if name in effect.targets or disruptions.now(name)]
    if any(name in names for name in effect.targets) and len(hit) > minority:
        return f"{len(hit)} of {len(names)} controllers would be hit at once"
    return None


def _why_not_here(
    effect: FaultEffect,
    node: str,
    partition: PartitionView,
    cluster: Cluster,
    view: ClusterView,
    disruptions: Disruptions,
) -> str | None:
    broker = node_id(node)
    may_count = _may_join(broker, partition, disruptions) or _may_be_eligible(broker, partition, cluster)
    if broker not in partition.members and not may_count:
        return None
    proposed = partition.isr if partition.proposed_isr is None else partition.proposed_isr
    only_proposed = broker in proposed and broker not in partition.isr
    if view.mode == "zookeeper" and effect.loses_cache and node in effect.targets and only_proposed:
        return f"broker {broker} is proposed for the ISR, whatever becomes of it"
    reassigned = disruptions.moving_to(partition.partition)
    steady = [
        other
        for other in partition.isr
        if other in proposed
        and broker_name(other) not in effect.targets
        and broker_name(other) not in effect.disturbs
        and view.is_unfenced(other)
        and not disruptions.unsteady(broker_name(other))
        and not _is_suspect(other, partition, view, disruptions)
        and all(other in replicas for replicas in reassigned)
    ]
    if steady:
        return None
    if effect.loses_cache and node in effect.targets:
        return f"broker {broker} is the only replica sure to be in sync"
    suspects = [member for member in _suspects(partition, view, disruptions) if member != broker]
    return (
        f"without broker {broker} it would depend on {suspects}, which lost what was not on disk" if suspects else None
    )


def _counted_on(nodes: Sequence[str], view: ClusterView, disruptions: Disruptions) -> bool:
    """Whether one of the nodes is in a committed ISR, or may soon be in one."""
    return any(
        node_id(node) in partition.isr or _may_join(node_id(node), partition, disruptions)
        for partition in view.partitions.values()
        for node in nodes
        if node.startswith("broker-")
    )


def _may_join(broker: int, partition: PartitionView, disruptions: Disruptions) -> bool:
    """Whether a message that is still on its way may make a replica a member."""
    return broker in partition.replicas and disruptions.unsteady(broker_name(broker))


def _may_be_eligible(broker: int, partition: PartitionView, cluster: Cluster) -> bool:
    """Whether a replica outside the ISR may be an eligible leader replica."""
    if cluster.mode == "zookeeper" or cluster.kafka is None or release_parts(cluster.kafka) < _ELIGIBLE_REPLICAS:
        return False
    topic = partition.partition.rpartition("-")[0]
    configs = [cluster.config, *(one.config for one in cluster.topics if one.name == topic)]
    least = max(int(config.get(_MIN_ISR, 1)) for config in configs)  # that of its broker may be in force, or its own
    return broker in partition.replicas and len(partition.isr) < least


def _suspects(partition: PartitionView, view: ClusterView, disruptions: Disruptions) -> list[int]:
    return [member for member in partition.members if _is_suspect(member, partition, view, disruptions)]


def _is_suspect(member: int, partition: PartitionView, view: ClusterView, disruptions: Disruptions) -> bool:
    lost = disruptions.lost_cache(broker_name(member))
    if lost is None:
        return False
    if view.mode == "kraft":
        return not view.is_registered(member)
    back = next((seq for seq in view.nodes[broker_name(member)].registered_seqs if seq >= lost), None)
    return back is None or partition.member_since[member] < back
