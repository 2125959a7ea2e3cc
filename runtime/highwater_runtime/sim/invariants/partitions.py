"""Invariants of partitions: replicas that may lead keep committed records; a reassignment that has all replicas in sync
is over.

What was reported (:mod:`.reported`) is compared with the logs of live replicas. An unclean election that the settings
allow, and the loss of the disk of an only replica, break no promise: what was committed before is forgotten then.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Final, get_args

from highwater_runtime.broker.partition import Partition
from highwater_runtime.log.errors import LogError, LogOfflineError
from highwater_runtime.metadata import LeaderRecoveryState
from highwater_runtime.ports.trace import (
    BatchCommitted,
    BecameFollower,
    BecameLeader,
    BrokerRegistered,
    HighWatermarkAdvanced,
    LogCut,
    LogLoaded,
    LogTruncated,
    NodeEvent,
    PartitionChanged,
)
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.reported import Reported, ReportInvariants
from highwater_runtime.sim.invariants.violation import Violations

PartitionEvent = (
    BatchCommitted
    | BecameFollower
    | BecameLeader
    | HighWatermarkAdvanced
    | LogCut
    | LogLoaded
    | LogTruncated
    | PartitionChanged
)
"""Events that speak of one partition."""

_LAST_OFFSETS: Final = 200
"""How many of the last committed offsets are looked at on who joins an ISR."""

OF_PARTITIONS: Final = frozenset((BrokerRegistered, *get_args(PartitionEvent)))
"""Events that :meth:`PartitionInvariants.on_event` has to see."""


@dataclass(frozen=True, slots=True)
class CommittedBatch:
    """A batch that once lay below the true HW."""

    end_offset: int
    epoch: int
    crc: int


@dataclass(slots=True)
class PartitionRecord:
    """What was committed of one partition (one topic id), and what was reported of it."""

    name: str
    topic_id: str
    reported: Reported
    lineage: int = 0
    committed: dict[int, CommittedBatch] = field(default_factory=dict)
    committed_end: int = 0
    committed_by: dict[int, int] = field(default_factory=dict)
    """Leader epoch -> end of what had been committed when a leader of that epoch last committed something new."""
    joined: list[int] = field(default_factory=list)
    """Who has joined the ISR in this event."""
    first: int = 0
    """The first offset of which is known what was committed there, since something was forgotten."""
    forgot: bool = False

    def forget(self) -> None:
        """Owe nothing of what was committed before the last break."""
        self.lineage, self.committed_end, self.forgot = self.reported.lineage, 0, True
        self.committed, self.committed_by = {}, {}


class PartitionInvariants:
    """Checks partitions; the monitor feeds it every node event, and calls it after every simulated event."""

    def __init__(self, live: LiveCluster, reports: ReportInvariants, violations: Violations) -> None:
        self._live = live
        self._reports = reports
        self._violations = violations
        self._partitions: dict[tuple[str, str], PartitionRecord] = {}
        self._touched: dict[tuple[str, str], PartitionRecord] = {}

    def on_event(self, node: str, _incarnation: int, event: NodeEvent) -> None:
        """Take in one node event, and check what it claims against what is known."""
        match event:
            case BrokerRegistered():
                self._registered(event)
            case HighWatermarkAdvanced():
                record = self._record(node, event)
                if event.leader_epoch >= record.reported.since_epoch:
                    self._touch(record)
            case BatchCommitted():
                self._batch_committed(self._record(node, event), node, event)
            case BecameLeader():
                self._became_leader(self._record(node, event), node, event)
            case BecameFollower() | LogLoaded() | LogTruncated() | LogCut():
                self._touch(self._record(node, event))
            case PartitionChanged():
                record = self._record(node, event)
                if record.reported.state is event and event.reason != "deleted":
                    record.joined += record.reported.joined
                    self._touch(record)
                    self._reassignment(record.reported, node, event)

    def after_event(self) -> None:
        """Check the live replicas of every partition that the event touched."""
        if self._touched:
            for record in self._touched.values():
                self._isr_complete(record)
            self._touched.clear()

    def _record(self, node: str, event: PartitionEvent) -> PartitionRecord:
        reported = self._reports.of(node, event)
        key = reported.name, reported.topic_id
        record = self._partitions.get(key)
        if record is None:
            record = self._partitions[key] = PartitionRecord(*key, reported)
        if record.lineage != reported.lineage:
            record.forget()
        return record

    def _touch(self, record: PartitionRecord) -> None:
        self._touched[record.name, record.topic_id] = record

    def _registered(self, event: BrokerRegistered) -> None:
        for record in self._partitions.values():
            if event.broker in record.reported.isr:
                self._touch(record)

    def _reassignment(self, record: Reported, node: str, event: PartitionChanged) -> None:
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

    def _batch_committed(self, record: PartitionRecord, node: str, event: BatchCommitted) -> None:
        if event.leader_epoch < record.reported.since_epoch:
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

    def _became_leader(self, record: PartitionRecord, node: str, event: BecameLeader) -> None:
        """Leader completeness: a leader has all that was committed in earlier leader epochs, byte for byte (up to where
        it ends, in a log that is compacted).

        A broker that hears late of its election (it was paused) owes nothing to the leaders after it.
        """
        partition = self._live.replica(node, record.name, record.topic_id)
        if partition is None or event.leader_epoch < record.reported.since_epoch:
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
            known = _promised(record, batch.base_offset)
            if known is not None and (known.crc, known.epoch) != (batch.crc, batch.leader_epoch):
                where = f"committed offset {batch.base_offset}"
                what = f"{node} leads epoch {event.leader_epoch} with another batch at {where}"
                self._violations.add(
                    "committed-loss", record.name, what, (record.topic_id, event.leader_epoch, "other")
                )
                return

    def _isr_complete(self, record: PartitionRecord) -> None:
        reported, high_watermark = record.reported, record.reported.true_hw
        if not high_watermark:
            record.joined.clear()
            return  # no log ends below it
        for broker_id, partition in self._live.members(reported.isr, record.name, record.topic_id):
            end = partition.log.log_end_offset if partition is not None else 0
            if end < high_watermark:
                what = (
                    f"broker {broker_id} is in ISR {reported.isr} with log end offset {end}, below HW {high_watermark}"
                )
                self._violations.add("isr-incomplete", record.name, what, (record.topic_id, broker_id))
            elif partition is not None and broker_id in record.joined:
                self._has_the_last(record, broker_id, partition)
        record.joined.clear()

    def _has_the_last(self, record: PartitionRecord, broker_id: int, partition: Partition) -> None:
        """Whoever joins holds what is committed: its last batches are looked at, for logs diverge at their ends."""
        log = partition.log
        start = max(log.log_start_offset, record.reported.true_hw - _LAST_OFFSETS)
        if log.config.compacts or not log.is_online or self._live.disk_fails(f"broker-{broker_id}"):
            return
        try:
            held = log.batch_marks(start, record.reported.true_hw)
        except LogError:  # the disk has failed since
            return
        for mark in held:
            known = _promised(record, mark.base_offset)
            if known is not None and known != CommittedBatch(mark.end_offset, mark.epoch, mark.crc):
                what = f"broker {broker_id} joined the ISR with another batch at committed offset {mark.base_offset}"
                self._violations.add("isr-incomplete", record.name, what, (record.topic_id, broker_id))
                return


def _promised(record: PartitionRecord, offset: int) -> CommittedBatch | None:
    """The committed batch at an offset, which all who lead or join must have; None if there is none.

    An unclean election that was allowed promises nothing of what had been written before. Replicas may differ there for
    ever, as in Kafka: one that cut its log only back to where that of its leader began, and whose own beginning was
    forgotten in a crash, has the same last epoch and end as a leader with other batches below.
    """
    known = record.committed.get(offset)
    return None if known is None or known.epoch < record.reported.since_epoch else known
