"""Options of the controller of ZooKeeper mode."""

from __future__ import annotations

from dataclasses import dataclass, field

from highwater_runtime.config import NodeConfig
from highwater_runtime.switches import Switches


@dataclass(frozen=True, slots=True, kw_only=True)
class ZkControllerOptions:
    """``topic_ids``: whether the cluster has them (``inter.broker.protocol.version`` from 2.8 on)."""

    node_id: int
    config: NodeConfig = field(default_factory=NodeConfig)
    switches: Switches = field(default_factory=Switches)
    topic_ids: bool = True
