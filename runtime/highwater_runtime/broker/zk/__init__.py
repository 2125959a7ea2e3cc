"""The broker in ZooKeeper mode: commands of a controller, ISR writes to ZooKeeper (Detailed Replication Design V3)."""

from __future__ import annotations

from highwater_runtime.broker.zk.mode import ControllerPart, ZooKeeperMode

__all__ = ["ControllerPart", "ZooKeeperMode"]
