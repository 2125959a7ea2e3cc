"""Names, labels and addresses: the one place where they are made up.

Pods are called ``<cluster>-broker-<id>`` and ``<cluster>-controller-<index>``; a broker's node id is that id, a
controller's is 1000 and its index. Labels follow Kubernetes' recommendation, and those of Strimzi are added because the
dashboards that people have select by them.
"""

from __future__ import annotations

from typing import Any, Final, Literal, NamedTuple

from highwater_chaos.kube.kinds import CLUSTER_LABEL, LOG_CLUSTER
from highwater_operator.resources import LogClusterSpec

Role = Literal["broker", "controller"]
ROLES: Final[tuple[Role, ...]] = ("controller", "broker")
"""In the order in which they are made."""

CONTROLLER_ID_BASE: Final = 1000
CLIENT_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
ADMIN_PORT: Final = 9404
"""Metrics and probes; the port that JMX exporters of Kafka are commonly given."""

ROLE_LABEL: Final = "highwater.dev/role"


class Owner(NamedTuple):
    """The LogCluster that everything belongs to."""

    name: str
    namespace: str
    uid: str
    spec: LogClusterSpec

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
    """Kafka's node id of a pod."""
    return index + (CONTROLLER_ID_BASE if role == "controller" else 0)


def host_of(owner: Owner, role: Role, index: int) -> str:
    """The name under which a pod is reached from anywhere in the cluster, before it is ready too."""
    return f"{pod_name(owner, role, index)}.{service_name(owner, role)}.{owner.namespace}.svc"


def replicas_of(owner: Owner, role: Role) -> int:
    """How many pods of a role there should be."""
    return owner.spec.brokers if role == "broker" else owner.spec.controllers


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
