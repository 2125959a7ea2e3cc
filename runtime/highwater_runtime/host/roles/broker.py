"""What brokers of both modes share as roles of a process."""

from __future__ import annotations

from collections.abc import Mapping

from highwater_runtime.broker import Broker, BrokerOptions
from highwater_runtime.host.config.file import SECURITY_PROTOCOLS, NodeSettings
from highwater_runtime.metadata import BrokerListener, MetadataImage
from highwater_runtime.ports import Endpoint, NodeCore


def broker_options(settings: NodeSettings, bound: Mapping[str, Endpoint]) -> BrokerOptions:
    """Return the options of a broker whose listeners are bound."""
    return BrokerOptions(
        node_id=settings.node_id,
        endpoint=_advertised(settings, bound, settings.inter_broker_listener),
        controllers=settings.voters,
        cluster_id=settings.cluster_id,
        rack=settings.rack,
        switches=settings.switches,
        config=settings.config,
        listeners=_registered(settings, bound),
        properties=_described(settings, bound),
        hold_until_published=True,
    )


def metadata_of(core: NodeCore | None) -> MetadataImage | None:
    """Return the cluster as a broker knows it."""
    return core.image if isinstance(core, Broker) else None


def _registered(settings: NodeSettings, bound: Mapping[str, Endpoint]) -> tuple[BrokerListener, ...]:
    """Return the listeners as the metadata is to have them: that of the brokers among themselves first."""
    first = settings.inter_broker_listener
    in_order = sorted(settings.listeners, key=lambda listener: listener.name != first)
    return tuple(
        BrokerListener(one.name, _advertised(settings, bound, one.name), SECURITY_PROTOCOLS.index(one.protocol))
        for one in in_order
    )


def _advertised(settings: NodeSettings, bound: Mapping[str, Endpoint], listener: str) -> Endpoint:
    """Return the endpoint of a listener for clients. Port 0 stands for the port that was bound."""
    advertised = settings.listener(listener).advertised
    return advertised if advertised.port else Endpoint(advertised.host, bound[listener].port)


def _described(settings: NodeSettings, bound: Mapping[str, Endpoint]) -> dict[str, str]:
    """Return the host's own properties for DescribeConfigs, by name."""
    advertised_listeners = (f"{one.name}://{_advertised(settings, bound, one.name)}" for one in settings.listeners)
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
