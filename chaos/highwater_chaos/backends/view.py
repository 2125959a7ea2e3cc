"""The harness's view of the cluster: a fold over node events.

Targets, conditions and the rules of random faults use only this view. It is built from the same events on every
backend, and never from the state of a core. So a schedule means the same in the simulator and on real nodes. Committed
state comes from the events of controllers or ZooKeeper servers, which have the position in the metadata. Each node of
the quorum reports each change once, so events with a lower position than the last one are ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from highwater_chaos.backends.protocol import TimedEvent
from highwater_chaos.experiment.nodes import broker_name
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    ControllerChanged,
    HighWatermarkAdvanced,
    IsrProposalEnded,
    IsrProposed,
    NodeCrashed,
    NodeStarted,
    NodeStopped,
    PartitionChanged,
    RaftHighWatermark,
    RaftSnapshot,
    RaftStateChanged,
)

_ABOUT_CONTROLLERS: Final = (ControllerChanged, NodeStarted, NodeStopped, RaftStateChanged)
_NEWS: Final = frozenset(
    {
        BrokerRegistered,
        BrokerRegistrationChanged,
        BrokerStateChanged,
        ControllerChanged,
        HighWatermarkAdvanced,
        IsrProposalEnded,
        IsrProposed,
        NodeCrashed,
        NodeStarted,
        NodeStopped,
        PartitionChanged,
        RaftHighWatermark,
        RaftSnapshot,
        RaftStateChanged,
    }
)
"""The events that change something here. The bulk of all events does not."""


@dataclass(slots=True)
class PartitionView:
    """Committed state of one partition, and what its leader says about it."""

    partition: str
    topic_id: str
    replicas: list[int]
    isr: list[int]
    leader: int
    leader_epoch: int
    partition_epoch: int
    metadata_offset: int
    proposed_isr: list[int] | None = None
    """A proposal of the leader that has not come to an end yet."""
    proposer: str = ""
    high_watermark: int = 0
    """The highest HW that any leader has reported."""
    member_since: dict[int, int] = field(default_factory=dict)
    """For each member of the ISR or of the proposal, the number of the event by which it became one."""

    @property
    def members(self) -> list[int]:
        """The committed ISR and what the leader has proposed."""
        return list(dict.fromkeys((*self.isr, *(self.proposed_isr or ()))))

    def count_members(self, seq: int) -> None:
        """Update ``member_since``: add new members with the event ``seq``, and remove former ones."""
        self.member_since = {member: self.member_since.get(member, seq) for member in self.members}


@dataclass(slots=True)
class BrokerView:
    """What the controllers think of a broker. ``incarnation``: the process start that its registration belongs to
    (0: none of the present ones)."""

    broker_epoch: int = -1
    fenced: bool = True
    metadata_offset: int = -1
    registered_incarnation: int = 0
    shutting_down: bool = False
    registered_by: str = ""
    """By what the broker registered last, as 32 hex digits: its incarnation id, in ZooKeeper mode its session."""

    @property
    def is_live(self) -> bool:
        """Whether it is committed that the broker lives, whichever of its processes that is about."""
        return self.broker_epoch >= 0 and not self.fenced


@dataclass(slots=True)
class NodeView:
    """What the host says of a node."""

    incarnation: int = 0
    up: bool = False
    changed_ns: int = 0
    last_stop_reason: str = ""
    events: int = 0
    broker_epoch: int = -1
    """The epoch under which this incarnation says it is registered."""
    first_broker_epoch: int = -1
    """The first of them: it knew nothing of the cluster before."""
    metadata_end: int = -1
    """Below which offset this incarnation knows the metadata log to be committed; −1: it has not said."""
    registered_last: int = 0
    """The last incarnation that has registered; 0: none has."""
    registered_seqs: list[int] = field(default_factory=list)
    """For each incarnation that has registered, the number of the event by which that was known, in order."""


@dataclass(slots=True)
class ClusterView:
    """The cluster at the time of the last :meth:`observe`."""

    mode: Literal["kraft", "zookeeper"] = "kraft"
    partitions: dict[str, PartitionView] = field(default_factory=dict)
    topics: dict[str, int] = field(default_factory=dict)
    """How many partitions each topic has."""
    brokers: dict[int, BrokerView] = field(default_factory=dict)
    nodes: dict[str, NodeView] = field(default_factory=dict)
    next_seq: int = 0
    followers: list[Callable[[Sequence[TimedEvent]], None]] = field(default_factory=list)
    """Are given all events that this view has taken in, whoever asked for them."""
    fenced_count: dict[int, int] = field(default_factory=dict)
    """How often each broker was fenced (whatever made it so)."""
    unregistered_count: dict[int, int] = field(default_factory=dict)
    """How often each broker's registration came to an end."""
    crashed: list[str] = field(default_factory=list)
    """Nodes that ended by an exception of their own, in order."""
    controller_vacancies: int = 0
    """How often the cluster lost its active controller, even for a moment."""
    _had_controller: bool = False
    _controller: tuple[int, int, int] = (-1, -1, 0)
    """ZooKeeper mode: position in the metadata, broker (−1: none) and beginning of the last change."""
    _raft: dict[str, tuple[int, str, int]] = field(default_factory=dict)
    _deleted: dict[str, int] = field(default_factory=dict)
    _under_replicated: dict[str, None] = field(default_factory=dict)

    def observe(self, happened: Sequence[TimedEvent]) -> None:
        """Take in further events, in order."""
        for timed in happened:
            self.next_seq = timed.seq + 1
            node = self.nodes.get(timed.node)
            if node is None:
                node = self.nodes[timed.node] = NodeView()
            node.events += 1
            if type(timed.event) not in _NEWS:
                continue
            match timed.event:
                case HighWatermarkAdvanced(partition=name, offset=offset):
                    if (partition := self.partitions.get(name)) is not None:
                        partition.high_watermark = max(partition.high_watermark, offset)
                case RaftHighWatermark(offset=offset):
                    node.metadata_end = offset
                case RaftSnapshot(offset=offset, reason="written" | "fetched" | "loaded"):
                    node.metadata_end = max(node.metadata_end, offset)  # of nothing but what is committed
                case PartitionChanged() as event:
                    self._partition_changed(event, timed.seq)
                case IsrProposed(partition=name, isr=isr):
                    if (partition := self.partitions.get(name)) is not None:
                        partition.proposed_isr, partition.proposer = list(isr), timed.node
                        partition.count_members(timed.seq)
                case IsrProposalEnded(partition=name):
                    if (partition := self.partitions.get(name)) is not None and partition.proposer == timed.node:
                        partition.proposed_isr = None
                        partition.count_members(timed.seq)
                case BrokerRegistered() as event:
                    self._registered(event, timed.seq)
                case BrokerRegistrationChanged() as event:
                    self._registration_changed(event)
                case BrokerStateChanged(broker=broker, broker_epoch=epoch) if epoch >= 0:
                    node.broker_epoch = epoch
                    if node.first_broker_epoch < 0:
                        node.first_broker_epoch = epoch
                    view = self.brokers.get(broker)
                    if view is not None and view.broker_epoch == epoch:
                        self._registered_as(view, node, timed.incarnation, timed.seq)
                case RaftStateChanged(epoch=epoch, reason=reason) if timed.node.startswith("controller-"):
                    self._raft[timed.node] = (epoch, reason, timed.time_ns)
                case ControllerChanged(metadata_offset=offset, broker=broker) if offset > self._controller[0]:
                    self._controller = (offset, broker, timed.time_ns)
                case NodeStarted():
                    node.incarnation, node.up, node.changed_ns = timed.incarnation, True, timed.time_ns
                    node.broker_epoch = node.first_broker_epoch = node.metadata_end = -1
                    self._raft.pop(timed.node, None)
                case NodeCrashed():
                    self.crashed.append(timed.node)
                case NodeStopped(reason=reason):
                    # What it proposed as a leader stays: the request may still be on its way, and counts until the
                    # controllers say something newer about the partition.
                    node.up, node.changed_ns, node.last_stop_reason = False, timed.time_ns, reason
                    self._raft.pop(timed.node, None)
                case _:
                    pass
            if isinstance(timed.event, _ABOUT_CONTROLLERS):
                has_one = self._leading() is not None
                self.controller_vacancies += self._had_controller and not has_one
                self._had_controller = has_one
        for follower in self.followers:
            follower(happened)

    def active_controller(self) -> str | None:
        """Name of the live controller that leads in the highest epoch, or None. In ZooKeeper mode: of the broker that
        is the controller by what is committed; it may not live any more, or may not know."""
        leading = self._leading()
        return None if leading is None else leading[1]

    def active_since_ns(self) -> int | None:
        """Run time at which the active controller became leader; None where there is none."""
        leading = self._leading()
        return None if leading is None else leading[2]

    def _leading(self) -> tuple[int, str, int] | None:
        """Epoch, name and beginning of the leadership that counts."""
        if self.mode == "zookeeper":
            position, broker, since = self._controller
            return (position, broker_name(broker), since) if broker >= 0 else None
        leaders = [
            (epoch, name, since)
            for name, (epoch, reason, since) in self._raft.items()
            if reason == "leader" and self.nodes[name].up
        ]
        return max(leaders, default=None)

    def leader(self, partition: str) -> int | None:
        """Leader of a partition, None where it has none or does not exist."""
        view = self.partitions.get(partition)
        return view.leader if view is not None and view.leader >= 0 else None

    def is_registered(self, broker: int) -> bool:
        """Whether the broker's present incarnation is the one that is registered."""
        node = self.nodes.get(broker_name(broker))
        view = self.brokers.get(broker)
        return (
            node is not None
            and view is not None
            and node.up
            and view.registered_incarnation == node.incarnation
            and view.broker_epoch >= 0
        )

    def is_unfenced(self, broker: int) -> bool:
        """Whether the broker's present incarnation is registered and not fenced (in ZooKeeper mode: registered)."""
        return self.is_registered(broker) and not self.brokers[broker].fenced

    def was_deleted(self, partition: str) -> bool:
        """Whether the partition has been deleted, and not created again."""
        return partition in self._deleted and partition not in self.partitions

    def may_have_missed_deletion(self, partition: str, broker: int) -> bool:
        """Whether nobody owes it to this process of a broker to say that the partition was deleted.

        ZooKeeper mode: UpdateMetadata names what there is, and a broker keeps what is not named (KAFKA-15799 mends
        that for migrations alone). So a deletion is told once, to the brokers that have a session then. Neither a later
        session nor a later controller makes up for it; only a start of the process does.
        """
        node, view = self.nodes.get(broker_name(broker)), self.brokers.get(broker)
        if self.mode != "zookeeper" or node is None or view is None:
            return False
        told_from = max(view.broker_epoch, self._controller[0])
        return node.first_broker_epoch < self._deleted.get(partition, -1) < told_from

    def under_replicated(self) -> list[str]:
        """Partitions whose ISR is smaller than their replicas, or that have no leader; sorted."""
        return sorted(self._under_replicated)

    # --- folding ---

    def _partition_changed(self, event: PartitionChanged, seq: int) -> None:
        name, offset = event.partition, event.metadata_offset
        old = self.partitions.get(name)
        if (old is not None and offset <= old.metadata_offset) or offset <= self._deleted.get(name, -1):
            return
        if event.reason == "deleted":
            if self.partitions.pop(name, None) is not None:
                self._count(name, -1)
            self._under_replicated.pop(name, None)
            self._deleted[name] = offset
            return
        if old is None:
            self._count(name, 1)
        if len(event.isr) < len(event.replicas) or event.leader < 0:
            self._under_replicated[name] = None
        else:
            self._under_replicated.pop(name, None)
        same = old is not None and old.topic_id == event.topic_id
        partition = self.partitions[name] = PartitionView(
            name,
            event.topic_id,
            list(event.replicas),
            list(event.isr),
            event.leader,
            event.leader_epoch,
            event.partition_epoch,
            offset,
            high_watermark=old.high_watermark if old is not None and same else 0,
            member_since=old.member_since if old is not None and same else {},
        )
        partition.count_members(seq)

    def _count(self, partition: str, more: int) -> None:
        topic = partition.rpartition("-")[0]
        count = self.topics[topic] = self.topics.get(topic, 0) + more
        if not count:
            del self.topics[topic]

    def _registered(self, event: BrokerRegistered, seq: int) -> None:
        view = self.brokers.setdefault(event.broker, BrokerView())
        if event.metadata_offset <= view.metadata_offset:
            return
        view.metadata_offset, view.broker_epoch = event.metadata_offset, event.broker_epoch
        view.registered_by = event.reason
        view.fenced, view.shutting_down, view.registered_incarnation = self.mode == "kraft", False, 0
        node = self.nodes.get(broker_name(event.broker))
        if node is not None and node.broker_epoch == view.broker_epoch:
            self._registered_as(view, node, node.incarnation, seq)

    @staticmethod
    def _registered_as(view: BrokerView, node: NodeView, incarnation: int, seq: int) -> None:
        if incarnation != node.registered_last:
            node.registered_last = incarnation
            node.registered_seqs.append(seq)
        view.registered_incarnation = incarnation

    def _registration_changed(self, event: BrokerRegistrationChanged) -> None:
        view = self.brokers.setdefault(event.broker, BrokerView())
        if event.metadata_offset <= view.metadata_offset:
            return
        view.metadata_offset = event.metadata_offset
        match event.reason:
            case "fenced":
                view.fenced = True
                self.fenced_count[event.broker] = self.fenced_count.get(event.broker, 0) + 1
            case "unfenced":
                view.fenced = False
            case "controlled-shutdown":
                view.shutting_down = True
            case _:
                view.broker_epoch, view.fenced = -1, True
                self.unregistered_count[event.broker] = self.unregistered_count.get(event.broker, 0) + 1


def controller_index(name: str) -> int:
    """``controller-1`` → 1, as experiment files count controllers; ``broker-1`` → 1 in ZooKeeper mode."""
    return int(name.rpartition("-")[2])
