"""Names and node ids of the nodes that an experiment's cluster has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from highwater_chaos.experiment.model import Cluster

CONTROLLER_ID_BASE = 1000
"""Node id of ``controller-0``; brokers count from 0."""
_BASES: Final = {"broker": 0, "controller": CONTROLLER_ID_BASE, "zookeeper": 2 * CONTROLLER_ID_BASE}


def broker_names(cluster: Cluster) -> tuple[str, ...]:
    """``broker-0`` …, in order of id."""
    ids = range(cluster.brokers) if cluster.attached is None else cluster.attached.brokers
    return tuple(f"broker-{i}" for i in ids)


def controller_names(cluster: Cluster) -> tuple[str, ...]:
    """``controller-0`` …, in order of id; none in ZooKeeper mode, where one of the brokers is the controller.
    Those of a cluster of others are called after their ids."""
    if cluster.attached is not None:
        return tuple(f"controller-{i}" for i in cluster.attached.controllers)
    return tuple(f"controller-{i}" for i in range(cluster.controllers)) if cluster.mode == "kraft" else ()


def zookeeper_names(cluster: Cluster) -> tuple[str, ...]:
    """``zookeeper-0`` …, in order of id; none in KRaft mode."""
    if cluster.mode == "kraft" or cluster.attached is not None:
        return ()
    return tuple(f"zookeeper-{i}" for i in range(cluster.zookeepers))


def quorum_names(cluster: Cluster) -> tuple[str, ...]:
    """The nodes that keep the metadata, of which a majority must live: controllers, or ZooKeeper servers."""
    return controller_names(cluster) or zookeeper_names(cluster)


def node_names(cluster: Cluster) -> tuple[str, ...]:
    """All nodes, brokers first."""
    return (*broker_names(cluster), *quorum_names(cluster))


def node_id(name: str) -> int:
    """Kafka's node id of a node name: ``broker-2`` → 2, ``controller-1`` → 1001. ``zookeeper-1`` is 2001."""
    role, _, number = name.rpartition("-")
    return int(number) + _BASES[role]


def broker_name(broker: int) -> str:
    """Node name of a broker id."""
    return f"broker-{broker}"


def controller_name(controller: int) -> str:
    """Node name of a controller's node id (1000 …)."""
    return f"controller-{controller - CONTROLLER_ID_BASE}"
