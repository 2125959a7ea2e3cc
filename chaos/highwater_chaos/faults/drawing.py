"""From what a fault is drawn at random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import Literal

from highwater_chaos.backends.view import ClusterView
from highwater_chaos.experiment import Cluster


@dataclass(frozen=True, slots=True)
class Drawing:
    """What a fault may be drawn from. ``brokers`` and ``quorum`` (controllers, or ZooKeeper servers) are those that may
    be hit now; ``among`` are the nodes that ``random.targets`` names."""

    random: Random
    cluster: Cluster
    view: ClusterView
    brokers: Sequence[str]
    quorum: Sequence[str]
    among: Sequence[str]
    rpcs: Sequence[str] | None = None
    """What rules about messages may be about; None: any RPC."""
    ends: Sequence[Literal["from", "to"]] = ("from", "to")
    """Which ends of a rule about messages may be named: its client, its server."""

    def node(self, *roles: Literal["brokers", "quorum"]) -> str | None:
        """Draw a node of these roles; None if none may be hit now."""
        free = [*(self.brokers if "brokers" in roles else ()), *(self.quorum if "quorum" in roles else ())]
        candidates = [node for node in self.among if node in free]
        return self.random.choice(candidates) if candidates else None
