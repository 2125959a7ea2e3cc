"""Finds what an event speaks of: the topic id behind a partition's name, and the live replica on a node.

A name outlives its topic. When a topic is deleted and created again, brokers that have not heard of it still report on
the old one under the same name. Some events carry the topic id; the others belong to the topic that their node named
last under that partition's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import Final
from uuid import UUID

from highwater_runtime.broker import Broker
from highwater_runtime.broker.partition import Partition
from highwater_runtime.controller.kraft import QuorumController
from highwater_runtime.metadata import MetadataImage, PartitionRegistration
from highwater_runtime.metadata.effective_config import allows_unclean_election
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import BrokerRegistered, NodeEvent
from highwater_runtime.sim.disk import SimDisk
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.wire.codec import uuid_of

UNKNOWN_TOPIC = "0" * 32
_SLACK_NS: Final = SECOND

Lasts = Callable[[], bool]
"""Whether something is still so."""


class LiveCluster:
    """Live nodes and their replicas, and which topic each node means by a partition's name."""

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._topic_of: dict[tuple[str, str], str] = {}
        self._epochs: dict[int, int] = {}

    def topic_of(self, node: str, event: NodeEvent) -> str:
        """The topic id (32 hex digits) of a partition's event."""
        key = (node, getattr(event, "partition", ""))
        named = getattr(event, "topic_id", None)
        if named:  # a log without an id names none
            self._topic_of[key] = named
            return str(named)
        return self._topic_of.get(key, UNKNOWN_TOPIC)

    def registered(self, _node: str, _incarnation: int, event: BrokerRegistered) -> None:
        """Take note of a registration; reports of older ones come late."""
        self._epochs[event.broker] = max(event.broker_epoch, self._epochs.get(event.broker, -1))

    def registered_epoch(self, node: str) -> int:
        """The epoch of a broker's latest registration, also if its process has ended; −1: it has none."""
        return self._epochs.get(int(node.rpartition("-")[2]), -1)

    def members(self, isr: Iterable[int], name: str, topic_id: str) -> Iterator[tuple[int, Partition | None]]:
        """ISR members whose present incarnation is the one that is registered; None: it has no replica."""
        key = _key(name, topic_id)
        for broker_id in isr:
            broker = self.broker(f"broker-{broker_id}")
            if broker is None or broker.broker_epoch != self._epochs.get(broker_id):
                continue
            replica = broker.partitions.get(key)
            # A broker takes up no replica before it has replayed its own registration (in ZooKeeper mode: before the
            # controller has sent it the full list), though its disk may hold it.
            if replica is not None or broker.replicas_are_loaded:
                yield broker_id, replica

    def disk_fails(self, node: str) -> bool:
        """Whether a fault may make reads of the node's disk fail."""
        return self._simulator.nodes[node].disk.armed

    def disk(self, node: str) -> SimDisk:
        """The disk of a node."""
        return self._simulator.nodes[node].disk

    def node_time_ns(self, node: str) -> int:
        """What the clock of a node shows, by which its timers go."""
        return self._simulator.nodes[node].clock.now_ns()

    def must_end(
        self, within_ns: int, node: str, lasts: Lasts, found: Callable[[], None], slack_ns: int = _SLACK_NS
    ) -> None:
        """Call ``found`` if something ``lasts`` beyond that time by the node's clock, while its process lives.

        A node that was paused is late with everything, so it is looked at again ``slack_ns`` later.
        """
        process, began_ns = self._simulator.nodes[node].process, self.node_time_ns(node)

        def look(again: bool) -> None:
            host = self._simulator.nodes[node]
            if host.process is not process or not host.is_alive or not lasts():
                return
            left_ns = began_ns + within_ns + slack_ns - self.node_time_ns(node)
            if left_ns > 0 or host.is_paused or host.is_held:
                self._simulator.call_later(max(left_ns, 0) + slack_ns, lambda: look(again=False))
            elif not again:
                self._simulator.call_later(slack_ns, lambda: look(again=True))
            else:
                found()

        self._simulator.call_later(within_ns + slack_ns, lambda: look(again=False))

    def latest_wall_ms(self, node: str) -> int:
        """The latest wall-clock time that the machine of a node has ever shown."""
        return self._simulator.nodes[node].clock.latest_wall_ms()

    def broker(self, node: str) -> Broker | None:
        """The broker that runs on a node; None if the node is down or no broker."""
        host = self._simulator.nodes.get(node)
        if host is None or not host.is_alive or host.process is None:
            return None
        core = host.process.core
        return core if isinstance(core, Broker) else None

    def allows_unclean_election(self, topic: str) -> bool:
        """Whether some live node is configured so that a replica outside the ISR may lead a topic's partitions."""
        for host in self._simulator.nodes.values():
            match None if host.process is None else host.process.core:
                case QuorumController() as core:
                    image = core.committed_image
                case Broker() as core:
                    image = core.image
                case _:
                    continue
            if allows_unclean_election(image, core.options.config, topic):
                return True
        return False

    def latest_image(self, node: str) -> MetadataImage | None:
        """The cluster as the active controller of KRaft mode has it; None unless the node is that."""
        host = self._simulator.nodes.get(node)
        core = None if host is None or host.process is None else host.process.core
        return core.latest_image if isinstance(core, QuorumController) else None

    def committed(self, node: str, name: str, topic_id: str) -> PartitionRegistration | None:
        """What a live controller of KRaft mode has as the committed state of this topic's partition."""
        host = self._simulator.nodes.get(node)
        core = None if host is None or host.process is None else host.process.core
        if not isinstance(core, QuorumController):
            return None
        topic_uuid, index = _key(name, topic_id)
        topic = core.committed_image.topics_by_id.get(topic_uuid)
        return None if topic is None else topic.partitions.get(index)

    def replica(self, node: str, name: str, topic_id: str) -> Partition | None:
        """The replica of this topic's partition on a live broker."""
        broker = self.broker(node)
        return None if broker is None else replica_of(broker, name, topic_id)


def replica_of(broker: Broker, name: str, topic_id: str) -> Partition | None:
    """The broker's replica of the partition ``name`` of the topic with this id."""
    return broker.partitions.get(_key(name, topic_id))


@lru_cache(maxsize=1 << 14)
def _key(name: str, topic_id: str) -> tuple[UUID, int]:
    """Asked for each event, of few partitions."""
    return uuid_of(bytes.fromhex(topic_id)), int(name.rpartition("-")[2])
