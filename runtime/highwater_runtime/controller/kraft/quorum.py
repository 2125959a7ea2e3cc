"""What the controller needs of the quorum, and how it opens the real one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, Protocol

from highwater_runtime.config import NodeConfig
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.log import Log
from highwater_runtime.metadata import MetadataVersion
from highwater_runtime.ports import Endpoint, InboundRequest, Ports
from highwater_runtime.raft import RaftListener, RaftReplica
from highwater_runtime.switches import Switches

METADATA_DIRECTORY: Final = "__cluster_metadata-0"


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerOptions:
    """What one controller is told at its start.

    ``voters`` maps the node ids of all controllers, its own among them, to where they listen.
    ``bootstrap_metadata_version`` matters only to the first active controller of a new cluster.
    """

    node_id: int
    voters: Mapping[int, Endpoint]
    cluster_id: str
    switches: Switches = field(default_factory=Switches)
    config: NodeConfig = field(default_factory=NodeConfig)
    bootstrap_metadata_version: MetadataVersion = field(default_factory=MetadataVersion.latest)


class Quorum(Protocol):
    """The part of :class:`~highwater_runtime.raft.RaftReplica` that a controller and its observers use."""

    @property
    def epoch(self) -> int:
        """The quorum's epoch."""

    @property
    def leader_id(self) -> int | None:
        """Who leads it."""

    @property
    def is_leader(self) -> bool:
        """Whether this replica does."""

    @property
    def high_watermark(self) -> int:
        """Exclusive end of what is committed."""

    @property
    def log_end_offset(self) -> int:
        """The next offset of this replica's log; for a leader, where its next append goes."""

    def start(self) -> None:
        """Begin."""

    def handles(self, request: InboundRequest) -> bool:
        """Whether ``request`` is the quorum's."""

    def on_request(self, request: InboundRequest) -> None:
        """Answer such a request."""

    def append(self, records: list[bytes]) -> int:
        """Append an atomic batch, return its last offset. Raises ``NotLeader``."""

    def resign(self) -> None:
        """Give up leadership."""

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Leave cleanly."""


QuorumFactory = Callable[[ControllerOptions, Ports, RaftListener], Quorum]


def open_quorum(options: ControllerOptions, ports: Ports, listener: RaftListener) -> Quorum:
    """This node's replica of the metadata log, opened from its disk. Raises ``OSError`` where the disk fails."""
    log = Log.open(ports.disk, METADATA_DIRECTORY, LogConfig.of(options.config), ports.clock)
    return RaftReplica(options.node_id, options.voters, options.cluster_id, ports, options.config, log, listener)
