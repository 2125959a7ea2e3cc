"""What keeps others from breaking a cluster by accident: a budget for evictions, rules for the network, an identity."""

from __future__ import annotations

from typing import Any, Final

from highwater_operator.objects.naming import (
    ADMIN_PORT,
    Owner,
    Role,
    metadata_of,
    ports_of,
    selector_of,
    set_name,
)
from highwater_operator.objects.security import client_policy

SYSTEM: Final = "highwater-system"
"""Namespace of the operator and of runners, unless they say otherwise."""


def disruption_budget(owner: Owner, role: Role) -> dict[str, Any]:
    """One pod of a role at a time may be evicted. One that runs and is not ready serves nobody: it may always be, or
    the drain of its node would wait for as long as it crashes."""
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": metadata_of(owner, set_name(owner, role), role),
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": selector_of(owner, role)},
        },
    }


def network_policy(owner: Owner, role: Role, system: str = SYSTEM) -> dict[str, Any]:
    """Brokers and metrics may be reached by anyone; controllers and ZooKeeper servers by the cluster's own pods, and by
    the operator and runners, which are in the namespace ``system``. Labels of pods elsewhere prove nothing: whoever may
    create a pod chooses them."""
    callers = [
        {"key": "app.kubernetes.io/part-of", "operator": "In", "values": ["highwater"]},
        {"key": "app.kubernetes.io/component", "operator": "In", "values": ["operator", "runner"]},
    ]
    own: list[dict[str, Any]] = [
        {"podSelector": {"matchLabels": selector_of(owner)}},
        {
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": system}},
            "podSelector": {"matchExpressions": callers},
        },
    ]
    rules: list[dict[str, Any]] = [{"ports": [{"port": ADMIN_PORT, "protocol": "TCP"}]}]
    ports = [{"port": port, "protocol": "TCP"} for port in ports_of(owner, role).values()]
    if role == "broker" and owner.spec.security is not None:
        rules += client_policy(owner, own)
    else:
        rules.append({"ports": ports} if role == "broker" else {"from": own, "ports": ports})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata_of(owner, set_name(owner, role), role),
        "spec": {
            "podSelector": {"matchLabels": selector_of(owner, role)},
            "policyTypes": ["Ingress"],
            "ingress": rules,
        },
    }


def service_account(owner: Owner) -> dict[str, Any]:
    """Nodes never talk to the API server, and get no token to do so."""
    return {
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": metadata_of(owner, owner.name),
        "automountServiceAccountToken": False,
    }
