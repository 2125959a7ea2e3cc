"""Invariants of what replicas do: copy, number and delete.

* ``replica-incomplete``: what passes the HW is in the log of every live member of the ISR, byte for byte, but for what
  lies below the latest log start that a replica had: nothing is promised there.
* ``silent-isr-join``: a leader proposes no replica for the ISR that has not fetched since it left.
* ``sequence-gap``: a leader takes a batch of an idempotent producer only in sequence.
* ``retention-too-greedy``: a log start moves no further than the settings allow.

What the runtime reports is compared with what is really there: the controllers' committed states, the settings in the
broker's metadata image, the bytes in live logs, and the timestamps that batches had when they were appended.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple, get_args

from highwater_runtime.broker.partition import Partition
from highwater_runtime.log.errors import LogError
from highwater_runtime.log.records import BatchView, advance_sequence
from highwater_runtime.metadata.effective_config import topic_properties
from highwater_runtime.ports.trace import (
    BatchCommitted,
    BecameLeader,
    IsrProposed,
    LogAppended,
    LogLoaded,
    LogStartMoved,
    LogTruncated,
    PartitionChanged,
    RecordsDeletionAsked,
)
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.reported import Reported, ReportInvariants
from highwater_runtime.sim.invariants.violation import Violations

PartitionEvent = (
    BatchCommitted
    | BecameLeader
    | IsrProposed
    | LogAppended
    | LogLoaded
    | LogStartMoved
    | RecordsDeletionAsked
    | LogTruncated
    | PartitionChanged
)

OF_REPLICAS: Final = frozenset(get_args(PartitionEvent))
"""Events that :meth:`ReplicaInvariants.on_event` has to see."""


class _Sequence(NamedTuple):
    """The last batch of a producer: its epoch, its last sequence, its largest timestamp (ms)."""

    epoch: int
    last: int
    timestamp: int


@dataclass(slots=True)
class _Record:
    """What is known of one partition (one topic id)."""

    name: str
    topic_id: str
    reported: Reported
    left: dict[int, tuple[str, int]] = field(default_factory=dict)
    """Who has left the ISR under the present leader: that leader, and when by its clock (ns)."""
    starts: dict[str, int] = field(default_factory=dict)
    """The furthest log start that each node has reported."""
    deletions_asked: dict[str, int] = field(default_factory=dict)
    """The furthest offset below which a client has asked each node to delete."""
    stamps: dict[tuple[int, int], int] = field(default_factory=dict)
    """(offset, CRC) of appended batches -> largest timestamp (ms)."""
    committed: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Offset of committed batches -> (end offset, largest timestamp)."""
    passing: list[BatchCommitted] = field(default_factory=list)
    """Batches that passed the HW in this event."""
    leadership: tuple[str, int, int] | None = None
    """(node, incarnation, leader epoch) that ``sequences`` belong to."""
    sequences: dict[int, _Sequence] = field(default_factory=dict)


