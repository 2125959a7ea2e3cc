"""A broker of KRaft mode."""

from __future__ import annotations

from typing import Any

from highwater_runtime.broker import Broker, KraftBroker
from highwater_runtime.host.config.file import NodeSettings
from highwater_runtime.host.node import HostedNode
from highwater_runtime.host.roles.broker import broker_options, metadata_of
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.ports import NodeCore, Ports
from highwater_runtime.ports.coordination import SessionKey


class KraftBrokerRole:
    """See :class:`highwater_runtime.host.roles.Role`."""

    def make_core(
        self, settings: NodeSettings, ports: Ports, node: HostedNode, _bootstrap_records: tuple[Any, ...]
    ) -> NodeCore:
        return KraftBroker(broker_options(settings, node.bound), ports)

    def metadata_of(self, core: NodeCore | None) -> MetadataImage | None:
        return metadata_of(core)

    def session_of(self, _core: NodeCore | None) -> SessionKey | None:
        return None

    def why_unready(self, core: NodeCore | None) -> str | None:
        """Return None once its registration, by this incarnation, is unfenced in the metadata that it acts on."""
        if not isinstance(core, Broker):
            return "starting"
        own = core.image.brokers.get(core.options.node_id)
        if own is None or own.epoch != core.broker_epoch:
            return "the broker is not registered yet"
        return "the broker is fenced" if own.fenced else None
