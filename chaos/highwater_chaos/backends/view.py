"""What the harness knows of the cluster: a fold over node events.

Targets, conditions and the rules of random faults look here and nowhere else. Because it is built from the same event
rows on every backend (and never peeks into a core), a schedule means the same in the simulator and on real nodes.
Committed state comes from the controllers' own events, which carry the offset of the metadata record that made it so:
rows with a lower offset than one already seen are ignored, since every controller reports each change once.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from highwater_chaos.backends.protocol import NodeEventRow, controller_name


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


@dataclass(slots=True)
class BrokerView:
    """What the controllers think of a broker. ``incarnation``: the process start that its registration belongs to
    (0: none of the present ones)."""

    broker_epoch: int = -1
    fenced: bool = True
    metadata_offset: int = -1
    registered_incarnation: int = 0
    shutting_down: bool = False


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


@dataclass(slots=True)
class ClusterView:
    """The cluster at the time of the last :meth:`observe`."""

    partitions: dict[str, PartitionView] = field(default_factory=dict)
    brokers: dict[int, BrokerView] = field(default_factory=dict)
    nodes: dict[str, NodeView] = field(default_factory=dict)
    next_seq: int = 0
    fenced_count: dict[int, int] = field(default_factory=dict)
    """How often each broker was fenced (whatever made it so)."""
    _raft: dict[str, tuple[int, str]] = field(default_factory=dict)
    _deleted: dict[str, int] = field(default_factory=dict)

    def observe(self, rows: Iterable[NodeEventRow]) -> None:
        """Take in further rows, in order."""
        for row in rows:
            self.next_seq = row.seq + 1
            self._node(row)
            fields = row.fields
            match row.kind:
                case "partition-changed":
                    self._partition_changed(fields)
                case "broker-registered":
                    self._registered(fields)
                case "broker-registration-changed":
                    self._registration_changed(fields)
                case "raft-state" if row.node.startswith("controller-"):
                    self._raft[row.node] = (int(fields["epoch"]), str(fields["reason"]))
                case "broker-state" if fields["broker_epoch"] >= 0:
                    self._broker_knows_epoch(row)
                case "high-watermark":
                    if (partition := self.partitions.get(fields["partition"])) is not None:
                        partition.high_watermark = max(partition.high_watermark, int(fields["offset"]))
                case "isr-proposed":
                    if (partition := self.partitions.get(fields["partition"])) is not None:
                        partition.proposed_isr, partition.proposer = list(fields["isr"]), row.node
                case "isr-proposal-ended":
                    partition = self.partitions.get(fields["partition"])
                    if partition is not None and partition.proposer == row.node:
                        partition.proposed_isr = None
                case _:
                    pass

    def active_controller(self) -> str | None:
        """Name of the live controller that leads in the highest epoch, or None."""
        best: tuple[int, str] | None = None
        for name, (epoch, reason) in self._raft.items():
            if reason == "leader" and self.nodes[name].up and (best is None or epoch > best[0]):
                best = (epoch, name)
        return best[1] if best is not None else None

    def leader(self, partition: str) -> int | None:
        """Leader of a partition, None where it has none or does not exist."""
        view = self.partitions.get(partition)
        return view.leader if view is not None and view.leader >= 0 else None

    def is_registered(self, broker: int) -> bool:
        """Whether the broker's present incarnation is the one that is registered."""
        node = self.nodes.get(f"broker-{broker}")
        view = self.brokers.get(broker)
        return (
            node is not None
            and view is not None
            and node.up
            and view.registered_incarnation == node.incarnation
            and view.broker_epoch >= 0
        )

    def is_unfenced(self, broker: int) -> bool:
        """Whether the broker's present incarnation is registered and not fenced."""
        return self.is_registered(broker) and not self.brokers[broker].fenced

    def under_replicated(self) -> list[str]:
        """Partitions whose ISR is smaller than their replicas, or that have no leader; sorted."""
        return sorted(
            view.partition for view in self.partitions.values() if len(view.isr) < len(view.replicas) or view.leader < 0
        )

    # --- folding ---

    def _node(self, row: NodeEventRow) -> None:
        node = self.nodes.setdefault(row.node, NodeView())
        node.events += 1
        match row.kind:
            case "node-started":
                node.incarnation, node.up, node.changed_ns, node.broker_epoch = row.incarnation, True, row.time_ns, -1
                self._raft.pop(row.node, None)
            case "node-stopped":
                node.up, node.changed_ns, node.last_stop_reason = False, row.time_ns, str(row.fields.get("reason", ""))
                self._raft.pop(row.node, None)
                # What it proposed as a leader stays: the request may still be on its way, and counts until the
                # controllers say something newer about the partition.
            case _:
                pass

    def _partition_changed(self, fields: Mapping[str, object]) -> None:
        name, offset = str(fields["partition"]), _int(fields["metadata_offset"])
        old = self.partitions.get(name)
        if (old is not None and offset <= old.metadata_offset) or offset <= self._deleted.get(name, -1):
            return
        if fields["reason"] == "deleted":
            self.partitions.pop(name, None)
            self._deleted[name] = offset
            return
        new = PartitionView(
            name,
            str(fields["topic_id"]),
            _ints(fields["replicas"]),
            _ints(fields["isr"]),
            _int(fields["leader"]),
            _int(fields["leader_epoch"]),
            _int(fields["partition_epoch"]),
            offset,
        )
        if old is not None and old.topic_id == new.topic_id:
            new.high_watermark = old.high_watermark
        self.partitions[name] = new

    def _registered(self, fields: Mapping[str, object]) -> None:
        offset, broker = _int(fields["metadata_offset"]), _int(fields["broker"])
        view = self.brokers.setdefault(broker, BrokerView())
        if offset <= view.metadata_offset:
            return
        view.metadata_offset, view.broker_epoch = offset, _int(fields["broker_epoch"])
        view.fenced, view.shutting_down, view.registered_incarnation = True, False, 0
        node = self.nodes.get(f"broker-{broker}")
        if node is not None and node.broker_epoch == view.broker_epoch:
            view.registered_incarnation = node.incarnation

    def _registration_changed(self, fields: Mapping[str, object]) -> None:
        offset, broker = _int(fields["metadata_offset"]), _int(fields["broker"])
        view = self.brokers.setdefault(broker, BrokerView())
        if offset <= view.metadata_offset:
            return
        view.metadata_offset = offset
        match fields["reason"]:
            case "fenced":
                view.fenced = True
                self.fenced_count[broker] = self.fenced_count.get(broker, 0) + 1
            case "unfenced":
                view.fenced = False
            case "controlled-shutdown":
                view.shutting_down = True
            case _:
                view.broker_epoch, view.fenced = -1, True

    def _broker_knows_epoch(self, row: NodeEventRow) -> None:
        broker, epoch = _int(row.fields["broker"]), _int(row.fields["broker_epoch"])
        self.nodes[row.node].broker_epoch = epoch
        view = self.brokers.get(broker)
        if view is not None and view.broker_epoch == epoch:
            view.registered_incarnation = row.incarnation


def controller_index(name: str) -> int:
    """``controller-1`` → 1, as experiment files count controllers."""
    return int(name.rpartition("-")[2])


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value


def _ints(value: object) -> list[int]:
    assert isinstance(value, list)
    return [_int(item) for item in value]


__all__ = ["BrokerView", "ClusterView", "NodeView", "PartitionView", "controller_index", "controller_name"]
