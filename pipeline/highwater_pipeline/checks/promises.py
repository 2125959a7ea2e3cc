"""What was promised for each record that a client sent. A check may report only a broken promise.

* An acknowledgement of ``acks=all`` promises that the record stays at its offset. One of ``acks=1`` promises nothing
  until the record passes the high watermark. Node events show that: the leader that appended at that offset while the
  send was open gives the leader epoch, and ``batch-committed`` shows that a batch of that epoch passed the HW there.
  Nothing is promised of a record that retention had removed before its send ended: a leader that never got it may know
  an attempt of it at another offset, and answers with that.
* A record is promised to be there at the end unless its topic was deleted, its offset lies below the log start, or
  compaction may have removed it. Compaction keeps the last record of each key, where keys are known; one without a
  value (a tombstone) for as long as the settings say, and then it may go only after all records of its key before it.
  How far a log start may move is for ``retention-too-greedy`` to judge.

Where settings or events that decide it were not recorded, the answer is :data:`~version_order.UNKNOWN`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct, is_in
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import dumped_records, ints, is_any, of_kind
from highwater_pipeline.checks.committed_by_moves import Committed, committed_by_moves, shows_moves
from highwater_pipeline.checks.version_order import NO, UNKNOWN, YES, Answers, Seen
from highwater_pipeline.partitions.partition_tables import PartitionTables, RunFacts
from highwater_pipeline.tables.micro_operations import FAIL, OK
from highwater_pipeline.tables.settings import Acks, is_tombstone

LOG_START_MOVED: Final = "log-start-moved"
NO_OFFSETS: Final = np.zeros(0, np.int64)


@dataclass(frozen=True, slots=True)
class Promises:
    """Of each micro-operation: whether the record was promised to stay where it was written (``placed``), and whether
    it was promised to be there at the end (``kept``)."""

    placed: Answers
    kept: Answers


class Promised:
    """What was promised to the clients of one topic; ``exists``: it has not been deleted. ``acks``: what an
    acknowledgement is worth; None: what the settings of the run say.

    ``log_start``: what lies below may be gone. ``whole``: whether nothing above may be gone, that is, whether the log
    is not compacted. ``why``: why some answer so far was unknown.
    """

    def __init__(self, unit: PartitionTables, *, exists: bool, acks: Acks | None = None) -> None:
        self._unit: Final = unit
        self._exists: Final = exists
        self._acks: Final = acks or unit.facts.settings.acks
        self._latest: tuple[Seen, Promises] | None = None
        self.why = ""
        self.whole: Final = {False: YES, None: UNKNOWN, True: NO}[unit.facts.settings.compacts(unit.partition)]

    @cached_property
    def _log_start(self) -> tuple[int, bool]:
        return log_start_of(self._unit)

    @property
    def log_start(self) -> int:
        """The offset below which records may have been deleted."""
        return self._log_start[0]

    @cached_property
    def _keys(self) -> LastOfKeys:
        return LastOfKeys(self._unit)

    def kept_by_compaction(self) -> Ints:
        """Offsets of the records that compaction must keep, ascending: each is the last of its key."""
        if self.whole != NO:
            return NO_OFFSETS
        kept = (seen.offset[self.of(seen).kept == YES] for seen in seen_of(self._unit))
        return distinct(np.concatenate([NO_OFFSETS, *kept]))

    def tombstones(self) -> list[tuple[int, int, int]]:
        """Tombstones that are the last of their key, and above the log start: offset, value, and the run time up to
        which none can be gone. Later they may be, but then no record of their key before them may be left."""
        found: list[tuple[int, int, int]] = []
        kept_ns = 1_000_000 * self._unit.facts.settings.keeps_tombstones_ms(self._unit.partition)
        for seen in seen_of(self._unit) if self.whole == NO and self._exists else ():
            is_it = self._keys.are_last_tombstones(seen) & (self.of(seen).placed == YES)
            is_it &= seen.offset >= self.log_start
            until = ints(seen.table, "invoke_time")[is_it] + kept_ns
            found += zip(seen.offset[is_it].tolist(), seen.value[is_it].tolist(), until.tolist(), strict=True)
        return sorted(found)

    @cached_property
    def _appends(self) -> Appends:
        return Appends.of(self._unit)

    @cached_property
    def _committed(self) -> tuple[Ints, Ints]:
        """Offsets that passed a leader's HW, each with the leader epoch of its batch."""
        if self._moves is not None:
            return expand(*self._moves)
        committed = of_kind(self._unit.events, "batch-committed")
        return expand(ints(committed, "offset"), ints(committed, "end_offset"), ints(committed, "epoch"))

    @cached_property
    def _moves(self) -> Committed | None:
        return committed_by_moves(self._unit.events) if shows_moves(self._unit.facts) else None

    @property
    def _knows_committed(self) -> bool:
        return shows_moves(self._unit.facts) or recorded(self._unit.facts, "log-appended", "batch-committed")

    @cached_property
    def _committed_of_unknown_epoch(self) -> Ints:
        if self._moves is None:
            return NO_OFFSETS
        offset, epoch = self._committed
        return distinct(offset[epoch < 0])

    def of(self, seen: Seen) -> Promises:
        """The promises on some micro-operations of the topic."""
        if self._latest is None or self._latest[0] is not seen:
            self._latest = (seen, self._of(seen))
        return self._latest[1]

    def _of(self, seen: Seen) -> Promises:
        placed, why = self._placed(seen)
        kept = placed.copy() if self._exists else np.full_like(placed, NO)
        kept = np.minimum(kept, np.int8(self.whole))
        if self.whole == NO and self._exists:
            kept[self._keys.are_last(seen) & (placed == YES)] = YES
        log_start, certain = self._log_start
        if log_start > 0:
            # A record whose offset is not known may have stood below a log start that has moved.
            below = seen.offset < log_start
            kept[below] = np.minimum(kept[below], np.int8(NO if certain else UNKNOWN))
        if not why and (self.whole == UNKNOWN or (kept == UNKNOWN).any()):
            why = "it is not known whether old records may be deleted"
        self.why = self.why or why
        return Promises(placed, kept)

    def _placed(self, seen: Seen) -> tuple[Answers, str]:
        acks = self._acks
        if acks == "all":
            return np.where(self._was_removed(seen), NO, YES).astype(np.int8), ""
        are_recorded = self._knows_committed
        placed = np.full(seen.table.num_rows, NO if acks is not None and are_recorded else UNKNOWN, np.int8)
        if are_recorded:
            placed[is_in(seen.offset, self._committed_of_unknown_epoch)] = UNKNOWN
            placed[self._passed_high_watermark(seen)] = YES
        if acks is None:
            return placed, "it is not known which acks the producers asked for"
        if are_recorded:
            why = "of some records it is not known which one passed the high watermark"
            return placed, why if (placed == UNKNOWN).any() else ""
        return placed, f"with acks={acks} only node events show which records passed the high watermark"

    def _was_removed(self, seen: Seen) -> Bools:
        """Sends whose offset was below a log start before they ended."""
        times, furthest = self._log_starts
        end = ints(seen.table, "end_time") + self._unit.facts.settings.largest_clock_error_ns
        before: Bools = seen.offset < furthest[np.searchsorted(times, end, "right")]
        return before & seen.is_send & (seen.offset >= 0)

    @cached_property
    def _log_starts(self) -> tuple[Ints, Ints]:
        """When log starts moved, ascending (run time, ns); and the furthest before the first, after it, …"""
        if not recorded(self._unit.facts, LOG_START_MOVED):
            return NO_OFFSETS, np.zeros(1, np.int64)
        moved = of_kind(self._unit.events, LOG_START_MOVED)
        time, to = ints(moved, "time_ns"), ints(moved, "end_offset")
        order = np.argsort(time, kind="stable")
        return time[order], np.maximum.accumulate(np.concatenate([np.zeros(1, np.int64), to[order]]))

    def never_committed(self, seen: Seen) -> Bools:
        """Sends of which no append passed a leader's HW, and at least one was recorded; none if that is not known."""
        if not recorded(self._unit.facts, "log-appended", "batch-committed"):
            return np.zeros(seen.table.num_rows, np.bool_)
        appended, committed = self._appended_and_committed(seen)
        never: Bools = (appended > 0) & (committed == 0)
        return never

    def _passed_high_watermark(self, seen: Seen) -> Bools:
        """Sends of which every append that may be theirs, and at least one, passed a leader's HW."""
        appended, committed = self._appended_and_committed(seen)
        passed: Bools = (appended > 0) & (committed == appended)
        return passed

    def _appended_and_committed(self, seen: Seen) -> tuple[Ints, Ints]:
        """Of each micro-operation: how many appends may be its own, and how many of these passed a leader's HW."""
        sends = np.flatnonzero(seen.is_send & (seen.offset >= 0))
        counts = np.zeros((2, seen.table.num_rows), np.int64)
        first, last = self._appends.during(seen.table, sends)
        before = self._committed_before
        if len(before) > 1:
            counts[0, sends], counts[1, sends] = last - first, before[last] - before[first]
        return counts[0], counts[1]

    @cached_property
    def _committed_before(self) -> Ints:
        """How many of the first appends passed a leader's HW; for no append, for one, …"""
        offsets, epochs = self._committed
        appends = self._appends
        if not len(appends.offset) or not len(offsets):
            return np.zeros(1, np.int64)
        top = int(max(epochs.max(), appends.epoch.max())) + 1
        is_committed = is_in(appends.offset * top + appends.epoch, offsets * top + epochs)
        return np.concatenate([[0], np.cumsum(is_committed)])


