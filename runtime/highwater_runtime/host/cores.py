"""From settings to a core: the broker or controller of a node process, and whether it does its work yet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from highwater_runtime.broker import Broker, BrokerOptions, KraftBroker
from highwater_runtime.controller.kraft import ControllerOptions, QuorumController
from highwater_runtime.host.config_file import SECURITY_PROTOCOLS, NodeSettings
from highwater_runtime.host.node import HostedNode
from highwater_runtime.metadata import BrokerListener, MetadataImage
from highwater_runtime.nodes.zookeeper_broker import ZooKeeperBroker
from highwater_runtime.ports import Endpoint, NodeCore, Ports
from highwater_runtime.ports.coordination import Coordination, SessionKey


def make_core(
    settings: NodeSettings, ports: Ports, node: HostedNode, bootstrap_records: tuple[Any, ...] = ()
) -> NodeCore:
    """Make the core of a node whose listeners are bound."""
    bound = node.bound
    if settings.role == "controller":
        controller = ControllerOptions(
            node_id=settings.node_id,
            voters=settings.voters,
            cluster_id=settings.cluster_id,
            switches=settings.switches,
            config=settings.config,
            bootstrap_metadata_version=settings.bootstrap_version,
            bootstrap_records=bootstrap_records,
        )
        return QuorumController(controller, ports)
    broker = BrokerOptions(
        node_id=settings.node_id,
        endpoint=advertised(settings, bound, settings.inter_broker_listener),
        controllers=settings.voters,
        cluster_id=settings.cluster_id,
        rack=settings.rack,
        switches=settings.switches,
        config=settings.config,
        listeners=_registered(settings, bound),
        properties=described_properties(settings, bound),
        hold_until_published=True,
    )
    if settings.zookeepers:
        return ZooKeeperBroker(broker, ports, _coordination(settings.zookeepers, node))
    return KraftBroker(broker, ports)


def _coordination(servers: tuple[Endpoint, ...], node: HostedNode) -> Coordination:
    from highwater_runtime.host.zookeeper import KazooCoordination  # noqa: PLC0415 - needs kazoo, which is optional

    return KazooCoordination(servers, node.loop, node.run, node.turn.will_send)


def _registered(settings: NodeSettings, bound: Mapping[str, Endpoint]) -> tuple[BrokerListener, ...]:
    """The listeners as the metadata is to have them: that of the brokers among themselves first."""
    first = settings.inter_broker_listener
    in_order = sorted(settings.listeners, key=lambda listener: listener.name != first)
    return tuple(
        BrokerListener(one.name, advertised(settings, bound, one.name), SECURITY_PROTOCOLS.index(one.protocol))
        for one in in_order
    )


def metadata_of(core: NodeCore | None) -> MetadataImage | None:
    """The cluster as a core knows it; None before there is a core."""
    match core:
        case Broker():
            return core.image
        case QuorumController():
            return core.committed_image
        case _:
            return None


def session_of(core: NodeCore | None) -> SessionKey | None:
    """The key of a broker's ZooKeeper session; None if it has none."""
    session = core.session if isinstance(core, ZooKeeperBroker) else None
    return None if session is None else session.key


def partitions_of(core: NodeCore | None) -> Iterator[tuple[str, int, int]]:
    """Name, leader (−1: none) and size of the ISR of each partition that a core knows."""
    image = metadata_of(core)
    if image is not None:
        for topic, index, state in image.all_partitions():
            yield f"{topic.name}-{index}", state.leader, len(state.isr)


def refresh_metrics(core: NodeCore | None) -> None:
    """Bring up to date the metrics that a core computes only when they are read."""
    match core:
        case Broker():
            core.refresh_metrics()
        case QuorumController() if core.has_started:
            core.raft.refresh_metrics()
        case _:
            pass


def advertised(settings: NodeSettings, bound: Mapping[str, Endpoint], listener: str) -> Endpoint:
    """Return the endpoint of a listener for clients. Port 0 stands for the port that was bound."""
    endpoint = settings.listener(listener).advertised
    return endpoint if endpoint.port else Endpoint(endpoint.host, bound[listener].port)


def described_properties(settings: NodeSettings, bound: Mapping[str, Endpoint]) -> dict[str, str]:
    """Return the host's own properties for DescribeConfigs, by name."""
    advertised_listeners = (f"{one.name}://{advertised(settings, bound, one.name)}" for one in settings.listeners)
    properties = {
        "process.roles": settings.role,
        "node.id": str(settings.node_id),
        "broker.id": str(settings.node_id),
        "listeners": ",".join(f"{one.name}://{bound[one.name]}" for one in settings.listeners),
        "advertised.listeners": ",".join(advertised_listeners),
        "inter.broker.listener.name": settings.inter_broker_listener,
        "log.dirs": str(settings.log_dir),
    }
    if settings.rack is not None:
        properties["broker.rack"] = settings.rack
    if settings.zookeepers:
        properties["zookeeper.connect"] = ",".join(map(str, settings.zookeepers))
    else:
        voters = (f"{voter}@{endpoint}" for voter, endpoint in settings.voters.items())
        properties["controller.quorum.voters"] = ",".join(voters)
    return properties | {name: entry.value for name, entry in settings.security.items()}


def why_unready(core: NodeCore | None) -> str | None:
    """Why a core does not do its work in the cluster yet (or now); None if it does.

    A broker works once its registration, by this life, is unfenced in the metadata that it acts on (in ZooKeeper mode:
    once it is registered and the controller has sent it its own entry); a controller once it is active, or follows a
    live leader and knows what is committed.
    """
    match core:
        case ZooKeeperBroker():
            if core.session is None or not core.is_registered:
                return "the broker is not registered in ZooKeeper"
            known = core.options.node_id in core.image.brokers
            return None if known else "the controller has not sent the cluster's state yet"
        case Broker():
            own = core.image.brokers.get(core.options.node_id)
            if own is None or own.epoch != core.broker_epoch:
                return "the broker is not registered yet"
            return "the broker is fenced" if own.fenced else None
        case QuorumController():
            if core.is_active:
                return None
            if core.raft.leader_id is None:
                return "no leader of the quorum is known"
            if not core.raft.hears_leader:
                return f"does not hear the leader, {core.raft.leader_id}"
            return "has not caught up with the metadata log" if core.committed_image.offset < 0 else None
        case None:
            return "starting"
        case _:
            return None
