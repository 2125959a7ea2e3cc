"""Invariants of partitions: replicas that may lead keep committed records; one leader in an epoch; a true ISR.
A reassignment that has all replicas in sync is over.

Partitions are identified by topic id: a topic that was deleted and created again under its old name is another one.
``true HW`` is the highest HW that any leader has reported. Records below it may have been acknowledged.

An unclean election that the settings allow, and the loss of the disk of an only replica, break no promise: what was
committed before is forgotten then (``checks/lineages.py`` of the pipeline has the rule and its trap).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, get_args

from highwater_runtime.broker.partition import Partition
from highwater_runtime.log.errors import LogError, LogOfflineError
from highwater_runtime.metadata import LeaderRecoveryState
from highwater_runtime.ports.trace import (
    AlterPartitionHandled,
    BatchCommitted,
    BecameFollower,
    BecameLeader,
    BrokerRegistered,
    HighWatermarkAdvanced,
    LogAppended,
    LogCut,
    LogLoaded,
    LogTruncated,
    NodeEvent,
    NodeStarted,
    PartitionChanged,
)
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.violation import Violations

PartitionEvent = (
    AlterPartitionHandled
    | BatchCommitted
    | BecameFollower
    | BecameLeader
    | HighWatermarkAdvanced
    | LogAppended
    | LogCut
    | LogLoaded
    | LogTruncated
    | PartitionChanged
)
"""Events that speak of one partition."""

_LAST_OFFSETS: Final = 200
"""How many of the last committed offsets are looked at on who joins an ISR."""

OF_PARTITIONS: Final = frozenset((BrokerRegistered, NodeStarted, *get_args(PartitionEvent)))
"""Events that :meth:`PartitionInvariants.on_event` has to see."""


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """A batch that once lay below the true HW."""

    end_offset: int
    epoch: int
    crc: int


@dataclass(slots=True)
class PartitionRecord:
    """What is known of one partition (one topic id) from all that was reported. ``applied``: the metadata offset of the
    newest committed state; a deleted topic has no ISR."""

    name: str
    topic_id: str
    applied: int = -1
    isr: list[int] = field(default_factory=list)
    true_hw: int = 0
    hw_epoch: int = -1
    committed: dict[int, CommittedBatch] = field(default_factory=dict)
    committed_end: int = 0
    committed_by: dict[int, int] = field(default_factory=dict)
    """Leader epoch -> end of what had been committed when a leader of that epoch last committed something new."""
    leaders: dict[int, tuple[str, int]] = field(default_factory=dict)
    replicas: list[int] = field(default_factory=list)
    leader: int = -1
    leader_epoch: int = -1
    joined: list[int] = field(default_factory=list)
    """Who has joined the ISR in this event."""
    accepted: int = -1
    """The metadata offset of the last state that a leader had proposed."""
    since_epoch: int = -1
    """Claims of leaders of lower epochs are about what was forgotten."""
    first: int = 0
    """The first offset of which is known what was committed there, since something was forgotten."""
    forgot: bool = False

    def forget(self, since_epoch: int) -> None:
        """Owe nothing of what was committed up to now, or by leaders of lower epochs."""
        self.true_hw, self.hw_epoch, self.committed_end, self.forgot = 0, -1, 0, True
        self.committed, self.committed_by = {}, {}
        self.since_epoch = max(self.since_epoch, since_epoch)


class PartitionInvariants:
    """Checks partitions; the monitor feeds it every node event, and calls it after every simulated event."""

    def __init__(self, live: LiveCluster, violations: Violations) -> None:
        self._live = live
        self._violations = violations
        self._partitions: dict[tuple[str, str], PartitionRecord] = {}
        self._touched: dict[tuple[str, str], PartitionRecord] = {}
        self._wipes: dict[str, int] = {}
        """How often each node's disk had been replaced when it started last."""
        self._incarnations_differ = True
        """Whether an incarnation needs a leader epoch of its own: not in ZooKeeper mode, as in two-leaders."""

    def on_event(self, node: str, incarnation: int, event: NodeEvent) -> None:
        """Take in one node event, and check what it claims against what is known.

        Every controller reports each committed change, in order: only the first report of each counts.
        """
        match event:
            case BrokerRegistered():
                self._registered(event)
            case HighWatermarkAdvanced():
                self._high_watermark(self._record(node, event), event)
            case BatchCommitted():
                self._batch_committed(self._record(node, event), node, event)
            case LogAppended(reason="leader"):
                self._appended_as_leader(self._record(node, event), node, incarnation, event)
            case BecameLeader():
                self._became_leader(self._record(node, event), node, event)
            case NodeStarted() if self._live.disk(node).wipes > self._wipes.get(node, 0):
                self._wipes[node] = self._live.disk(node).wipes
                self._forget_only_replicas(node)
            case BecameFollower() | LogLoaded() | LogTruncated() | LogCut():
                self._touch(self._record(node, event))
            case PartitionChanged():
                self._incarnations_differ = not node.startswith("zookeeper-")
                self._partition_changed(self._record(node, event), node, event)
            case AlterPartitionHandled(reason="NONE"):
                self._accepted(self._record(node, event), event)

    def after_event(self) -> None:
        """Check the live replicas of every partition that the event touched."""
        if self._touched:
            for record in self._touched.values():
                self._isr_complete(record)
            self._touched.clear()

    def _record(self, node: str, event: PartitionEvent) -> PartitionRecord:
        key = (event.partition, self._live.topic_of(node, event))
        record = self._partitions.get(key)
        if record is None:
            record = self._partitions[key] = PartitionRecord(*key)
        return record

    def _forget_only_replicas(self, node: str) -> None:
        for record in self._partitions.values():
            if record.replicas == [_broker_of(node)]:
                record.forget(-1)

    def _touch(self, record: PartitionRecord) -> None:
        self._touched[record.name, record.topic_id] = record

    def _registered(self, event: BrokerRegistered) -> None:
        for record in self._partitions.values():
            if event.broker in record.isr:
                self._touch(record)

    def _partition_changed(self, record: PartitionRecord, node: str, event: PartitionChanged) -> None:
        if event.metadata_offset <= record.applied:
            return
        record.applied = event.metadata_offset
        if event.reason == "deleted":
            record.isr = []
            return
        if event.reason != "created" and self._is_allowed_unclean_election(record, event):
            record.forget(event.leader_epoch)
        self._epoch_is_new(record, event)
        record.joined += [broker for broker in event.isr if broker not in record.isr and event.reason != "created"]
        record.isr, record.replicas = event.isr, event.replicas
        record.leader, record.leader_epoch = event.leader, event.leader_epoch
        self._touch(record)
        if event.leader >= 0 and event.leader not in event.isr:
            what = f"leader {event.leader} is not in ISR {event.isr} (metadata offset {event.metadata_offset})"
            self._violations.add("leader-not-in-isr", record.name, what, (record.topic_id, event.metadata_offset))
        if not event.isr:
            # Without eligible leader replicas (KIP-966) nobody may ever lead such a partition again.
            what = f"the ISR is empty (metadata offset {event.metadata_offset})"
            self._violations.add("isr-empty", record.name, what, (record.topic_id, event.metadata_offset))
        if not set(event.isr) <= set(event.replicas):
            what = f"ISR {event.isr} is not among the replicas {event.replicas}"
            self._violations.add("isr-not-assigned", record.name, what, (record.topic_id, event.metadata_offset))
        self._reassignment(record, node, event)

    def _epoch_is_new(self, record: PartitionRecord, event: PartitionChanged) -> None:
        """A leader epoch has one leader, and whoever is taken out of the replicas is fenced by a new one."""
        if event.reason == "created" or event.leader_epoch > record.leader_epoch:
            return
        gone = [broker for broker in record.replicas if broker not in event.replicas]
        if event.leader_epoch < record.leader_epoch or event.leader != record.leader or gone:
            before = f"(leader {record.leader}, replicas {record.replicas}, epoch {record.leader_epoch})"
            after = f"(leader {event.leader}, replicas {event.replicas}, epoch {event.leader_epoch})"
            what = f"the state went from {before} to {after}: that needs another leader epoch"
            self._violations.add("leader-epoch-kept", record.name, what, (record.topic_id, event.metadata_offset))

    def _is_allowed_unclean_election(self, record: PartitionRecord, event: PartitionChanged) -> bool:
        return (
            event.leader >= 0
            and event.leader not in record.isr
            and event.leader_epoch > record.leader_epoch
            and event.metadata_offset != record.accepted
            and self._live.allows_unclean_election(record.name.rpartition("-")[0])
        )

    def _reassignment(self, record: PartitionRecord, node: str, event: PartitionChanged) -> None:
        """In KRaft mode a reassignment is over with the change that has all replicas that it leaves in the ISR.

        Not with an unclean election: that makes the ISR of a leader alone, and the next change ends the reassignment.
        """
        state = self._live.committed(node, record.name, record.topic_id)
        if state is None or state.partition_epoch != event.partition_epoch:
            return
        staying = [replica for replica in state.replicas if replica not in state.removing_replicas]
        recovering = state.leader_recovery_state is LeaderRecoveryState.RECOVERING
        if state.reassigning and not recovering and set(staying) <= set(state.isr):
            what = f"the move to {staying} is not over with the ISR {list(state.isr)}"
            self._violations.add("reassignment-open", record.name, what, (record.topic_id, event.metadata_offset))

    def _high_watermark(self, record: PartitionRecord, event: HighWatermarkAdvanced) -> None:
        if event.leader_epoch < record.since_epoch:
            return
        if event.leader_epoch >= record.hw_epoch and event.offset < record.true_hw:
            what = (
                f"leader epoch {event.leader_epoch} reports HW {event.offset}, but {record.true_hw} was reached before"
            )
            self._violations.add("hw-regression", record.name, what, (record.topic_id, event.leader_epoch))
        record.hw_epoch = max(record.hw_epoch, event.leader_epoch)
        record.true_hw = max(record.true_hw, event.offset)
        self._touch(record)

    def _batch_committed(self, record: PartitionRecord, node: str, event: BatchCommitted) -> None:
        if event.leader_epoch < record.since_epoch:
            return
        if record.forgot:
            record.first, record.forgot = event.offset, False
        known = record.committed.get(event.offset)
        batch = CommittedBatch(event.end_offset, event.epoch, event.crc)
        if known is None and event.offset < record.first:
            record.committed[event.offset] = batch
        elif known is None and event.offset >= record.committed_end:
            record.committed[event.offset] = batch
            record.committed_end = record.committed_by[event.leader_epoch] = event.end_offset
        elif known != batch and not self._compacts(node, record):
            what = f"{node} committed another batch at offset {event.offset} in leader epoch {event.leader_epoch}"
            self._violations.add("committed-loss", record.name, what, (record.topic_id, event.leader_epoch, "other"))

    def _compacts(self, node: str, record: PartitionRecord) -> bool:
        """Whether batches may have lost records: what is left of one has another CRC, at the same offsets."""
        partition = self._live.replica(node, record.name, record.topic_id)
        return partition is not None and partition.log.config.compacts

    def _appended_as_leader(self, record: PartitionRecord, node: str, incarnation: int, event: LogAppended) -> None:
        leader = record.leaders.setdefault(event.leader_epoch, (node, incarnation))
        if leader[0] != node or (leader[1] != incarnation and self._incarnations_differ):
            both = f"{node} (incarnation {incarnation}) and {leader[0]} (incarnation {leader[1]})"
            what = f"{both} appended in leader epoch {event.leader_epoch}"
            self._violations.add("two-leaders", record.name, what, (record.topic_id, event.leader_epoch))

    def _became_leader(self, record: PartitionRecord, node: str, event: BecameLeader) -> None:
        """Leader completeness: a leader has all that was committed in earlier leader epochs, byte for byte (up to where
        it ends, in a log that is compacted).

        A broker that hears late of its election (it was paused) owes nothing to the leaders after it.
        """
        partition = self._live.replica(node, record.name, record.topic_id)
        if partition is None or event.leader_epoch < record.since_epoch:
            return
        owed = max((end for epoch, end in record.committed_by.items() if epoch < event.leader_epoch), default=0)
        if event.end_offset < owed:
            what = (
                f"{node} leads epoch {event.leader_epoch} with log end offset {event.end_offset}, "
                f"but {owed} was committed"
            )
            self._violations.add("committed-loss", record.name, what, (record.topic_id, event.leader_epoch, "end"))
        log = partition.log
        if log.config.compacts:
            return
        try:
            held = list(log.batches_between(log.log_start_offset, min(owed, log.log_end_offset)))
        except LogOfflineError:  # the disk has failed since: there is nothing to compare
            return
        for batch in held:
            known = record.committed.get(batch.base_offset)
            if known is not None and (known.crc, known.epoch) != (batch.crc, batch.leader_epoch):
                where = f"committed offset {batch.base_offset}"
                what = f"{node} leads epoch {event.leader_epoch} with another batch at {where}"
                self._violations.add(
                    "committed-loss", record.name, what, (record.topic_id, event.leader_epoch, "other")
                )
                return

    def _accepted(self, record: PartitionRecord, event: AlterPartitionHandled) -> None:
        before, record.accepted = record.isr, event.metadata_offset
        for broker, claimed, registered in zip(event.isr, event.isr_epochs, event.registered_epochs, strict=True):
            if broker not in before and claimed not in (-1, registered):
                what = f"broker {broker} joined under epoch {claimed}, but is registered under {registered}"
                self._violations.add("stale-isr-join", record.name, what, (record.topic_id, broker, claimed))

    def _isr_complete(self, record: PartitionRecord) -> None:
        if not record.true_hw:
            record.joined.clear()
            return  # no log ends below it
        for broker_id, partition in self._live.members(record.isr, record.name, record.topic_id):
            end = partition.log.log_end_offset if partition is not None else 0
            if end < record.true_hw:
                what = f"broker {broker_id} is in ISR {record.isr} with log end offset {end}, below HW {record.true_hw}"
                self._violations.add("isr-incomplete", record.name, what, (record.topic_id, broker_id))
            elif partition is not None and broker_id in record.joined:
                self._has_the_last(record, broker_id, partition)
        record.joined.clear()

    def _has_the_last(self, record: PartitionRecord, broker_id: int, partition: Partition) -> None:
        """Whoever joins holds what is committed: its last batches are looked at, for logs diverge at their ends."""
        log = partition.log
        start = max(log.log_start_offset, record.true_hw - _LAST_OFFSETS)
        if log.config.compacts or not log.is_online or self._live.disk_fails(f"broker-{broker_id}"):
            return
        try:
            held = log.batch_marks(start, record.true_hw)
        except LogError:  # the disk has failed since
            return
        for mark in held:
            known = record.committed.get(mark.base_offset)
            if known is not None and known != CommittedBatch(mark.end_offset, mark.epoch, mark.crc):
                what = f"broker {broker_id} joined the ISR with another batch at committed offset {mark.base_offset}"
                self._violations.add("isr-incomplete", record.name, what, (record.topic_id, broker_id))
                return


def _broker_of(node: str) -> int:
    kind, _, number = node.rpartition("-")
    return int(number) if kind == "broker" else -1
