"""divergence: two replicas differ at an offset below both their HWs; silently, at equal (offset, epoch); or below a
record that they share.

Judged by the dumps of all replicas at the end of a run, with what events and clients say of them. Replicas may differ
*above* their HWs: a broker that was cut off or is down still has records that the others never got. So the HW of each
replica counts: for members of the last committed ISR, that of the last leader; for others, the last one that they
reported (as leader, or when they became leader or follower). Where nodes do not report high watermarks, what clients
read and what was acknowledged with acks=all counts for members of the last ISR. Nothing is promised below the latest
log start that a replica had (:mod:`highwater_pipeline.checks.log_starts`).

Two rules need no HW:

* At equal offset and leader epoch replicas must never differ.
* A follower appends a leader's records only behind what both have. So replicas that hold the same record at one offset
  hold the same records before it, from the log start on. One that lacks a record of another's there, within its
  own log, has a hole.

Records differ by their values and by the CRCs of their batches. If a replica has compacted the partition, the CRCs do
not count, nor does a record that is missing: a batch that has lost some of its records is another one. Where nodes do
not report that they compact, the settings say whether they may; then a record that is missing counts if compaction must
keep it (``checks.promises``), for ``committed-loss`` cannot be judged there. A hole that the dump itself names
(``gap``, ``corrupt``) is for ``replica-incomplete``.

If replicas differ and it is not known whether they may, the answer is unknown. If they do not, no event is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final

import numpy as np
import numpy.typing as npt

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct, distinct_first, is_in
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import (
    NOTHING,
    Numbering,
    broker_of,
    codes,
    dumped_records,
    finding,
    ints,
    is_compacted,
    listing,
    of_kind,
    rows_of,
)
from highwater_pipeline.checks.committed_bound import committed_bound
from highwater_pipeline.checks.leadership import committed_states
from highwater_pipeline.checks.log_starts import latest_log_start
from highwater_pipeline.checks.promises import NO_OFFSETS, Promised, recorded
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.settings import INTERNAL_TOPICS
from highwater_pipeline.verdict import MAX_EXAMPLES, Example, Finding, together

NO_VALUE: Final = int(np.iinfo(np.int64).min)
NO_END: Final = int(np.iinfo(np.int64).max)
_REPORTS: Final = ("high-watermark", "became-leader", "became-follower")


def divergence(unit: PartitionTables) -> Finding:
    """Counts offsets at which replicas differ. Offsets are looked at range by range."""
    if unit.replica_log.num_rows == 0:
        return NOTHING
    spans = _Spans()
    differ = False
    for _, part in unit.replica_log.by_range("offset"):
        records = dumped_records(part)
        offset = ints(records, "offset")
        spans.add(part, records, offset)
        unlike = _unlike(offset)
        differ = differ or any(unlike(ints(records, name, NO_VALUE)).any() for name in ("leader_epoch", "value", "crc"))
    if not differ and spans.are_whole:
        return NOTHING
    replicas = _Replicas.of(unit, spans)
    for _, part in unit.replica_log.by_range("offset"):
        replicas.agree(_Records.of(part, replicas.compares_crc))
    return together([NOTHING, *(_of_offsets(unit, replicas, part) for _, part in unit.replica_log.by_range("offset"))])


class _Spans:
    """Where each replica's log begins and ends, by its records and marks, and where the marks say it is damaged."""

    def __init__(self) -> None:
        self.first: dict[int, int] = {}
        self.end: dict[int, int] = {}
        self.damage: dict[int, list[int]] = {}
        self._records: dict[int, int] = {}

    def add(self, part: View, records: View, offset: Ints) -> None:
        """Take the next range of offsets; ``records``: its rows that are no marks."""
        broker = ints(records, "broker")
        for one in distinct(broker).tolist():
            mine = offset[broker == one]
            self._extend(one, int(mine.min()), int(mine.max()) + 1)
            self._records[one] = self._records.get(one, 0) + len(distinct(mine))
        if records.num_rows == part.num_rows:
            return
        for mark in part.where(part.is_known("ended")).to_pylist("broker", "ended", "offset", "start_offset"):
            if mark["ended"] == "end":
                first = mark["offset"] if mark["start_offset"] is None else mark["start_offset"]
                self._extend(mark["broker"], first, mark["offset"])
            else:
                self.damage.setdefault(mark["broker"], []).append(mark["offset"])

    def _extend(self, broker: int, first: int, end: int) -> None:
        self.first[broker] = min(first, self.first.get(broker, first))
        self.end[broker] = max(end, self.end.get(broker, end))

    @property
    def are_whole(self) -> bool:
        """Whether every replica has a record at each offset of its log."""
        return all(self._records.get(one, 0) == self.end[one] - self.first[one] for one in self.first)


