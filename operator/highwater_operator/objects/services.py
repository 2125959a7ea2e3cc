"""Services: a headless one a role, for the pods' own addresses, and one for clients to start with."""

from __future__ import annotations

from typing import Any

from highwater_operator.objects.naming import (
    ADMIN_PORT,
    CLIENT_PORT,
    Owner,
    Role,
    bootstrap_name,
    metadata_of,
    ports_of,
    selector_of,
    service_name,
)


def headless_service(owner: Owner, role: Role) -> dict[str, Any]:
    """Addresses exist before pods are ready: controllers and ZooKeeper servers must find each other to become so."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata_of(owner, service_name(owner, role), role),
        "spec": {
            "clusterIP": "None",
            "publishNotReadyAddresses": True,
            "selector": selector_of(owner, role),
            "ports": [
                *(
                    {"name": name, "port": port, "targetPort": name, "protocol": "TCP"}
                    for name, port in ports_of(owner, role).items()
                ),
                {"name": "metrics", "port": ADMIN_PORT, "targetPort": "metrics", "protocol": "TCP"},
            ],
        },
    }


def bootstrap_service(owner: Owner) -> dict[str, Any]:
    """Any broker that is ready will do."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata_of(owner, bootstrap_name(owner), "broker"),
        "spec": {
            "type": "ClusterIP",
            "selector": selector_of(owner, "broker"),
            "ports": [{"name": "kafka", "port": CLIENT_PORT, "targetPort": "kafka", "protocol": "TCP"}],
        },
    }
