"""Names, labels and addresses: the one place where they are made up.

Pods are called ``<cluster>-broker-<id>``, ``<cluster>-controller-<index>`` and ``<cluster>-zookeeper-<index>``; a
broker's node id is that id, a controller's is 1000 and its index, a ZooKeeper server's 2000 and its index. Labels
follow Kubernetes' recommendation, and those of Strimzi are added because the dashboards that people have select by
them.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from highwater_chaos.experiment.nodes import node_id as node_id_of
from highwater_chaos.kube.kinds import CLUSTER_LABEL, LOG_CLUSTER
from highwater_operator.objects.identity import Identity
from highwater_operator.resources import LogClusterSpec
from highwater_runtime.ports import Endpoint

Role = Literal["broker", "controller", "zookeeper"]
ROLES: Final[tuple[Role, ...]] = ("controller", "zookeeper", "broker")
"""In the order in which they are made. Each cluster has brokers and one of the others: see :func:`roles_of`."""

CLIENT_PORT: Final = 9092
INTERNAL_PORT: Final = 9091
"""Where brokers of a cluster with ``spec.security`` meet each other."""
CONTROLLER_PORT: Final = 9093
ZOOKEEPER_PORT: Final = 2181
QUORUM_PORT: Final = 2888
"""Of a ZooKeeper server that leads: followers and observers connect to it."""
ELECTION_PORT: Final = 3888
ADMIN_PORT: Final = 9404
"""Metrics and probes; the port that JMX exporters of Kafka are commonly given."""

ROLE_LABEL: Final = "highwater.dev/role"


class Owner(NamedTuple):
    """The LogCluster that everything belongs to."""

    name: str
    namespace: str
    uid: str
    spec: LogClusterSpec
    identity: Identity | None = None
    """Of a cluster with ``spec.security``, once it is known."""

    def reference(self) -> dict[str, Any]:
        """For ``metadata.ownerReferences``: what belongs to a deleted cluster is collected with it."""
        return {
            "apiVersion": LOG_CLUSTER.api_version,
            "kind": LOG_CLUSTER.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


def roles_of(owner: Owner) -> tuple[Role, ...]:
    """The roles that a cluster of this mode has, in the order in which they are made."""
    return ("controller" if owner.spec.mode == "kraft" else "zookeeper", "broker")


def set_name(owner: Owner, role: Role) -> str:
    """Of the StatefulSet, and the stem of its pods' names."""
    return f"{owner.name}-{role}"


def service_name(owner: Owner, role: Role) -> str:
    """Of the headless Service that gives each pod its address."""
    return f"{owner.name}-{role}s"


def bootstrap_name(owner: Owner) -> str:
    """Of the Service that clients start with."""
    return f"{owner.name}-bootstrap"


def pod_name(owner: Owner, role: Role, index: int) -> str:
    """``demo-broker-0``."""
    return f"{set_name(owner, role)}-{index}"


def node_id(role: Role, index: int) -> int:
    """Kafka's node id of a pod. That of a ZooKeeper server is ours alone."""
    return node_id_of(f"{role}-{index}")


def host_of(owner: Owner, role: Role, index: int) -> str:
    """The name under which a pod is reached from anywhere in the cluster, before it is ready too."""
    return f"{pod_name(owner, role, index)}.{service_name(owner, role)}.{owner.namespace}.svc"


def endpoints_of(owner: Owner, role: Role, count: int | None = None) -> list[Endpoint]:
    """Where a role's pods are reached by their clients; ``count``: not as many as there should be, but so many."""
    port = next(iter(ports_of(owner, role).values()))
    return [
        Endpoint(host_of(owner, role, index), port)
        for index in range(replicas_of(owner, role) if count is None else count)
    ]


def admin_page_of(owner: Owner, role: Role, index: int) -> Endpoint:
    """Where a pod serves its metrics and probes."""
    return Endpoint(host_of(owner, role, index), ADMIN_PORT)


def replicas_of(owner: Owner, role: Role) -> int:
    """How many pods of a role there should be."""
    match role:
        case "broker":
            return owner.spec.brokers
        case "controller":
            return owner.spec.controllers
        case "zookeeper":
            return owner.spec.zookeepers


def ports_of(owner: Owner, role: Role) -> dict[str, int]:
    """The ports of a role's pods, beside that of metrics, by name; the first one is for its clients."""
    match role:
        case "broker":
            secured = owner.spec.security is not None
            return {"kafka": CLIENT_PORT, **({"internal": INTERNAL_PORT} if secured else {})}
        case "controller":
            return {"kafka": CONTROLLER_PORT}
        case "zookeeper":
            return {"zookeeper": ZOOKEEPER_PORT, "quorum": QUORUM_PORT, "election": ELECTION_PORT}


def labels_of(owner: Owner, role: Role | None = None) -> dict[str, str]:
    """Labels of an object that belongs to the cluster, or to one role of it."""
    labels = {
        "app.kubernetes.io/name": "highwater",
        "app.kubernetes.io/instance": owner.name,
        "app.kubernetes.io/managed-by": "highwater-operator",
        "app.kubernetes.io/part-of": "highwater",
        CLUSTER_LABEL: owner.name,
        "strimzi.io/cluster": owner.name,
    }
    if role is not None:
        labels |= {
            "app.kubernetes.io/component": role,
            ROLE_LABEL: role,
            "strimzi.io/name": set_name(owner, role),
        }
    return labels


def selector_of(owner: Owner, role: Role | None = None) -> dict[str, str]:
    """What selects the cluster's pods, or one role's: labels that never change."""
    return {CLUSTER_LABEL: owner.name, **({} if role is None else {ROLE_LABEL: role})}


def metadata_of(owner: Owner, name: str, role: Role | None = None) -> dict[str, Any]:
    """``metadata`` of an object of the cluster."""
    return {
        "name": name,
        "namespace": owner.namespace,
        "labels": labels_of(owner, role),
        "ownerReferences": [owner.reference()],
    }
