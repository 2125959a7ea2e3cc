"""How the simulator makes a broker, a controller or a ZooKeeper server of an experiment's cluster."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.nodes import controller_names, node_id, zookeeper_names
from highwater_runtime.broker import BrokerOptions, KraftBroker
from highwater_runtime.config import NodeConfig, PropertyValue
from highwater_runtime.controller.kraft import ControllerOptions, QuorumController
from highwater_runtime.metadata.metadata_version import MetadataVersion
from highwater_runtime.nodes.zookeeper_broker import ZooKeeperBroker
from highwater_runtime.ports import Endpoint, NodeCore, Ports
from highwater_runtime.switches import Switches
from highwater_runtime.zookeeper import EnsembleClient, ZooKeeperOptions, ZooKeeperServer
from highwater_runtime.zookeeper.transaction_events import TransactionEvents

BROKER_PORT: Final = 9092
CONTROLLER_PORT: Final = 9093
ZOOKEEPER_PORT: Final = 2181
_TICKS: Final = 9
"""Of the servers, in a broker's session: a server lets one last 2 to 20 of them (18 s and 2 s by default)."""
CLUSTER_ID: Final = "highwater-simulation00"
"""Kafka's cluster ids have 22 characters."""


def controller_endpoints(cluster: Cluster) -> dict[int, Endpoint]:
    """Voters by node id."""
    return {node_id(name): Endpoint(name, CONTROLLER_PORT) for name in controller_names(cluster)}


def broker_factory(cluster: Cluster, name: str, own: Mapping[str, PropertyValue]) -> Callable[[Ports], NodeCore]:
    """Makes each incarnation of one broker. ``own``: what its configuration has beside the cluster's, now."""
    first = BrokerOptions(
        node_id=node_id(name),
        endpoint=Endpoint(name, BROKER_PORT),
        rack=None,
        controllers=controller_endpoints(cluster),
        cluster_id=CLUSTER_ID,
        switches=Switches.of(cluster.switches),
        config=NodeConfig.of(cluster.config),
    )

    def options() -> BrokerOptions:
        return replace(first, config=NodeConfig.of({**cluster.config, **own})) if own else first

    if cluster.mode == "kraft":
        return lambda ports: KraftBroker(options(), ports)
    servers = tuple(zookeeper_endpoints(cluster).values())
    return lambda ports: ZooKeeperBroker(options(), ports, EnsembleClient(ports, servers))


def controller_factory(cluster: Cluster, name: str, own: Mapping[str, PropertyValue]) -> Callable[[Ports], NodeCore]:
    """Makes each incarnation of one controller; ``own`` as of a broker."""
    version = cluster.metadata_version
    first = ControllerOptions(
        node_id=node_id(name),
        voters=controller_endpoints(cluster),
        cluster_id=CLUSTER_ID,
        switches=Switches.of(cluster.switches),
        config=NodeConfig.of(cluster.config),
        bootstrap_metadata_version=MetadataVersion.latest() if version is None else MetadataVersion.of(version),
    )

    def options() -> ControllerOptions:
        return replace(first, config=NodeConfig.of({**cluster.config, **own})) if own else first

    return lambda ports: QuorumController(options(), ports)


def zookeeper_endpoints(cluster: Cluster) -> dict[int, Endpoint]:
    """Servers of the ensemble by node id."""
    return {node_id(name): Endpoint(name, ZOOKEEPER_PORT) for name in zookeeper_names(cluster)}


def zookeeper_factory(cluster: Cluster, name: str) -> Callable[[Ports], NodeCore]:
    """Makes each incarnation of one ZooKeeper server, which reports what it applies."""
    config = NodeConfig.of(cluster.config)
    options = ZooKeeperOptions(
        node_id=node_id(name),
        servers=zookeeper_endpoints(cluster),
        cluster_id=CLUSTER_ID,
        tick_ms=max(1, config.zookeeper_session_timeout_ms // _TICKS),
        config=config,
    )
    return lambda ports: ZooKeeperServer(options, ports, TransactionEvents(ports.trace))


__all__ = ["BROKER_PORT", "CONTROLLER_PORT", "ZOOKEEPER_PORT", "broker_factory", "controller_factory"]