@dataclass(frozen=True, slots=True)
class _Records:
    """Records of some offsets, by broker: the offset of each, and its content as rows of numbers."""

    offset: dict[int, Ints]
    content: dict[int, npt.NDArray[np.int64]]

    @classmethod
    def of(cls, part: View, compares_crc: bool) -> _Records:
        records = dumped_records(part)
        names = ("leader_epoch", "value", "crc") if compares_crc else ("leader_epoch", "value")
        broker, offset = ints(records, "broker"), ints(records, "offset")
        content = np.stack([ints(records, name, NO_VALUE) for name in names], axis=1)
        found, rows = {}, {}
        for one in distinct(broker).tolist():
            mine = np.flatnonzero(broker == one)
            found[one], first = distinct_first(offset[mine])
            rows[one] = content[mine[first]]
        return cls(found, rows)

    def of_both(self, one: int, other: int) -> tuple[Ints, Bools]:
        """The offsets that two brokers have, and whether their records are the same there."""
        common, theirs = self.offset[one], self.offset[other]
        content, their_content = self.content[one], self.content[other]
        if not np.array_equal(common, theirs):
            common, at, at_other = np.intersect1d(common, theirs, assume_unique=True, return_indices=True)
            content, their_content = content[at], their_content[at_other]
        same: Bools = (content == their_content).all(axis=1)
        return common, same


@dataclass(frozen=True, slots=True)
class _Replicas:
    """What is known of the replicas: HWs (that of the last leader counts for members of the last ISR), log starts, and
    for each two brokers the highest offset at which they hold the same record.

    ``knows_isr``, ``knows_watermarks``: whether nodes reported them in full. ``start`` None: it is not known which
    records may be below a log start. ``compares_crc``: whether no replica can have compacted the partition;
    ``may_be_compacted``: that this is not known. ``must_keep``: the offsets that compaction must keep, where nodes do
    not report it.
    """

    final: int
    last_isr: list[int]
    own: dict[int, int]
    start: int | None
    spans: _Spans
    compares_crc: bool
    may_be_compacted: bool
    must_keep: Ints
    knows_isr: bool
    knows_watermarks: bool
    agreed: dict[tuple[int, int], int] = field(default_factory=dict)

    @classmethod
    def of(cls, unit: PartitionTables, spans: _Spans) -> _Replicas:
        knows_isr = recorded(unit.facts, "partition-changed")
        knows = knows_isr and recorded(unit.facts, *_REPORTS)
        states = committed_states(unit.events) if knows_isr else None
        last_isr: list[int] = states.row(-1, "isr")["isr"] if states is not None and states.num_rows else []
        final, own = _own_high_watermarks(unit.events) if knows else (committed_bound(unit), {})
        must_keep = NO_OFFSETS
        if recorded(unit.facts, "transition"):
            compacted: bool | None = is_compacted(unit)
        elif unit.partition.rpartition("-")[0] in INTERNAL_TOPICS:
            compacted = None
        elif compacted := unit.facts.settings.compacts(unit.partition):
            must_keep = Promised(unit, exists=True).kept_by_compaction()
        return cls(
            final,
            last_isr,
            own,
            latest_log_start(unit),
            spans,
            compares_crc=compacted is False,
            may_be_compacted=compacted is None,
            must_keep=must_keep,
            knows_isr=knows_isr,
            knows_watermarks=knows,
        )

    def high_watermark(self, broker: int) -> int:
        """The HW that a broker's replica had at the end, as far as it is known; 0 if it is not."""
        return self.final if broker in self.last_isr else self.own.get(broker, 0)

    def agree(self, records: _Records) -> None:
        """Take the next range of offsets, of which some may be those at which two replicas agree."""
        for pair in combinations(sorted(records.offset), 2):
            common, same = records.of_both(*pair)
            if same.any():
                self.agreed[pair] = max(int(common[same].max()), self.agreed.get(pair, -1))

    def why_unknown(self) -> str:
        """Why it is not known whether replicas may differ."""
        if self.start is None:
            return "it is not known which records are below a log start"
        if self.may_be_compacted:
            return "it is not known whether a replica has compacted the partition"
        return "it is not known up to where each replica's records were committed"