class LastOfKeys:
    """Which acknowledged records compaction must keep: those behind which no record of their key stands, nor may stand.

    None if it is not known how records have keys.
    """

    def __init__(self, unit: PartitionTables) -> None:
        settings = unit.facts.settings
        self._count: Final = settings.keys or 0
        self._tombstones: Final = settings.tombstones
        self._kept_since: Final = unit.facts.last_event_ns - 1_000_000 * settings.keeps_tombstones_ms(unit.partition)
        self._newest: Final = np.full(self._count, -1, np.int64)
        self._may_be_newer: Final = np.zeros(self._count, np.bool_)
        for seen in seen_of(unit) if self._count else ():
            key, has_offset = seen.value % self._count, (seen.is_send | seen.is_poll) & (seen.offset >= 0)
            np.maximum.at(self._newest, key[has_offset], seen.offset[has_offset])
            self._may_be_newer[key[seen.is_send & (seen.outcome != FAIL) & (seen.offset < 0)]] = True
        if self._count:
            log = dumped_records(unit.replica_log)
            np.maximum.at(self._newest, ints(log, "value", 0) % self._count, ints(log, "offset"))

    def are_last(self, seen: Seen) -> Bools:
        """Whether micro-operations are sends of such records, without tombstones that may be gone by now."""
        are_last = self._are_last(seen)
        may_be_gone: Bools = ints(seen.table, "invoke_time") <= self._kept_since
        may_be_gone &= is_tombstone(seen.value, self._tombstones)
        return are_last & ~may_be_gone

    def are_last_tombstones(self, seen: Seen) -> Bools:
        """Whether micro-operations are sends of tombstones that are the last of their key."""
        are_they: Bools = self._are_last(seen) & is_tombstone(seen.value, self._tombstones)
        return are_they

    def _are_last(self, seen: Seen) -> Bools:
        if not self._count:
            return np.zeros(seen.table.num_rows, np.bool_)
        key = seen.value % self._count
        is_acknowledged = seen.is_send & (seen.outcome == OK) & (seen.offset >= 0)
        are_last: Bools = is_acknowledged & (self._newest[key] == seen.offset) & ~self._may_be_newer[key]
        return are_last


