"""The KRaft controller: a quorum of nodes that keep the cluster's metadata in a replicated log (KIP-500)."""

from __future__ import annotations

from highwater_runtime.controller.kraft.quorum import ControllerOptions
from highwater_runtime.controller.kraft.quorum_controller import QuorumController

__all__ = ["ControllerOptions", "QuorumController"]
