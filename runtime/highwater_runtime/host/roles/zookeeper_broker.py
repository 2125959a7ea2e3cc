"""A broker of ZooKeeper mode, on a real ensemble."""

from __future__ import annotations

from typing import Any

from highwater_runtime.host.config.file import NodeSettings
from highwater_runtime.host.node import HostedNode
from highwater_runtime.host.roles.broker import broker_options, metadata_of
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.nodes.zookeeper_broker import ZooKeeperBroker
from highwater_runtime.ports import NodeCore, Ports
from highwater_runtime.ports.coordination import SessionKey


class ZooKeeperBrokerRole:
    """See :class:`highwater_runtime.host.roles.Role`."""

    def make_core(
        self, settings: NodeSettings, ports: Ports, node: HostedNode, _bootstrap_records: tuple[Any, ...]
    ) -> NodeCore:
        from highwater_runtime.host.zookeeper import KazooCoordination  # noqa: PLC0415 - needs kazoo, which is optional

        coordination = KazooCoordination(settings.zookeepers, node.loop, node.run, node.turn.will_send)
        return ZooKeeperBroker(broker_options(settings, node.bound), ports, coordination)

    def metadata_of(self, core: NodeCore | None) -> MetadataImage | None:
        return metadata_of(core)

    def session_of(self, core: NodeCore | None) -> SessionKey | None:
        session = core.session if isinstance(core, ZooKeeperBroker) else None
        return None if session is None else session.key

    def why_unready(self, core: NodeCore | None) -> str | None:
        """Return None once it is registered and the controller has sent the cluster's state, with this broker in it."""
        if not isinstance(core, ZooKeeperBroker):
            return "starting"
        if core.session is None or not core.is_registered:
            return "the broker is not registered in ZooKeeper"
        known = core.options.node_id in core.image.brokers
        return None if known else "the controller has not sent the cluster's state yet"