class ReplicaInvariants:
    """Checks replicas; the monitor feeds it every node event, and calls it after every simulated event."""

    def __init__(self, live: LiveCluster, reports: ReportInvariants, violations: Violations) -> None:
        self._live = live
        self._reports = reports
        self._violations = violations
        self._records: dict[tuple[str, str], _Record] = {}
        self._passed: dict[tuple[str, str], _Record] = {}

    def on_event(self, node: str, incarnation: int, event: PartitionEvent) -> None:
        """Take in one node event and check it."""
        reported = self._reports.of(node, event)
        key = reported.name, reported.topic_id
        record = self._records.get(key)
        if record is None:
            record = self._records[key] = _Record(*key, reported)
        match event:
            case PartitionChanged() if reported.state is event:
                self._partition_changed(record, event)
            case IsrProposed():
                self._proposed(record, node, event)
            case BatchCommitted() if event.leader_epoch >= reported.since_epoch:
                stamp = record.stamps.pop((event.offset, event.crc), None)
                if stamp is not None:
                    record.committed[event.offset] = (event.end_offset, stamp)
                record.passing.append(event)
                self._passed[key] = record
            case LogAppended(reason="leader"):
                self._appended(record, node, (node, incarnation, event.leader_epoch), event)
            case LogLoaded() | LogTruncated(reason="restart-at"):
                record.starts[node] = max(event.offset, record.starts.get(node, 0))
            case RecordsDeletionAsked():
                offset = record.reported.highest_hw if event.offset < 0 else event.offset
                record.deletions_asked[node] = max(offset, record.deletions_asked.get(node, 0))
            case LogStartMoved():
                self._start_moved(record, node, event)

    def after_event(self) -> None:
        """Check what passed the HW."""
        for record in self._passed.values():
            self._in_sync_replicas_have(record)
            record.passing.clear()
        self._passed.clear()

    def _partition_changed(self, record: _Record, event: PartitionChanged) -> None:
        leader = f"broker-{event.leader}"
        if event.leader >= 0:
            left = {broker: (leader, self._live.node_time_ns(leader)) for broker in record.reported.left}
            record.left = {
                broker: at
                for broker, at in {**left, **record.left}.items()
                if broker not in event.isr and at[0] == leader
            }

    def _replica(self, record: _Record, node: str) -> Partition | None:
        return self._live.replica(node, record.name, record.topic_id)

    def _settings(self, record: _Record, node: str) -> Mapping[str, str]:
        """The topic's properties in this broker's image, without the node's own configuration."""
        broker = self._live.broker(node)
        assert broker is not None
        topic = record.name.rpartition("-")[0]
        return topic_properties(broker.image, topic, int(node.rpartition("-")[2]))

    # --- the ISR -------------------------------------------------------------------------------------------------

    def _proposed(self, record: _Record, node: str, event: IsrProposed) -> None:
        replica = self._replica(record, node)
        # A leader that does not know of the present state yet does not know who has left.
        state = record.reported.state
        if replica is None or replica.leading is None or state is None:
            return
        if (state.leader_epoch, state.partition_epoch) != (event.leader_epoch, event.partition_epoch):
            return
        for broker in event.isr:
            leader, left_ns = record.left.get(broker, ("", 0))
            follower = replica.leading.followers.get(broker)
            if leader == node and broker not in record.reported.isr and follower and follower.fetched_ns < left_ns:
                what = f"{node} proposes broker {broker} for the ISR, which has not fetched since it left"
                self._violations.add(
                    "silent-isr-join", record.name, what, (record.topic_id, event.leader_epoch, broker)
                )

    # --- replication ---------------------------------------------------------------------------------------------

    def _in_sync_replicas_have(self, record: _Record) -> None:
        for broker_id, replica in self._live.members(record.reported.isr, record.name, record.topic_id):
            node = f"broker-{broker_id}"
            if replica is None or not self._is_readable(node, replica):
                continue  # a member without a replica is isr-incomplete
            start = max([replica.log.log_start_offset, *record.starts.values()])
            for batch in record.passing:
                if batch.offset >= start and not _has(replica, batch):
                    what = (
                        f"broker {broker_id} is in ISR {record.reported.isr} without the batch at offset"
                        f" {batch.offset}, which the leader of epoch {batch.leader_epoch} calls committed"
                    )
                    self._violations.add("replica-incomplete", record.name, what, (record.topic_id, broker_id))

    def _is_readable(self, node: str, replica: Partition) -> bool:
        return replica.log.is_online and not self._live.disk_fails(node)

    # --- sequences -----------------------------------------------------------------------------------------------

    def _appended(self, record: _Record, node: str, leadership: tuple[str, int, int], event: LogAppended) -> None:
        replica = self._replica(record, node)
        if replica is None or not self._is_readable(node, replica) or event.end_offset > replica.log.log_end_offset:
            record.leadership = None
            return
        log = replica.log
        if record.leadership != leadership:
            record.leadership, record.sequences = leadership, {}
            for batch in log.batches_between(log.log_start_offset, event.offset):
                _note(record, batch)
        # A clock that was ahead may have made the node forget a producer.
        latest_ms = self._live.latest_wall_ms(node)
        for batch in log.batches_between(max(event.offset, log.log_start_offset), event.end_offset):
            record.stamps[batch.base_offset, batch.crc] = batch.max_timestamp
            self._in_sequence(record, node, batch, latest_ms - log.config.producer_id_expiration_ms)
            _note(record, batch)

    def _in_sequence(self, record: _Record, node: str, batch: BatchView, forgotten_ms: int) -> None:
        last = record.sequences.get(batch.producer_id)
        if last is None or batch.base_sequence < 0 or last.timestamp <= forgotten_ms:
            return
        expected = advance_sequence(last.last, 1) if batch.producer_epoch == last.epoch else 0
        if batch.producer_epoch < last.epoch or batch.base_sequence != expected:
            what = (
                f"{node} took sequence {batch.base_sequence} of producer {batch.producer_id}, epoch"
                f" {batch.producer_epoch}, after sequence {last.last} of epoch {last.epoch}"
            )
            self._violations.add("sequence-gap", record.name, what, (record.topic_id, batch.base_offset))

    # --- retention -----------------------------------------------------------------------------------------------

    def _start_moved(self, record: _Record, node: str, event: LogStartMoved) -> None:
        replica = self._replica(record, node)
        if replica is not None:
            why = self._why_not(record, node, replica, event)
            if why:
                what = f"{node} moved its log start from {event.offset} to {event.end_offset} ({event.reason}): {why}"
                self._violations.add("retention-too-greedy", record.name, what, (record.topic_id, node, event.offset))
        record.starts[node] = max(event.end_offset, record.starts.get(node, 0))

    def _why_not(self, record: _Record, node: str, replica: Partition, event: LogStartMoved) -> str:
        """Why a log start may not move so far; empty if it may."""
        if event.end_offset > record.reported.highest_hw:
            return f"the HW is {record.reported.highest_hw}"
        settings, config = self._settings(record, node), replica.context.config
        match event.reason:
            case "retention-time":
                limit = int(settings.get("retention.ms", config.log_retention_ms))
                newest = max(self._timestamps(record, event.offset, event.end_offset), default=None)
                age = None if newest is None else replica.context.clock.wall_ms() - newest
                if limit < 0 or (age is not None and age <= limit):
                    return f"the newest record was {age} ms old, and retention.ms is {limit}"
            case "retention-size":
                limit, left = (
                    int(settings.get("retention.bytes", config.log_retention_bytes)),
                    replica.log.size_in_bytes,
                )
                if limit < 0 or left < limit:
                    return f"{left} bytes are left, and retention.bytes is {limit}"
            case "delete-records":
                asked = record.deletions_asked.get(node, 0)
                if event.end_offset > asked:
                    return f"a client asked for no more than {asked}"
            case "leader":
                others = [start for other, start in record.starts.items() if other != node]
                if event.end_offset > max(others, default=0):
                    return "no other log begins so late"
        policy = settings.get("cleanup.policy", config.log_cleanup_policy)
        if event.reason.startswith("retention-") and "delete" not in policy.split(","):
            return f"cleanup.policy is {policy}"
        return ""

    def _timestamps(self, record: _Record, start: int, end: int) -> list[int]:
        """The timestamps of the committed batches in [``start``, ``end``), as far as they are known.

        After an unclean election a log may have had others there than those that were committed.
        """
        if record.reported.lineage:
            return []
        return [stamp for offset, (stop, stamp) in record.committed.items() if start <= offset and stop <= end]


def _has(replica: Partition, committed: BatchCommitted) -> bool:
    """Whether a live log holds this batch, with these bytes; in a log that is compacted, whether it reaches so far."""
    if replica.log.config.compacts:
        return replica.log.log_end_offset >= committed.end_offset
    try:
        found = list(replica.log.batches_between(committed.offset, committed.end_offset))
        return [(b.base_offset, b.end_offset, b.leader_epoch, b.computed_crc()) for b in found] == [
            (committed.offset, committed.end_offset, committed.epoch, committed.crc)
        ]
    except LogError:
        return False


def _note(record: _Record, batch: BatchView) -> None:
    if batch.producer_id >= 0 and batch.base_sequence >= 0:
        sequence = _Sequence(batch.producer_epoch, batch.last_sequence, batch.max_timestamp)
        record.sequences[batch.producer_id] = sequence
