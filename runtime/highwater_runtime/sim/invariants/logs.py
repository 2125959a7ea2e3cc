"""Invariants of a broker's logs: what a log says of itself agrees with its batches and with its disk.

* ``recovery-point-durable``: below the recovery point a power loss takes nothing. Recovery does not look there.
* ``leader-epoch-cache``: the cache names the leader epoch of every batch, its entries ascend, and none begins behind
  the log's end (KIP-101, KIP-279). When the log start has moved, none ends at or before it.
* ``producer-state``: what a log knows of a producer is what its batches say (:mod:`.producers`).
* ``compaction-lost-record``, ``compaction-left-record``: what compaction leaves of a key is its last record, and
  nothing but that in the segments that it went through.
* ``log-start-back``: a log that is loaded begins where the checkpoint says, and after a clean shutdown where it began
  before. Else records return that clients were told to be deleted.
* ``disk-leftover``: no checkpoint has an offset of a log that is only just created.
* ``clean-shutdown-marker``: no broker writes to its logs while a power loss could bring the marker of its last clean
  shutdown back. Recovery would be skipped then.

Worked example: a follower cuts its log from offset 90 to 70 and keeps 90 as its recovery point. It fetches other
records up to 90, and loses power. What it has lost of them nobody notices: recovery begins at 90.

The trap: such a log works until that power loss. Clients see nothing until this replica leads.

A log is looked at as a whole when it was loaded or cut. An append only compares the recovery point and the last leader
epoch with those that were seen before, and looks at what is new. An fsync that failed dropped pages (Linux forgets
them); what is on such a file no process can know, so nothing is asked of it.

When the log start moves, the cache forgets the epochs below it. The checkpoint of leader epochs is written before that
of log starts, as in Apache Kafka, so after a crash a log can begin lower than its cache. Of batches below the highest
log start the cache need not name the epoch.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final, NamedTuple

from highwater_runtime.log.checkpoints import (
    CLEAN_SHUTDOWN,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    read_offsets,
)
from highwater_runtime.log.epoch_cache import UNDEFINED_EPOCH
from highwater_runtime.log.errors import CorruptCheckpointError, LogError
from highwater_runtime.log.log import Log
from highwater_runtime.log.names import TopicPartition, parse_partition_dir
from highwater_runtime.log.producer_state import ProducerEntry
from highwater_runtime.ports.trace import (
    BecameLeader,
    LogAppended,
    LogLoaded,
    LogStartMoved,
    LogTruncated,
    NodeEvent,
    TransitionTaken,
)
from highwater_runtime.sim.disk import SimDisk
from highwater_runtime.sim.invariants.live import LiveCluster
from highwater_runtime.sim.invariants.producers import note_batch, wrongly_known
from highwater_runtime.sim.invariants.violation import Violations

OF_LOGS: Final = frozenset((LogAppended, LogLoaded, LogStartMoved, LogTruncated, BecameLeader, TransitionTaken))
"""Events that :meth:`LogInvariants.on_event` has to see."""

_Last = dict[bytes, tuple[int, bool]]
"""The offset of each key's last record, and whether that is a tombstone that may go."""


class _Compacting(NamedTuple):
    """A log whose compaction goes on. ``last``: the last record of each key when it began. Segments up to ``cleaned``
    lie below ``limit``, up to which it looks at records."""

    log: Log
    last: _Last
    cleaned: int
    limit: int


@dataclass(slots=True)
class _Seen:
    """What was right when a log was last looked at."""

    log: Log
    recovery_point: int
    latest_epoch: int


@dataclass(slots=True)
class _Touched:
    """What an event did to a log."""

    incarnation: int
    wrote: bool = False
    changed: bool = False
    """The log was loaded or cut: it is looked at as a whole."""
    leads: int | None = None
    """The leader epoch in which a leader begins here: it may have no batch yet."""


