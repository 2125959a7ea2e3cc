"""The quorum of controllers: Raft by fetching (KIP-595) over the ports and the log."""

from __future__ import annotations

from highwater_runtime.raft.errors import NotLeaderError
from highwater_runtime.raft.listener import RaftListener
from highwater_runtime.raft.replica import RaftReplica

__all__ = ["NotLeaderError", "RaftListener", "RaftReplica"]
