"""Finds what an event speaks of: the topic id behind a partition's name, and the live replica on a node.

A name outlives its topic. When a topic is deleted and created again, brokers that have not heard of it still report on
the old one under the same name. Some events carry the topic id; the others belong to the topic that their node named
last under that partition's name.
"""

from __future__ import annotations

from uuid import UUID

from highwater_runtime.broker import Broker
from highwater_runtime.broker.partition import Partition
from highwater_runtime.ports.trace import NodeEvent
from highwater_runtime.sim.simulator import Simulator

UNKNOWN_TOPIC = "0" * 32


class LiveCluster:
    """Live brokers and their replicas, and which topic each node means by a partition's name."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._topic_of: dict[tuple[str, str], str] = {}

    def topic_of(self, node: str, event: NodeEvent) -> str:
        """The topic id (32 hex digits) of a partition's event."""
        key = (node, getattr(event, "partition", ""))
        named = getattr(event, "topic_id", None)
        if named is not None:
            self._topic_of[key] = named
            return str(named)
        return self._topic_of.get(key, UNKNOWN_TOPIC)

    def broker(self, node: str) -> Broker | None:
        """The broker that runs on a node; None if the node is down or no broker."""
        host = self._simulator.nodes.get(node)
        if host is None or not host.is_alive or host.process is None:
            return None
        core = host.process.core
        return core if isinstance(core, Broker) else None

    def replica(self, node: str, name: str, topic_id: str) -> Partition | None:
        """The replica of this topic's partition on a live broker."""
        broker = self.broker(node)
        return None if broker is None else replica_of(broker, name, topic_id)


def replica_of(broker: Broker, name: str, topic_id: str) -> Partition | None:
    """The broker's replica of the partition ``name`` of the topic with this id."""
    return broker.partitions.get((UUID(hex=topic_id), int(name.rpartition("-")[2])))
