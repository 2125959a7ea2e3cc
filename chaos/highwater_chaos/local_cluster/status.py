"""How a local cluster does: which nodes run, who leads the quorum, and how the partitions are.

The partitions are as the active controller sees them. Brokers would leave out those that no broker leads, or whose
leader is gone: exactly the ones in trouble.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from prometheus_client.parser import text_string_to_metric_families

from highwater_chaos.local_cluster.nodes import admin_page, why_unready
from highwater_chaos.local_cluster.record import ClusterRecord, NodeRecord

_ACTIVE: Final = "kafka_controller_kafkacontroller_activecontrollercount"
_LEADING: Final = "kafka_server_replicamanager_leadercount"
_PARTITIONS: Final = "kafka_server_replicamanager_partitioncount"
_UNDER_REPLICATED: Final = "kafka_server_replicamanager_underreplicatedpartitions"
_CONTROLLER: Final = "kafka_controller_kafkacontroller_"
_FENCED: Final = re.compile(r'highwater_controller_broker_fenced\{broker="(\d+)"\} 1(\.0)?')


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
    """Whether it is the active controller; None for those that cannot be."""
    partitions: int | None
    leads: int | None
    under_replicated: int | None


@dataclass(frozen=True, slots=True)
class ControllerView:
    """What the active controller knows: ids of fenced brokers, numbers of partitions."""

    fenced_brokers: tuple[int, ...]
    partitions: int
    leaderless: int
    under_replicated: int
    under_min_isr: int

    @property
    def serves(self) -> bool:
        """Whether every partition takes writes: it has a leader, and enough replicas are in sync."""
        return not self.leaderless and not self.under_min_isr


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    """All of it. ``state``: ``up`` (every node is ready, and every partition takes writes), ``degraded`` or ``down``
    (none runs). ``view`` is None while there is no active controller that answers."""

    name: str
    state: str
    bootstrap: str
    cluster_id: str
    directory: str
    leader: str | None
    view: ControllerView | None
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
            "fencedBrokers": None if self.view is None else list(self.view.fenced_brokers),
            "partitions": None if self.view is None else self.view.partitions,
            "leaderless": None if self.view is None else self.view.leaderless,
            "underReplicated": None if self.view is None else self.view.under_replicated,
            "underMinIsr": None if self.view is None else self.view.under_min_isr,
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
    tells = {node.name for node in cluster.nodes if node.role != "zookeeper" and node.name in pids}
    pages = {node.name: _page(cluster, node) if node.name in tells else "" for node in cluster.nodes}
    nodes = tuple(_node(cluster, node, pids.get(node.name), _unlabelled(pages[node.name])) for node in cluster.nodes)
    leader = next((node.name for node in nodes if node.is_leader), None)
    view = None if leader is None else _view(pages[leader])
    all_well = all(node.state == "ready" for node in nodes) and view is not None and view.serves
    return ClusterStatus(
        name=cluster.name,
        state="up" if all_well else "degraded" if pids else "down",
        bootstrap=cluster.bootstrap(),
        cluster_id=cluster.cluster_id,
        directory=cluster.directory,
        leader=leader,
        view=view,
        nodes=nodes,
    )


def _node(cluster: ClusterRecord, node: NodeRecord, pid: int | None, values: dict[str, float]) -> NodeStatus:
    why = "not running" if pid is None else why_unready(cluster, node)
    state = "down" if pid is None else ("ready" if why is None else "not ready")

    def count(name: str) -> int | None:
        return int(values[name]) if name in values else None

    is_controller = node.role == ("broker" if cluster.mode == "zookeeper" else "controller")
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


def _view(page: str) -> ControllerView | None:
    values = _unlabelled(page)
    try:
        return ControllerView(
            fenced_brokers=tuple(sorted(int(found[1]) for line in page.splitlines() if (found := _FENCED.match(line)))),
            partitions=int(values[_CONTROLLER + "globalpartitioncount"]),
            leaderless=int(values[_CONTROLLER + "offlinepartitionscount"]),
            under_replicated=int(values["highwater_controller_under_replicated_partitions"]),
            under_min_isr=int(values["highwater_controller_under_min_isr_partitions"]),
        )
    except KeyError:
        return None  # a node of an earlier version, or one that has just begun


def _page(cluster: ClusterRecord, node: NodeRecord) -> str:
    answer = admin_page(cluster, node, "metrics")
    return "" if answer is None else answer[1]


def _unlabelled(page: str) -> dict[str, float]:
    """Series without labels, by name. The others, of which there may be thousands, are not even parsed."""
    plain = "".join(line + "\n" for line in page.splitlines() if "{" not in line)
    return {sample.name: sample.value for family in text_string_to_metric_families(plain) for sample in family.samples}