def seen_of(unit: PartitionTables) -> Iterator[Seen]:
    """The history of a unit, a range of rows after the other."""
    return (Seen(unit.partition, part) for _, part in unit.history.by_range("row"))


def recorded(facts: RunFacts, *kinds: str) -> bool:
    """Whether node events of these kinds were recorded in full, as far as is known."""
    if not facts.has_events:
        return False
    if facts.recorded_events is None:
        return not any(kind in facts.absent_events for kind in kinds)
    return all(kind in facts.recorded_events and kind not in facts.absent_events for kind in kinds)


@dataclass(frozen=True, slots=True)
class Appends:
    """What nodes appended, one entry an offset, by offset and then by time. ``times`` are the distinct times, each of
    which may be off by ``clock_error_ns``."""

    offset: Ints
    epoch: Ints
    times: Ints
    key: Ints
    clock_error_ns: int

    @classmethod
    def of(cls, unit: PartitionTables) -> Appends:
        """All appends of leaders among the events of ``unit``."""
        appended = of_kind(unit.events, "log-appended")
        error_ns = unit.facts.settings.largest_clock_error_ns
        return cls.among(appended.where(is_any(appended, "reason", "leader")), error_ns)

    @classmethod
    def among(cls, appended: View, clock_error_ns: int) -> Appends:
        """All of some events ``log-appended``."""
        start, end = ints(appended, "offset"), ints(appended, "end_offset")
        time = ints(appended, "time_ns")
        offset, at = expand(start, end, np.arange(len(start)))
        times = distinct(time)
        key = offset * (len(times) + 1) + np.searchsorted(times, time)[at]
        order = np.argsort(key, kind="stable")
        return cls(
            offset[order],
            ints(appended, "leader_epoch")[at][order],
            times,
            key[order],
            clock_error_ns,
        )

    def during(self, history: View, sends: Ints) -> tuple[Ints, Ints]:
        """For each of some sends with an offset: the range of entries at that offset while it may have been open."""
        return self.between(history, sends, ints(history, "invoke_time")[sends])

    def time_of(self, entry: int) -> int:
        """When an entry was appended (run time, ns)."""
        return int(self.times[self.key[entry] % (len(self.times) + 1)])

    def first_at(self, offset: Ints) -> Ints:
        """When a leader first appended at each of some offsets (run time); the last moment of all if none did."""
        place = np.searchsorted(self.offset, offset)
        return np.where(np.append(self.offset, -1)[place] == offset, self._time_of(place), np.iinfo(np.int64).max)

    def last_at(self, offset: Ints) -> Ints:
        """When one was last made at each of some offsets (run time); −1 if none was."""
        place = np.searchsorted(self.offset, offset, "right") - 1
        return np.where(np.append(self.offset, -1)[place] == offset, self._time_of(place), -1)

    def last_epoch_at(self, offset: Ints) -> Ints:
        """In which leader epoch one was last made at each of some offsets; the highest of all if none was."""
        place = np.searchsorted(self.offset, offset, "right") - 1
        there = np.append(self.offset, -1)[place] == offset
        return np.where(there, np.append(self.epoch, 0)[place], np.iinfo(np.int64).max)

    def _time_of(self, place: Ints) -> Ints:
        times: Ints = np.append(self.times, 0)[np.append(self.key, 0)[place] % (len(self.times) + 1)]
        return times

    def between(self, history: View, records: Ints, begin: Ints, until: Ints | None = None) -> tuple[Ints, Ints]:
        """For each of some records with an offset: the range of entries at that offset that may lie between ``begin``
        (ns of run time) and the end of the record's operation, or ``until`` if that is earlier."""
        at = ints(history, "offset")[records] * (len(self.times) + 1)
        error = self.clock_error_ns
        begins = np.searchsorted(self.times, begin - error, "left")
        end = ints(history, "end_time")[records]
        ends = np.searchsorted(self.times, (end if until is None else np.minimum(end, until)) + error, "right")
        return np.searchsorted(self.key, at + begins, "left"), np.searchsorted(self.key, at + ends, "left")


def expand(start: Ints, end: Ints, what: Ints) -> tuple[Ints, Ints]:
    """Ranges [start, end) offset by offset, each with what belongs to its range."""
    length = np.maximum(end - start, 0)
    where = np.repeat(np.arange(len(start)), length)
    within = np.arange(len(where)) - np.repeat(np.cumsum(length) - length, length)
    return start[where] + within, what[where]


def log_start_of(unit: PartitionTables) -> tuple[int, bool]:
    """The offset below which records may have been deleted, and whether that is certain.

    Nodes say where a log start moved. Where they do not, a consumer that was put at an offset is a witness, and only if
    the settings let old records be deleted.
    """
    if recorded(unit.facts, LOG_START_MOVED):
        moved = of_kind(unit.events, LOG_START_MOVED)
        return max(0, int(ints(moved, "end_offset").max(initial=0))), True
    deletes = unit.facts.settings.deletes(unit.partition)
    if deletes is False:
        return 0, True
    furthest = 0
    for seen in seen_of(unit):
        assigned = seen.offset[~seen.is_send & ~seen.is_poll & (seen.outcome == OK)]
        furthest = int(assigned.max(initial=furthest))
    return furthest, deletes is True
