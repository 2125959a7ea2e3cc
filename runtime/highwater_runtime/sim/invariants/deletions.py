"""ZooKeeper mode: a topic is not deleted before all of its replicas are (``deleted-too-early``).

The controller takes the nodes of a topic away once each replica has confirmed that it is gone. One on a dead broker is
waited for. From then on the name is free, and a broker that returns with the log of the deleted topic may take it for
that of the next one (KAFKA-7362; topic ids prevent that from inter.broker.protocol.version 2.8 on).

Worked example: a broker is dead while a topic is deleted. The controller asks the living ones alone. Its clients see a
deletion that is complete, and on the dead broker's disk is all of the topic.

The trap: a replica that was moved away is not waited for. So those count that the partition had last.
"""

from __future__ import annotations

from highwater_runtime.metadata.znodes import topic_path
from highwater_runtime.ports.coordination import Exists
from highwater_runtime.ports.trace import PartitionChanged
from highwater_runtime.sim.invariants.violation import Violations
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.zookeeper import ZooKeeperServer


class DeletionInvariants:
    """Looks at the disks of a topic's brokers, alive or not, when its node is gone; the monitor calls it after events.

    That is before any broker can have a log of the next topic of that name: its creation is an event.
    """

    def __init__(self, simulator: Simulator, violations: Violations) -> None:
        self._simulator = simulator
        self._violations = violations
        self._seen = -1
        """The last transaction that was looked at: each server reports each once."""
        self._replicas: dict[str, list[int]] = {}
        self._deleting: dict[str, dict[str, list[int]]] = {}
        """The replicas of each partition, by topic, whose deletion has been asked for."""

    def on_event(self, node: str, _incarnation: int, event: PartitionChanged) -> None:
        """Take note of a partition's replicas, and of the order to delete its topic."""
        process = self._simulator.nodes[node].process
        if event.metadata_offset < self._seen or process is None or not isinstance(process.core, ZooKeeperServer):
            return
        self._seen = event.metadata_offset
        if event.reason == "created":
            self._look()
        if event.reason != "deleted":
            self._replicas[event.partition] = event.replicas
        elif event.partition in self._replicas:
            topic = event.partition.rpartition("-")[0]
            self._deleting.setdefault(topic, {})[event.partition] = self._replicas.pop(event.partition)

    def after_event(self) -> None:
        """Look whether a deletion is complete."""
        if self._deleting:
            self._look()

    def _look(self) -> None:
        processes = [host.process for host in self._simulator.nodes.values() if host.is_alive]
        servers = [one.core for one in processes if one is not None and isinstance(one.core, ZooKeeperServer)]
        trees = [one.state for one in servers if one.has_started]
        newest = max(trees, key=lambda one: one.zxid, default=None)
        if newest is None:
            return
        for topic in list(self._deleting):
            if newest.tree.read(Exists(topic_path(topic))) is None:
                for partition, replicas in self._deleting.pop(topic).items():
                    self._completed(partition, replicas)

    def _completed(self, partition: str, replicas: list[int]) -> None:
        for broker in replicas:
            name = f"broker-{broker}"
            if self._simulator.nodes[name].disk.exists(partition):
                what = f"{partition} was deleted while its log was still on the disk of {name}"
                self._violations.add("deleted-too-early", partition, what, self._seen)
