"""Names and node ids of the nodes that an experiment's cluster has."""

from __future__ import annotations

from highwater_chaos.experiment.model import Cluster

CONTROLLER_ID_BASE = 1000
"""Node id of ``controller-0``; brokers count from 0."""


def broker_names(cluster: Cluster) -> tuple[str, ...]:
    """``broker-0`` …, in order of id."""
    return tuple(f"broker-{i}" for i in range(cluster.brokers))


def controller_names(cluster: Cluster) -> tuple[str, ...]:
    """``controller-0`` …, in order of id."""
    return tuple(f"controller-{i}" for i in range(cluster.controllers))


def node_id(name: str) -> int:
    """Kafka's node id of a node name: ``broker-2`` → 2, ``controller-1`` → 1001."""
    role, _, number = name.rpartition("-")
    return int(number) + (CONTROLLER_ID_BASE if role == "controller" else 0)


def broker_name(broker: int) -> str:
    """Node name of a broker id."""
    return f"broker-{broker}"


def controller_name(controller: int) -> str:
    """Node name of a controller's node id (1000 …)."""
    return f"controller-{controller - CONTROLLER_ID_BASE}"