def _below(replicas: _Replicas, records: _Records) -> tuple[Ints, Ints]:
    """Offsets at which two replicas differ, or one has nothing, though they may not: they hold the same record at a
    higher one, or both are in the last ISR and the offset is below the HW. And those at which it is not known."""
    wrong, unknown = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for pair in combinations(sorted(replicas.spans.first), 2):
        start = max(replicas.start or 0, *(replicas.spans.first[one] for one in pair))
        end = min(replicas.spans.end[one] for one in pair)
        of_one, of_other = (records.offset.get(one, np.empty(0, np.int64)) for one in pair)
        common, same = records.of_both(*pair) if len(of_one) and len(of_other) else (of_one[:0], np.empty(0, np.bool_))
        differ = common[~same]
        lacking = [_lacked(has, lacks, who, replicas.spans) for has, lacks, who in
                   ((of_one, of_other, pair[1]), (of_other, of_one, pair[0]))]  # fmt: skip
        if not (replicas.compares_crc or replicas.may_be_compacted):
            lacking = [offsets[is_in(offsets, replicas.must_keep)] for offsets in lacking]
        differ = np.concatenate([differ, *lacking])
        differ = differ[(differ >= start) & (differ < end)]
        both_in_isr = all(one in replicas.last_isr for one in pair)
        watermark = min(replicas.high_watermark(one) for one in pair) if both_in_isr else 0
        may_not = differ < max(watermark, replicas.agreed.get(pair, -1))
        is_certain = replicas.start is not None and not replicas.may_be_compacted
        (wrong if is_certain else unknown).append(differ[may_not])
        if not replicas.knows_watermarks and (both_in_isr or not replicas.knows_isr):
            unknown.append(differ[~may_not])
    return distinct(np.concatenate(wrong)), distinct(np.concatenate(unknown))


def _lacked(has: Ints, lacks: Ints, broker: int, spans: _Spans) -> Ints:
    """The offsets of ``has`` that are not in ``lacks``, of ``broker``, and that no damage in its dump explains."""
    missing = has[~is_in(has, lacks)]
    for damaged in spans.damage.get(broker, ()):
        behind = lacks[np.searchsorted(lacks, damaged) :]
        until = int(behind[0]) if len(behind) else NO_END
        missing = missing[(missing < damaged) | (missing >= until)]
    return missing


