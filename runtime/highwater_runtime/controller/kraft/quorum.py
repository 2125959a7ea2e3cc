"""Options of a controller, and how it opens its replica of the metadata log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from highwater_runtime.config import NodeConfig
from highwater_runtime.log.checkpoints import ensure_meta_properties
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.log import Log
from highwater_runtime.metadata import MetadataVersion
from highwater_runtime.ports import Endpoint, Ports
from highwater_runtime.raft import RaftListener, RaftReplica
from highwater_runtime.switches import Switches

METADATA_DIRECTORY: Final = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """Options of one controller.

    ``voters`` maps the node ids of all controllers, its own among them, to where they listen.
    ``bootstrap_metadata_version`` and ``bootstrap_records``, which follow it in the metadata log, matter only to the
    first active controller of a new cluster.
    """

    node_id: int
    voters: Mapping[int, Endpoint]
    cluster_id: str
    switches: Switches = field(default_factory=Switches)
    config: NodeConfig = field(default_factory=NodeConfig)
    bootstrap_metadata_version: MetadataVersion = field(default_factory=MetadataVersion.latest)
    bootstrap_records: tuple[Any, ...] = ()


class MetadataQuorum(NamedTuple):
    """This node's replica of the metadata log, and the log itself, which is the controller's to close."""

    raft: RaftReplica
    log: Log


QuorumOpener = Callable[[ControllerOptions, Ports, RaftListener], MetadataQuorum]


def open_quorum(options: ControllerOptions, ports: Ports, listener: RaftListener) -> MetadataQuorum:
    """Open the metadata log from this node's disk, with a replica over it.

    Raises:
        InconsistentMetaPropertiesError: the disk belongs to another node or cluster. Its votes are not those of this
            node.
        OSError: the disk failed.
    """
    ensure_meta_properties(ports.disk, options.cluster_id, options.node_id)
    log = Log.open(ports.disk, METADATA_DIRECTORY, LogConfig.of(options.config), ports.clock)
    raft = RaftReplica(
        options.node_id,
        options.voters,
        options.cluster_id,
        ports,
        options.config,
        log,
        listener,
        directory=METADATA_DIRECTORY,
        switches=options.switches,
    )
    return MetadataQuorum(raft, log)
