"""What must agree once a cluster is at rest: all faults are over, all is whole, and clients have gone.

* ``metadata-image``: nodes that know the metadata up to the same offset know the same. Each broker knows what any node
  knew at the first look. The active controller has in its latest image what is committed. No setting is kept of a topic
  that is not there. (KRaft mode.)
* ``replica-state``: a replica is what the metadata says: leader, epochs, replicas, ISR. In the ISR, it ends where its
  leader does, has the same HW, and begins no lower. Its broker obeys the settings that are committed (:mod:`.obeyed`).
* ``disk-leftover``: a broker's disk holds the files of its logs and no others, but strays that were set aside, and
  unfinished new versions of checkpoints. Its checkpoints name its logs alone, and vouch for nothing behind them; that
  of HWs has the HW of each replica. What the files of a log say of it agrees with it (:mod:`.leftovers`).
* ``group-state``: nobody is in a group, or on the way into one.
* ``producer-id-reused``: the blocks of producer ids that brokers give out have no id in common, and in KRaft mode none
  that the metadata has still to give out. Who gets such an id may never write to a partition of its other owner.

Worked example: the log of a deleted topic is gone, but the checkpoint of recovery points keeps its offset. Everything
works. Some day the topic is created again, its broker loses power, and recovery does not look below that offset.

The trap: a cluster comes to rest late: files go after a delay, a follower asks twice a second. So whoever looks does it
again and again for a while, and only what is still there then is a finding (:meth:`AtRest.look` adds none itself).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from functools import partial
from itertools import pairwise
from typing import TypeVar

from highwater_runtime.broker import Broker
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.controller.kraft import QuorumController
from highwater_runtime.metadata.registrations import TOPIC_RESOURCE
from highwater_runtime.ports import MS
from highwater_runtime.sim.clock import EPOCH_MS
from highwater_runtime.sim.invariants.images import SUBJECT, difference
from highwater_runtime.sim.invariants.leftovers import contradictions, hears_soon, high_watermarks, leftovers
from highwater_runtime.sim.invariants.obeyed import Configs, configs_in, disobeyed
from highwater_runtime.sim.invariants.violation import Unrest
from highwater_runtime.sim.simulator import Simulator
from highwater_runtime.zookeeper import ZooKeeperServer

T = TypeVar("T")


class AtRest:
    """Looks at all nodes of a simulated cluster, again and again."""

    def __init__(self, simulator: Simulator, unheard: Container[tuple[str, PartitionKey]] = ()) -> None:
        """``unheard``: nodes and partitions whose follower was not told the HW (see :mod:`.peers`)."""
        self._simulator = simulator
        self._unheard = unheard
        self._owed = -1
        """The highest offset of the metadata that any node knew at the first look. Those that do nothing but show that
        the controller lives go on, and a broker hears that one is committed with the next (before KAFKA-14145)."""
        self._restless = ("", "")
        """What did not agree when :meth:`is_calm` looked."""

    def look(self) -> Iterator[Unrest]:
        """Yield what does not agree, by kind and node. To look at all of it is dear."""
        found = False
        for part in self._parts().values():
            for one in part():
                found = True
                yield one
        if not found:
            yield from self._contradictions()

    def is_calm(self) -> bool:
        """Whether :meth:`look` has nothing to say. It asks first what did not agree when it was called last."""
        parts = self._parts()
        last = parts.get(self._restless)
        if last is not None and _has_any(last()):
            return False
        for key, part in parts.items():
            if _has_any(part()):
                self._restless = key
                return False
        return not _has_any(self._contradictions())

    def _parts(self) -> dict[tuple[str, str], Callable[[], Iterator[Unrest]]]:
        """What is to be compared, by kind and node, in order."""
        brokers, controllers = self._cores(Broker), self._cores(QuorumController)
        if self._owed < 0:
            known = (*(one.committed_image.offset for one in controllers.values()), -1)
            self._owed = max(known + tuple(one.image.offset for one in brokers.values()))
        configs = self._configs(controllers)
        parts: dict[tuple[str, str], Callable[[], Iterator[Unrest]]] = {
            ("images", ""): partial(_images, brokers, controllers, self._owed)
        }
        for name, broker in brokers.items():
            disk = self._simulator.nodes[name].disk
            now_ms = EPOCH_MS + self._simulator.nodes[name].clock.wall_ns() // MS
            settings = broker.image.configs if configs is None else configs
            parts["replicas", name] = partial(_replicas, name, broker, brokers, self._unheard)
            parts["settings", name] = partial(disobeyed, name, broker, settings, now_ms)
            parts["files", name] = partial(leftovers, name, broker, disk)
            parts["high watermarks", name] = partial(high_watermarks, name, broker, disk)
            parts["groups", name] = partial(_groups, name, broker)
        parts["producer ids", ""] = partial(_producer_ids, brokers)
        return parts

    def _contradictions(self) -> Iterator[Unrest]:
        for name, broker in self._cores(Broker).items():
            yield from contradictions(name, broker, self._simulator.nodes[name].disk)

    def _configs(self, controllers: dict[str, QuorumController]) -> Configs | None:
        """The settings that are committed; None: nobody lives who knows."""
        servers = [one for one in self._cores(ZooKeeperServer).values() if one.has_started]
        if servers:
            return configs_in(max(servers, key=lambda one: one.state.zxid).state.tree)
        images = [one.committed_image for one in controllers.values()]
        return max(images, key=lambda image: image.offset).configs if images else None

    def _cores(self, kind: type[T]) -> dict[str, T]:
        processes = {name: host.process for name, host in self._simulator.nodes.items() if host.is_alive}
        return {
            name: process.core
            for name, process in processes.items()
            if process is not None and isinstance(process.core, kind)
        }


def _has_any(found: Iterator[Unrest]) -> bool:
    return next(found, None) is not None


# --- metadata ------------------------------------------------------------------------------------------------------


def _images(brokers: dict[str, Broker], controllers: dict[str, QuorumController], owed: int) -> Iterator[Unrest]:
    first = next(iter(controllers), None)
    if first is None:  # ZooKeeper mode: brokers read settings apart from all else, also of a topic that has just gone
        return
    images = {name: core.committed_image for name, core in controllers.items()}
    images |= {name: broker.image for name, broker in brokers.items()}
    for name, image in images.items():
        for resource in image.configs:
            if resource.type == TOPIC_RESOURCE and resource.name not in image.topics_by_name:
                what = f"{name} has settings of topic {resource.name}, which is not there"
                yield Unrest("metadata-image", SUBJECT, what)
    known = images[first]
    for name, image in images.items():
        if image.offset < owed and name in brokers:
            yield Unrest("metadata-image", SUBJECT, f"{name} knows the metadata up to offset {image.offset} of {owed}")
        elif image.offset == known.offset and (clause := difference(image, known)):
            yield Unrest(
                "metadata-image", SUBJECT, f"{name} has {clause} as {first} has; both know offset {known.offset}"
            )
    for name, core in controllers.items():
        latest = core.latest_image
        if latest is not None and latest.offset == core.committed_image.offset:
            clause = difference(latest, core.committed_image)
            if clause:
                what = f"{name} decides by {clause} as is committed"
                yield Unrest("metadata-image", SUBJECT, what)


# --- replicas ------------------------------------------------------------------------------------------------------


def _replicas(
    name: str, broker: Broker, brokers: dict[str, Broker], unheard: Container[tuple[str, PartitionKey]]
) -> Iterator[Unrest]:
    me, image = broker.options.node_id, broker.image
    for topic, index, given in image.all_partitions():
        if me in given.replicas and (topic.id, index) not in broker.partitions:
            yield Unrest(
                "replica-state", f"{topic.name}-{index}", f"{name} has no replica, which the metadata gives it"
            )
    for replica in broker.partitions.values():
        state = image.partition(replica.topic, replica.index)
        if state is None or me not in state.replicas:
            yield Unrest("replica-state", replica.name, f"{name} has a replica that the metadata does not give it")
            continue
        leads = state.leader == me
        mine = replica.leader_epoch, set(replica.replicas), replica.is_leader
        theirs = state.leader_epoch, set(state.replicas), leads
        if mine != theirs:
            what = f"{name} has (leader epoch, replicas, leads) {mine}, and the metadata has {theirs}"
            yield Unrest("replica-state", replica.name, what)
        elif leads and (set(replica.committed_isr) != set(state.isr) or replica.maximal_isr != replica.committed_isr):
            isr = f"{replica.committed_isr} (proposed: {replica.maximal_isr})"
            yield Unrest("replica-state", replica.name, f"{name} leads with ISR {isr}, and {state.isr} is committed")
        leader = brokers.get(f"broker-{state.leader}")
        led = None if leader is None else leader.partitions.get(replica.key)
        if led is not None and not leads and me in state.isr:
            yield from _follower(name, replica, led, hears=(name, replica.key) not in unheard)


def _follower(name: str, replica: Partition, leader: Partition, *, hears: bool) -> Iterator[Unrest]:
    log, theirs = replica.log, leader.log
    if not (log.is_online and theirs.is_online):
        return
    if log.log_end_offset != theirs.log_end_offset:
        what = f"{name} is in the ISR and ends at {log.log_end_offset}, its leader at {theirs.log_end_offset}"
        yield Unrest("replica-state", replica.name, what)
    elif log.log_start_offset < theirs.log_start_offset:
        what = f"{name} begins at {log.log_start_offset}, its leader at {theirs.log_start_offset}"
        yield Unrest("replica-state", replica.name, what)
    elif replica.high_watermark != leader.high_watermark and hears and hears_soon(replica.context.config):
        what = f"{name} has HW {replica.high_watermark}, its leader {leader.high_watermark}"
        yield Unrest("replica-state", replica.name, what)


# --- groups --------------------------------------------------------------------------------------------------------


def _groups(name: str, broker: Broker) -> Iterator[Unrest]:
    for group in broker.coordinator.all_groups():
        there = [*group.members, *group.pending]
        if there:
            yield Unrest("group-state", group.id, f"{name} has {', '.join(there)} in group {group.id}, who have gone")


# --- producers -----------------------------------------------------------------------------------------------------


def _producer_ids(brokers: dict[str, Broker]) -> Iterator[Unrest]:
    blocks = sorted((one.producer_ids.start, one.producer_ids.stop, name) for name, one in brokers.items())
    for (_, stop, name), (start, _, other) in pairwise(one for one in blocks if one[0] < one[1]):
        if start < stop:
            what = f"{name} and {other} both give out producer ids from {start} on, the one up to {stop}"
            yield Unrest("producer-id-reused", name, what)
    for _, stop, name in blocks:
        free = brokers[name].image.next_producer_id
        if 0 < free < stop:  # 0: ZooKeeper mode
            what = f"{name} gives out producer ids up to {stop}, and the metadata those from {free} on to others"
            yield Unrest("producer-id-reused", name, what)


__all__ = ["AtRest", "Unrest"]
