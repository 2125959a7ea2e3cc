"""What was promised of each record that a client sent: a check may blame the log only for a promise that it broke.

* An acknowledgement of ``acks=all`` promises that the record stays at its offset. One of ``acks=1`` promises nothing
  until the record passes the high watermark. Node events show that: the leader that appended at that offset while the
  send was open says in which leader epoch, and ``batch-committed`` that a batch of that epoch passed the HW there.
* A record is promised to be there at the end unless its topic was deleted, its offset lies below the log start, or
  compaction may have removed it. How far a log start may move is for ``retention-too-greedy`` to judge.

Where settings or events that decide it were not recorded, the answer is :data:`~version_order.UNKNOWN`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np

from highwater_pipeline.checks.columns import ints, is_any, of_kind
from highwater_pipeline.checks.version_order import NO, UNKNOWN, YES, Seen
from highwater_pipeline.micro_operations import OK
from highwater_pipeline.units import RunFacts, Unit
from highwater_pipeline.view import Bools, Ints, View

LOG_START_MOVED: Final = "log-start-moved"


@dataclass(frozen=True, slots=True)
class Promises:
    """Of each micro-operation: whether the record was promised to stay where it was written (``placed``), and whether
    it was promised to be there at the end (``kept``). ``log_start``: what lies below may be gone. ``whole``: whether
    nothing above may be gone, that is, whether the log is not compacted. ``why``: why some answer is unknown."""

    placed: Ints
    kept: Ints
    log_start: int
    whole: int
    why: str

    @classmethod
    def of(cls, unit: Unit, seen: Seen, *, exists: bool) -> Promises:
        """The promises to the clients of one topic; ``exists``: it has not been deleted."""
        placed, why = _placed(unit, seen)
        kept = placed.copy() if exists else np.full_like(placed, NO)
        compacts = unit.facts.settings.compacts(unit.partition)
        whole = {False: YES, None: UNKNOWN, True: NO}[compacts]
        kept = np.minimum(kept, whole)
        log_start, certain = _log_start(unit, seen)
        # A record whose offset is not known may have stood below a log start that has moved.
        below = (seen.offset < log_start) & (log_start > 0)
        kept[below] = np.minimum(kept[below], NO if certain else UNKNOWN)
        if not why and (whole == UNKNOWN or (kept == UNKNOWN).any()):
            why = "it is not known whether old records may be deleted"
        return cls(placed, kept, log_start, whole, why)


def recorded(facts: RunFacts, *kinds: str) -> bool:
    """Whether node events of these kinds were recorded in full."""
    recorded_kinds = facts.recorded_events
    return facts.has_events and (recorded_kinds is None or all(kind in recorded_kinds for kind in kinds))


def _placed(unit: Unit, seen: Seen) -> tuple[Ints, str]:
    acks = unit.facts.settings.acks
    if acks == "all":
        return np.full(len(seen.offset), YES, np.int64), ""
    are_recorded = recorded(unit.facts, "log-appended", "batch-committed")
    placed = np.full(len(seen.offset), NO if acks is not None and are_recorded else UNKNOWN, np.int64)
    if are_recorded:
        placed[_passed_high_watermark(unit, seen)] = YES
    if acks is None:
        return placed, "it is not known which acks the producers asked for"
    if are_recorded:
        return placed, ""
    return placed, f"with acks={acks} only node events show which records passed the high watermark"


def _passed_high_watermark(unit: Unit, seen: Seen) -> Bools:
    """Sends of which every append that may be theirs, and at least one, passed a leader's HW."""
    sends = np.flatnonzero(seen.is_send & (seen.offset >= 0))
    passed = np.zeros(len(seen.offset), np.bool_)
    appends = Appends.of(unit.events)
    committed = of_kind(unit.events, "batch-committed")
    first, last = appends.during(unit.history, sends)
    if not len(appends.offset) or not committed.num_rows:
        return passed
    offsets, epochs = expand(ints(committed, "offset"), ints(committed, "end_offset"), ints(committed, "epoch"))
    top = int(max(epochs.max(), appends.epoch.max())) + 1
    is_committed = np.isin(appends.offset * top + appends.epoch, offsets * top + epochs)
    count = np.concatenate([[0], np.cumsum(is_committed)])
    passed[sends] = (last > first) & (count[last] - count[first] == last - first)
    return passed


@dataclass(frozen=True, slots=True)
class Appends:
    """What leaders appended, one entry an offset, by offset and then by time. ``times`` are the distinct times."""

    offset: Ints
    epoch: Ints
    times: Ints
    key: Ints

    @classmethod
    def of(cls, events: View) -> Appends:
        """All appends of leaders among ``events``."""
        appended = events.where(is_any(events, "kind", "log-appended") & is_any(events, "reason", "leader"))
        start, end = ints(appended, "offset"), ints(appended, "end_offset")
        time = ints(appended, "time_ns")
        offset, at = expand(start, end, np.arange(len(start)))
        times = np.unique(time)
        key = offset * (len(times) + 1) + np.searchsorted(times, time)[at]
        order = np.argsort(key, kind="stable")
        return cls(offset[order], ints(appended, "leader_epoch")[at][order], times, key[order])

    def during(self, history: View, sends: Ints) -> tuple[Ints, Ints]:
        """For each of some sends with an offset: the range of entries at that offset while the send was open."""
        at = ints(history, "offset")[sends] * (len(self.times) + 1)
        begins = np.searchsorted(self.times, ints(history, "invoke_time")[sends], "left")
        ends = np.searchsorted(self.times, ints(history, "end_time")[sends], "right")
        return np.searchsorted(self.key, at + begins, "left"), np.searchsorted(self.key, at + ends, "left")


def expand(start: Ints, end: Ints, what: Ints) -> tuple[Ints, Ints]:
    """Ranges [start, end) offset by offset, each with what belongs to its range."""
    length = np.maximum(end - start, 0)
    where = np.repeat(np.arange(len(start)), length)
    within = np.arange(len(where)) - np.repeat(np.cumsum(length) - length, length)
    return start[where] + within, what[where]


def _log_start(unit: Unit, seen: Seen) -> tuple[int, bool]:
    """The offset below which records may have been deleted, and whether that is certain.

    Nodes say where a log start moved. Where they do not, a consumer that was put at an offset is a witness, and only if
    the settings let old records be deleted.
    """
    if recorded(unit.facts, LOG_START_MOVED):
        moved = of_kind(unit.events, LOG_START_MOVED)
        return max(0, int(ints(moved, "end_offset").max(initial=0))), True
    assigned = seen.offset[~seen.is_send & ~seen.is_poll & (seen.outcome == OK)]
    deletes = unit.facts.settings.deletes(unit.partition)
    return (0, True) if deletes is False else (int(assigned.max(initial=0)), deletes is True)
