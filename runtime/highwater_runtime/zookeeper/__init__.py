"""An ensemble of ZooKeeper servers for the simulator, and its client: Apache ZooKeeper's semantics, a wire of our own.

A server's state (:mod:`.state`) is a pure state machine over a log that :class:`~highwater_runtime.raft.RaftReplica`
replicates. Each record of the log is one transaction, and its offset + 1 is the *zxid*. Any server accepts clients: it
passes writes on to the leader and answers reads from what it has applied itself.
"""

from __future__ import annotations

from highwater_runtime.zookeeper.client import EnsembleClient
from highwater_runtime.zookeeper.server import ZooKeeperOptions, ZooKeeperServer

__all__ = ["EnsembleClient", "ZooKeeperOptions", "ZooKeeperServer"]