def _of_offsets(unit: PartitionTables, replicas: _Replicas, part: View) -> Finding:
    """The finding on all records of some offsets."""
    records = _Records.of(part, replicas.compares_crc)
    below_all, unknown = _below(replicas, records)
    log = dumped_records(part)
    broker, offset = ints(log, "broker"), ints(log, "offset")
    epoch, crc, value = ints(log, "leader_epoch"), ints(log, "crc"), ints(log, "value", NO_VALUE)
    brokers = distinct(broker)
    watermark = {one: replicas.high_watermark(one) for one in brokers.tolist()}
    which = np.searchsorted(brokers, broker)
    below = offset < np.array([watermark[int(b)] for b in brokers], np.int64)[which]
    below &= offset >= (replicas.start or 0)

    content = (crc, value) if replicas.compares_crc else (value,)
    loud = _differing(below & (replicas.start is not None), (offset,), (epoch, *content))
    silent = _differing(np.ones(len(offset), np.bool_), (offset, epoch), content)
    silent_offsets = distinct(offset[silent])
    loud_offsets = distinct(offset[loud])
    offsets = distinct(np.concatenate([loud_offsets, silent_offsets, below_all]))

    def examples() -> Iterator[Example]:
        shown = offsets[:MAX_EXAMPLES]
        rows = log.where(is_in(offset, shown)).to_pylist("offset", "broker", "leader_epoch", "crc", "value", "row")
        for at in shown.tolist():
            found = sorted((row for row in rows if row["offset"] == at), key=lambda row: row["broker"])
            is_silent = at in silent_offsets
            if is_silent:
                why = "at equal offset and leader epoch"
            elif at in loud_offsets:
                why = "below both their high watermarks"
            else:
                why = "below what they share or was committed"
            held = [f"broker {row['broker']} holds {row['value']} of epoch {row['leader_epoch']}" for row in found]
            there = {row["broker"] for row in found}
            held += [
                f"broker {one} holds nothing"
                for one in sorted(replicas.spans.first)
                if one not in there and replicas.spans.first[one] <= at < replicas.spans.end[one]
            ]
            yield {
                "partition": unit.partition,
                "offset": at,
                "silent": is_silent,
                "replicas": [
                    {key: row[key] for key in ("broker", "leader_epoch", "crc", "value")}
                    | {"high_watermark": watermark[row["broker"]]}
                    for row in found
                ],
                "rows": rows_of("replica_log", (row["row"] for row in found)),
                "story": f"At offset {at} of {unit.partition} replicas differ {why}: {listing(held)}.",
            }

    certain = finding(len(offsets), examples())
    perhaps = int((~is_in(unknown, offsets)).sum())
    return Finding(certain.count, certain.examples, perhaps, replicas.why_unknown() if perhaps else "")


def _unlike(offset: Ints) -> Callable[[Ints], Bools]:
    """Returns what says of a column which of its rows differ from another at their offset (not of all such rows).

    A dump has one replica after the other, and a replica's offsets ascend. If all replicas have the same offsets, their
    rows are compared one by one.
    """
    ends = np.append(np.flatnonzero(offset[1:] <= offset[:-1]) + 1, len(offset))
    replicas = offset.reshape(len(ends), -1) if (np.diff(ends, prepend=0) == ends[0]).all() else None
    if replicas is None or not (replicas == replicas[0]).all():
        return Numbering.of(offset).unlike

    def unlike(column: Ints) -> Bools:
        of_replicas = column.reshape(replicas.shape)
        found: Bools = (of_replicas != of_replicas[0]).ravel()
        return found

    return unlike


def _differing(among: Bools, keys: tuple[Ints, ...], parts: tuple[Ints, ...]) -> Ints:
    """Positions (one or more a group) of records of ``among`` that share all keys with another, but not every part."""
    which = np.flatnonzero(among)
    order = which[np.lexsort(tuple(key[which] for key in reversed(keys)))]
    together = np.ones(max(len(order) - 1, 0), np.bool_)
    for key in keys:
        together &= key[order][1:] == key[order][:-1]
    other = np.zeros(len(together), np.bool_)
    for part in parts:
        other |= part[order][1:] != part[order][:-1]
    found: Ints = order[1:][together & other]
    return found


def _own_high_watermarks(events: View) -> tuple[int, dict[int, int]]:
    """The HW of the last leader, and the last HW that each broker reported."""
    moved = of_kind(events, "high-watermark")
    final = 0
    if moved.num_rows:
        epoch = ints(moved, "leader_epoch")
        final = int(ints(moved, "offset")[epoch == epoch.max()][-1])
    reports = of_kind(events, *_REPORTS)
    node, names = codes(reports, "node")
    last = np.zeros(len(names), np.int64)
    np.maximum.at(last, node, np.arange(len(node)))
    own = {broker_of(name): int(offset) for name, offset in zip(names, ints(reports, "offset")[last], strict=True)}
    return final, own
