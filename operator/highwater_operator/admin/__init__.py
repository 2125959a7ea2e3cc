"""What the operator asks of a live cluster, by the cluster's own wire protocol."""

from highwater_operator.admin.client import WireAdmin, wire_admin
from highwater_operator.admin.model import (
    AdminError,
    BrokerView,
    ClusterAdmin,
    ClusterView,
    EnsembleView,
    OpenAdmin,
    PartitionView,
    QuorumView,
    ServerView,
    TopicView,
)

__all__ = [
    "AdminError",
    "BrokerView",
    "ClusterAdmin",
    "ClusterView",
    "EnsembleView",
    "OpenAdmin",
    "PartitionView",
    "QuorumView",
    "ServerView",
    "TopicView",
    "WireAdmin",
    "wire_admin",
]
