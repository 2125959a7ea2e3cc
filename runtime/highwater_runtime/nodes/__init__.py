"""Nodes that are more than one core: in ZooKeeper mode each broker may also be the controller."""

from __future__ import annotations

from highwater_runtime.nodes.zookeeper_broker import ZooKeeperBroker

__all__ = ["ZooKeeperBroker"]
