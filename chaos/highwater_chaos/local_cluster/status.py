"""How a local cluster does: which nodes run, who leads the quorum, what is under-replicated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from highwater_chaos.local_cluster.nodes import admin_page, why_unready
from highwater_chaos.local_cluster.record import ClusterRecord, NodeRecord

_ACTIVE: Final = "kafka_controller_kafkacontroller_activecontrollercount"
_LEADING: Final = "kafka_server_replicamanager_leadercount"
_PARTITIONS: Final = "kafka_server_replicamanager_partitioncount"
_UNDER_REPLICATED: Final = "kafka_server_replicamanager_underreplicatedpartitions"


@dataclass(frozen=True, slots=True)
class NodeStatus:
    """One node. ``state``: ``ready``, ``not ready`` (``why``) or ``down``; counts are None where it does not tell."""

    name: str
    role: str
    pid: int | None
    address: str
    state: str
    why: str | None
    is_leader: bool | None
    """Whether it is the active controller; None for brokers."""
    partitions: int | None
    leads: int | None
    under_replicated: int | None


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """All of it. ``state``: ``up`` (every node is ready), ``degraded`` or ``down`` (none runs)."""

    name: str
    state: str
    bootstrap: str
    cluster_id: str
    directory: str
    leader: str | None
    under_replicated: int | None
    nodes: tuple[NodeStatus, ...]

    def to_json(self) -> dict[str, Any]:
        """As ``highwater cluster status --json`` prints it."""
        return {
            "name": self.name,
            "state": self.state,
            "bootstrap": self.bootstrap,
            "clusterId": self.cluster_id,
            "directory": self.directory,
            "leader": self.leader,
            "underReplicated": self.under_replicated,
            "nodes": [
                {
                    "name": node.name,
                    "role": node.role,
                    "pid": node.pid,
                    "address": node.address,
                    "state": node.state,
                    "why": node.why,
                    "isLeader": node.is_leader,
                    "partitions": node.partitions,
                    "leads": node.leads,
                    "underReplicated": node.under_replicated,
                }
                for node in self.nodes
            ],
        }


def look(cluster: ClusterRecord) -> ClusterStatus:
    """Ask every node."""
    pids = {node.name: identity.pid for node, identity in cluster.living()}
    nodes = tuple(_node(cluster, node, pids.get(node.name)) for node in cluster.nodes)
    all_ready = all(node.state == "ready" for node in nodes)
    state = "up" if all_ready else "degraded" if pids else "down"
    counts = [node.under_replicated for node in nodes if node.under_replicated is not None]
    return ClusterStatus(
        name=cluster.name,
        state=state,
        bootstrap=cluster.bootstrap(),
        cluster_id=cluster.cluster_id,
        directory=cluster.directory,
        leader=next((node.name for node in nodes if node.is_leader), None),
        under_replicated=sum(counts) if counts else None,
        nodes=nodes,
    )


def _node(cluster: ClusterRecord, node: NodeRecord, pid: int | None) -> NodeStatus:
    why = "not running" if pid is None else why_unready(cluster, node)
    state = "down" if pid is None else ("ready" if why is None else "not ready")
    values = {} if pid is None else _metrics(cluster, node)

    def count(name: str) -> int | None:
        return int(values[name]) if name in values else None

    is_controller = node.role == "controller"
    return NodeStatus(
        name=node.name,
        role=node.role,
        pid=pid,
        address=str(node.endpoint),
        state=state,
        why=why,
        is_leader=bool(values.get(_ACTIVE)) if is_controller else None,
        partitions=count(_PARTITIONS),
        leads=count(_LEADING),
        under_replicated=count(_UNDER_REPLICATED),
    )


def _metrics(cluster: ClusterRecord, node: NodeRecord) -> dict[str, float]:
    """Series without labels, by name."""
    answer = admin_page(cluster, node, "metrics")
    if answer is None:
        return {}
    families = text_string_to_metric_families(answer[1])
    return {sample.name: sample.value for family in families for sample in family.samples if not sample.labels}
