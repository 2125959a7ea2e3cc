"""A cluster of plain processes on loopback for any Kafka client: start it, show its status, stop it. Data are kept."""

from highwater_chaos.local_cluster.down import take_down
from highwater_chaos.local_cluster.errors import LocalClusterError
from highwater_chaos.local_cluster.record import ClusterRecord, find, names
from highwater_chaos.local_cluster.status import ClusterStatus, ControllerView, NodeStatus, look
from highwater_chaos.local_cluster.up import Wish, bring_up

__all__ = [
    "ClusterRecord",
    "ClusterStatus",
    "ControllerView",
    "LocalClusterError",
    "NodeStatus",
    "Wish",
    "bring_up",
    "find",
    "look",
    "names",
    "take_down",
]
