"""unavailable: the cluster makes no progress although a majority is healthy, for longer than the experiment allows.

Worked example: a follower was killed and started again, everything is healed, all nodes run, and ``spec.recovery``
later the follower is still not in the ISR. Nothing was lost, and no fault explains it.

The trap: a cluster that *cannot* make progress is not at fault. So this is judged only

* in the phase *recovered*, after all faults, for as long as ``spec.recovery`` and not beyond ``spec.timeout``;
* if a probe saw that every fault is gone;
* of *healthy* nodes: the process runs, and no disk fault hit it since it started (a log whose disk failed stays
  offline until its broker restarts);
* if a majority of the controllers, or of the ZooKeeper servers, is healthy;
* of replicas that no step of the experiment throttles. A throttle slows no other topic, so these recover first. Then
  the harness removes all throttles, and the others recover. If it could not, their replicas need not be in sync;
* if all events up to then are known: on Kubernetes they come by way of agents, one of which may be away just now.

Then there must be an active controller; every healthy broker must be unfenced; every partition of which a member of the
ISR is healthy must have a leader; and if the leader is healthy, every healthy replica must be in the ISR.

Every healthy controller must have as committed what any controller had when recovery began (:func:`behind`). A voter
that stays behind harms nobody until another one dies. Then the quorum has no majority that can commit.

And every partition makes progress: within another ``spec.recovery``, a write is acknowledged in each partition that the
workload ever wrote to and that can take writes (:func:`writable`). An acknowledgement in one says nothing of another.
The workload draws its partitions, and may not write to one of them again. So a partition that had no acknowledgement
in the first moments gets a write of the harness's own, as Jepsen writes and reads each key at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.backends.view import ClusterView, PartitionView
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.faults import Effect, effect_of
from highwater_chaos.experiment.nodes import (
    broker_name,
    broker_names,
    controller_names,
    node_id,
    node_names,
    quorum_names,
)
from highwater_chaos.faults import FaultRecord
from highwater_runtime.metadata.topic_config import MIN_INSYNC_REPLICAS


def healthy_nodes(
    cluster: Cluster, view: ClusterView, state: Callable[[str], NodeState], faults: Iterable[FaultRecord]
) -> set[str]:
    """Names of the nodes whose process runs and whose disk has not failed in their present incarnation."""
    failed_until: dict[str, int] = {}
    for fault in faults:
        if Effect.FAILS_LOGS in effect_of(fault.kind):
            for name in fault.targets:
                # The heal mends the disk, then starts the node again. Probes see both later.
                over_ns = fault.started_ns if fault.heal_started_ns is None else fault.heal_started_ns
                failed_until[name] = max(over_ns, failed_until.get(name, 0))

    def is_healthy(name: str) -> bool:
        node = view.nodes.get(name)
        began_ns = node.changed_ns if node is not None and node.up else -1
        return state(name) is NodeState.UP and began_ns >= failed_until.get(name, 0)

    return {name for name in node_names(cluster) if is_healthy(name)}


def overdue(
    cluster: Cluster, view: ClusterView, healthy: Collection[str], throttled: Collection[str] = ()
) -> list[str]:
    """What a cluster with these healthy nodes owes and does not have, as clauses; none without a healthy majority.

    ``throttled``: topics whose replicas may be throttled still, so that they need not be in sync.
    """
    if not _has_majority(cluster, healthy):
        return []
    if view.active_controller() is None:
        return ["no controller is active"]
    missing = [
        f"{name} is not unfenced"
        for name in broker_names(cluster)
        if name in healthy and not view.is_unfenced(node_id(name))
    ]
    for partition in view.partitions.values():
        missing += _overdue_of(partition, healthy, throttled)
    return missing


def committed_metadata(cluster: Cluster, view: ClusterView) -> int:
    """The offset below which a controller has called the metadata log committed; −1: none has said (ZooKeeper mode, and
    software that does not tell)."""
    return max((view.nodes[name].metadata_end for name in controller_names(cluster) if name in view.nodes), default=-1)


def behind(cluster: Cluster, view: ClusterView, healthy: Collection[str], committed: int) -> list[str]:
    """The healthy controllers that do not know that the metadata log is committed below ``committed``, as clauses; none
    without a healthy majority."""
    if not _has_majority(cluster, healthy):
        return []
    known = {name: view.nodes[name].metadata_end for name in controller_names(cluster) if name in healthy}
    return [
        f"{name} does not have the metadata log up to {committed}, but to {max(end, 0)}"
        for name, end in known.items()
        if end < committed
    ]


def writable(cluster: Cluster, view: ClusterView, healthy: Collection[str]) -> list[str]:
    """The partitions that can acknowledge writes: a healthy leader, and enough healthy members of the ISR; sorted."""
    if not _has_majority(cluster, healthy) or view.active_controller() is None:
        return []
    able = []
    for partition in view.partitions.values():
        topic = partition.partition.rpartition("-")[0]
        in_sync = sum(broker_name(broker) in healthy for broker in partition.isr)
        if broker_name(partition.leader) in healthy and in_sync >= min_in_sync(cluster, topic):
            able.append(partition.partition)
    return sorted(able)


def _has_majority(cluster: Cluster, healthy: Collection[str]) -> bool:
    quorum = quorum_names(cluster)
    if not quorum:
        return True  # ZooKeeper's, of a cluster of others
    return 2 * sum(name in healthy for name in quorum) > len(quorum)


def min_in_sync(cluster: Cluster, topic: str) -> int:
    """The topic's ``min.insync.replicas`` as the experiment sets it."""
    own = {one.name: one.config.get(MIN_INSYNC_REPLICAS) for one in cluster.topics}.get(topic)
    return int(cluster.config.get(MIN_INSYNC_REPLICAS, 1) if own is None else own)


def _overdue_of(partition: PartitionView, healthy: Collection[str], throttled: Collection[str]) -> list[str]:
    if partition.leader < 0:
        able = [broker for broker in partition.isr if broker_name(broker) in healthy]
        return [f"{partition.partition} has no leader, though broker {able[0]} is in its ISR"] if able else []
    if broker_name(partition.leader) not in healthy or partition.partition.rpartition("-")[0] in throttled:
        return []
    outside = [b for b in partition.replicas if b not in partition.isr and broker_name(b) in healthy]
    return [f"broker {broker} is not in the ISR {partition.isr} of {partition.partition}" for broker in outside]
