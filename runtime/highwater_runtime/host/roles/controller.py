"""A controller of KRaft mode."""

from __future__ import annotations

from typing import Any

from highwater_runtime.controller.kraft import ControllerOptions, QuorumController
from highwater_runtime.host.config.file import NodeSettings
from highwater_runtime.host.node import HostedNode
from highwater_runtime.metadata import MetadataImage
from highwater_runtime.ports import NodeCore, Ports
from highwater_runtime.ports.coordination import SessionKey


class ControllerRole:
    """See :class:`highwater_runtime.host.roles.Role`."""

    def make_core(
        self, settings: NodeSettings, ports: Ports, _node: HostedNode, bootstrap_records: tuple[Any, ...]
    ) -> NodeCore:
        options = ControllerOptions(
            node_id=settings.node_id,
            voters=settings.voters,
            cluster_id=settings.cluster_id,
            switches=settings.switches,
            config=settings.config,
            bootstrap_metadata_version=settings.bootstrap_version,
            bootstrap_records=bootstrap_records,
        )
        return QuorumController(options, ports)

    def metadata_of(self, core: NodeCore | None) -> MetadataImage | None:
        return core.committed_image if isinstance(core, QuorumController) else None

    def session_of(self, _core: NodeCore | None) -> SessionKey | None:
        return None

    def why_unready(self, core: NodeCore | None) -> str | None:
        """Return None once it is active, or follows a live leader and knows what is committed."""
        if not isinstance(core, QuorumController):
            return "starting"
        if core.is_active:
            return None
        if core.raft.leader_id is None:
            return "no leader of the quorum is known"
        if not core.raft.hears_leader:
            return f"does not hear the leader, {core.raft.leader_id}"
        return "has not caught up with the metadata log" if core.committed_image.offset < 0 else None