class LogInvariants:
    """Checks logs; the monitor feeds it every node event, and calls it after every simulated event."""

    def __init__(self, live: LiveCluster, violations: Violations) -> None:
        self._live = live
        self._violations = violations
        self._seen: dict[tuple[str, str], _Seen] = {}
        self._touched: dict[tuple[str, str], _Touched] = {}
        self._compacting: dict[tuple[str, str], _Compacting] = {}
        self._wrote: dict[str, int] = {}
        """The last incarnation of each node that was seen to write."""
        self._highest_start: dict[tuple[str, str], int] = {}
        """The log start of each log that has moved, also if a crash has brought a lower one back."""
        self._start: dict[tuple[str, str], int] = {}
        """Where each log began last."""
        self._moved: dict[tuple[str, str], None] = {}
        """Logs whose start this event has moved."""

    def on_event(self, node: str, incarnation: int, event: NodeEvent) -> None:
        """Note which log an event touched."""
        match event:
            case TransitionTaken(reason="compaction-begun" | "compacted"):
                self._compaction(node, event.partition, begins=event.reason == "compaction-begun")
                return
            case LogStartMoved():
                self._highest_start[node, event.partition] = self._start[node, event.partition] = event.end_offset
                self._moved[node, event.partition] = None
                return
            case LogAppended() | LogLoaded() | LogTruncated() | BecameLeader():
                key = (node, event.partition)
                touched = self._touched.get(key)
                if touched is None:
                    touched = self._touched[key] = _Touched(incarnation)
            case _:
                return
        match event:
            case LogAppended():
                touched.wrote = True
            case BecameLeader():
                touched.leads = event.leader_epoch
            case LogLoaded():
                touched.changed = True
                self._begins_right(node, event)
                self._start[key] = event.offset
                if event.end_offset < self._highest_start.get(key, 0):
                    del self._highest_start[key]  # another log: the disk was lost, or the topic created again
            case LogTruncated():
                touched.wrote = touched.changed = True
                self._compacting.pop(key, None)
                if event.offset < self._highest_start.get(key, 0):
                    self._highest_start[key] = event.offset
                if event.reason == "restart-at" or event.offset < self._start.get(key, 0):
                    self._start[key] = event.offset

    def after_event(self) -> None:
        """Check the logs that the event touched."""
        if self._touched:
            for (node, name), touched in self._touched.items():
                self._check(node, name, touched)
            self._touched.clear()

        if self._moved:
            for node, name in self._moved:
                self._old_epochs_are_gone(node, name)
            self._moved.clear()

    def _check(self, node: str, name: str, touched: _Touched) -> None:
        broker = self._live.broker(node)
        if broker is None or self._live.disk_fails(node):
            return
        if touched.wrote and self._wrote.get(node) != touched.incarnation:
            self._wrote[node] = touched.incarnation
            self._marker_is_gone(node)
        log = broker.logs.get(_partition(name))
        if log is None or not log.is_online:
            return
        seen = self._seen.get((node, name))
        if touched.changed or seen is None or log is not seen.log:
            seen = self._seen[node, name] = _Seen(log, 0, -1)
            self._fits_its_batches(node, log, self._highest_start.get((node, name), 0))
        if log.recovery_point != seen.recovery_point:
            self._is_durable(node, log, seen.recovery_point)
            seen.recovery_point = log.recovery_point
        if touched.leads is not None or touched.changed or log.latest_epoch != seen.latest_epoch:
            self._epochs_ascend(node, log, leads=touched.leads)
            seen.latest_epoch = log.latest_epoch

    def _begins_right(self, node: str, event: LogLoaded) -> None:
        """Compare where a log begins with the checkpoint, and after a clean shutdown with where it began before."""
        if self._live.disk_fails(node):
            return
        if event.reason == "created":
            self._inherits_nothing(node, event)
            return
        known = self._start.get((node, event.partition), 0) if event.reason == "clean" else 0
        try:
            checkpointed = read_offsets(self._live.disk(node), LOG_START_OFFSETS)
        except CorruptCheckpointError:  # a fault on the disk
            return
        owed = min(max(known, checkpointed.get(_partition(event.partition), 0)), event.end_offset)
        if event.offset < owed:
            what = f"{node} has loaded a log ({event.reason}) that begins at {event.offset}; before, it began at {owed}"
            self._violations.add("log-start-back", event.partition, what, (node, owed))

    def _inherits_nothing(self, node: str, event: LogLoaded) -> None:
        """A log that is created has nothing yet for which a checkpoint of a former log of its name could vouch."""
        disk = self._live.disk(node)
        for path in (RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS):
            with suppress(CorruptCheckpointError):  # a fault on the disk
                offset = read_offsets(disk, path).get(_partition(event.partition), 0)
                if offset > event.end_offset:
                    what = f"{node} has created the log of {event.partition}, of which {path} has offset {offset}"
                    self._violations.add("disk-leftover", node, what, (event.partition, path, event.topic_id))

    # --- compaction ----------------------------------------------------------------------------------------------

    def _compaction(self, node: str, name: str, *, begins: bool) -> None:
        broker = self._live.broker(node)
        log = None if broker is None or self._live.disk_fails(node) else broker.logs.get(_partition(name))
        began = self._compacting.pop((node, name), None)
        if log is None or not log.is_online:
            return
        try:
            last = _last_records(log, self._live.latest_wall_ms(node))
            if begins:
                limit = log.compaction_limit
                cleaned = max((base for base in log.segment_bases if base <= limit), default=0)
                self._compacting[node, name] = _Compacting(log, last, cleaned, limit)
            elif began is not None and began.log is log:
                self._kept_the_last(node, name, began, last)
                self._kept_nothing_else(node, name, began)
        except LogError:  # the disk has failed since
            return

    def _kept_the_last(self, node: str, name: str, began: _Compacting, last: _Last) -> None:
        for key, (offset, is_over) in began.last.items():
            left = last[key][0] if key in last else -1
            may_go = is_over or offset < began.log.log_start_offset
            if left < offset and not (may_go and left < 0):
                what = f"{node} compacted away the last record of key {key!r}, at offset {offset}"
                self._violations.add("compaction-lost-record", name, what, (node, key))

    def _kept_nothing_else(self, node: str, name: str, began: _Compacting) -> None:
        seen: dict[bytes, int] = {}
        for batch in began.log.batches_between(began.log.log_start_offset, began.limit):
            if batch.codec != "none" or batch.is_control:
                continue
            for record in batch.records():
                if record.key is None or record.offset >= began.limit:
                    continue
                earlier = seen.get(record.key)
                if earlier is not None and earlier < began.cleaned:
                    what = (
                        f"{node} compacted and kept key {record.key!r} at {earlier}, though {record.offset} has it too"
                    )
                    self._violations.add("compaction-left-record", name, what, (node, record.key))
                seen[record.key] = record.offset

    # --- the disk ------------------------------------------------------------------------------------------------

    def _marker_is_gone(self, node: str) -> None:
        if CLEAN_SHUTDOWN in self._live.disk(node).durable_names():
            what = f"{node} writes to its logs, and a power loss would bring {CLEAN_SHUTDOWN} back"
            self._violations.add("clean-shutdown-marker", node, what, self._wrote[node])

    def _is_durable(self, node: str, log: Log, above: int) -> None:
        """What lies in [``above``, recovery point)."""
        point, disk = log.recovery_point, self._live.disk(node)
        if point > log.log_end_offset:
            what = f"{node} has recovery point {point}, but its log ends at {log.log_end_offset}"
        elif (path := _not_durable(disk, log, above, point)) is not None:
            what = f"{node} has recovery point {point}, but a power loss may take some of {path} below that"
        else:
            return
        self._violations.add("recovery-point-durable", log.partition, what, (node, point))

    # --- leader epochs and producers -----------------------------------------------------------------------------

    def _old_epochs_are_gone(self, node: str, name: str) -> None:
        """Check what the cache knows below the log start: no more than the epoch in force there, which begins there."""
        broker = self._live.broker(node)
        log = None if broker is None or self._live.disk_fails(node) else broker.logs.get(_partition(name))
        if log is None or not log.is_online:
            return
        for epoch, start in log.epoch_entries[:1]:
            if start < log.log_start_offset:
                what = f"{node} has leader epoch {epoch} from offset {start}, but its log begins at"
                what += f" {log.log_start_offset}"
                self._violations.add("leader-epoch-cache", log.partition, what, (node, epoch, "old"))

    def _epochs_ascend(self, node: str, log: Log, *, leads: int | None) -> None:
        entries, end = log.epoch_entries, log.log_end_offset
        for (epoch, start), (later, later_start) in pairwise(entries):
            if epoch >= later or start >= later_start:
                what = f"{node} has leader epoch {later} from offset {later_start}, behind {epoch} from {start}"
                self._violations.add("leader-epoch-cache", log.partition, what, (node, later))
        if leads is not None and log.latest_epoch < leads:
            what = f"{node} leads in epoch {leads}, and its leader-epoch cache ends with {log.latest_epoch}"
            self._violations.add("leader-epoch-cache", log.partition, what, (node, leads, "led"))
        # Where a leader begins there is no record yet. Nor is there in a log that retention and a power loss have left
        # empty: the last epoch then begins where the log does, as in Apache Kafka.
        is_empty = log.log_start_offset == end
        if entries and entries[-1][1] >= end + (leads is not None or is_empty):
            what = f"{node} has leader epoch {entries[-1][0]} from offset {entries[-1][1]}, but its log ends at {end}"
            self._violations.add("leader-epoch-cache", log.partition, what, (node, log.latest_epoch))

    def _fits_its_batches(self, node: str, log: Log, highest_start: int) -> None:
        """Compare leader epochs and producers with the headers of all batches."""
        begin, compacts = log.log_start_offset, log.config.compacts
        in_log: dict[int, ProducerEntry] = {}
        try:
            for batch in log.headers(begin):
                note_batch(in_log, batch)
                epoch = log.epoch_of(max(batch.base_offset, begin))
                is_forgotten = epoch == UNDEFINED_EPOCH and batch.base_offset < highest_start
                if epoch != batch.leader_epoch and not compacts and not is_forgotten:
                    batches = f"whose batch has {batch.leader_epoch}"
                    what = f"{node} has leader epoch {epoch} for offset {batch.base_offset}, {batches}"
                    self._violations.add("leader-epoch-cache", log.partition, what, (node, batch.base_offset))
        except LogError:  # the disk has failed since
            return
        expired_ms = self._live.latest_wall_ms(node) - log.config.producer_id_expiration_ms
        for producer_id, what in wrongly_known(log, in_log, expired_ms):
            self._violations.add("producer-state", log.partition, f"{node} knows {what}", (node, producer_id, what))


def _last_records(log: Log, now_ms: int) -> _Last:
    last: _Last = {}
    for batch in log.batches(log.log_start_offset):
        if batch.codec == "none" and not batch.is_control:
            horizon = batch.delete_horizon_ms
            is_over = horizon is not None and horizon <= now_ms
            last.update(
                (one.key, (one.offset, is_over and one.value is None)) for one in batch.records() if one.key is not None
            )
    return last


@lru_cache(maxsize=1 << 14)
def _partition(name: str) -> TopicPartition:
    """Asked for with each append, of few partitions."""
    return parse_partition_dir(name) or TopicPartition(name, -1)


def _not_durable(disk: SimDisk, log: Log, above: int, point: int) -> str | None:
    """The first of the log's files that a power loss may change within [``above``, ``point``)."""
    try:
        extents = log.extents(above, point)
    except LogError:  # no file holds what was written to it: other checks say so
        return None
    return next((path for path, length in extents if not disk.is_durable(path, length)), None)
