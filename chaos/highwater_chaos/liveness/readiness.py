"""Whether a cluster has come up, and what it still lacks."""

from __future__ import annotations

from collections.abc import Callable

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import broker_names, node_id, node_names, quorum_names


def nodes_ready(cluster: Cluster, view: ClusterView, state: Callable[[str], NodeState]) -> bool:
    """Whether every node runs, a controller is active, and no broker is fenced."""
    names = node_names(cluster)
    return (
        view.active_controller() is not None
        and all(state(name) is NodeState.UP for name in names)
        and all(view.is_unfenced(node_id(name)) for name in broker_names(cluster))
    )


def unready(cluster: Cluster, view: ClusterView, state: Callable[[str], NodeState]) -> str:
    """What is missing, as clauses: nodes, an active controller, replicas in sync."""
    missing = [
        f"{name} is {state(name).value}"
        for name in (*quorum_names(cluster), *broker_names(cluster))
        if state(name) is not NodeState.UP
    ]
    if view.active_controller() is None:
        missing.append("no controller is active")
    missing += [
        f"broker {node_id(name)} is not unfenced"
        for name in broker_names(cluster)
        if not view.is_unfenced(node_id(name))
    ]
    for name in view.under_replicated():
        partition = view.partitions[name]
        missing.append(f"{name} has ISR {partition.isr} of {partition.replicas} and leader {partition.leader}")
    return ", ".join(missing) or "topics are missing"
