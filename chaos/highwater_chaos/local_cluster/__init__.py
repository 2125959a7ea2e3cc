"""A cluster of plain processes on loopback for any Kafka client: start it, show its status, stop it. Data are kept.

What starts nodes loads on first use: it brings the host of the runtime, which status and stop do without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from highwater_chaos.local_cluster.down import take_down
from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.local_cluster.record import ClusterRecord, find, names
from highwater_chaos.local_cluster.status import ClusterStatus, ControllerView, NodeStatus, look

if TYPE_CHECKING:
    from highwater_chaos.local_cluster.up import ClusterOptions, bring_up

__all__ = [
    "ClusterOptions",
    "ClusterRecord",
    "ClusterStatus",
    "ControllerView",
    "LocalClusterError",
    "NodeStatus",
    "bring_up",
    "find",
    "look",
    "names",
    "take_down",
]


def __getattr__(name: str) -> Any:
    if name not in ("ClusterOptions", "bring_up"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from highwater_chaos.local_cluster import up  # noqa: PLC0415 - see above

    return getattr(up, name)
