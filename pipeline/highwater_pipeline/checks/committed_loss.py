"""committed-loss: a record once below the true HW is missing from, or different on, a later leader.

Leaders say which batches passed their HW (``batch-committed``: offsets, leader epoch and CRC of the batch). Such a
batch, first committed in leader epoch L, is lost if one of these holds:

* a broker became leader in an epoch above L with a log end offset below the batch's end;
* a leader of an epoch above L committed another batch at some of its offsets;
* the dump of the last leader's log lacks some of its records, or has others there. (Offsets below its log start, or
  below the dump's first, are not judged: they have been deleted.)
* the topic was deleted, though the settings say that it may not be deleted.

Where a replica has compacted the partition, only the first counts, and an acknowledged record that is the last of its
key, and that a replica lacks whose dump reaches beyond it. Compaction keeps the offsets and removes records, each
replica at its own time: a batch may well be another one then. A tombstone may be removed after a time. It is lost if an
older record of its key is left in a log that had the tombstone: readers find what was deleted. (A replica that copied
its offset later may have got nothing there, and nothing tells it to remove the older record, as in Apache Kafka.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct, is_in
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import (
    NOTHING,
    SHOWN,
    bools,
    broker_of,
    dumped_records,
    finding,
    ints,
    is_any,
    is_compacted,
    joined,
    listing,
    of_kind,
    order_by,
    rows_of,
    who,
)
from highwater_pipeline.checks.committed_offsets import loss_by_offsets
from highwater_pipeline.checks.lineages import breaks
from highwater_pipeline.checks.log_starts import own_log_starts
from highwater_pipeline.checks.promises import NO_OFFSETS, Promised, log_start_of
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.micro_operations import OK
from highwater_pipeline.verdict import Example, Finding, judges_less


@dataclass(frozen=True, slots=True)
class _Batches:
    """Distinct committed batches by offset; ``committed_in`` is the lowest leader epoch that reported each."""

    offset: Ints
    end: Ints
    epoch: Ints
    crc: Ints
    committed_in: Ints
    position: Ints  # of that report among the batch-committed events

    @classmethod
    def of(cls, committed: View) -> _Batches:
        columns = [ints(committed, name) for name in ("offset", "end_offset", "epoch", "crc", "leader_epoch")]
        offset = columns[0]
        is_ordered = bool((offset[1:] > offset[:-1]).all())
        order = np.arange(len(offset)) if is_ordered else np.lexsort(columns[::-1])
        fresh = np.zeros(len(order), np.bool_)
        fresh[:1] = True
        for column in columns[:4]:
            fresh[1:] |= column[order][1:] != column[order][:-1]
        kept = order[fresh]
        offset, end, epoch, crc, committed_in = (column[kept] for column in columns)
        return cls(offset, end, epoch, crc, committed_in, kept)


def committed_loss(unit: PartitionTables) -> Finding:
    """Counts lost records; an example is a batch of them."""
    if judges_less("committed-loss", unit.facts):
        return loss_by_offsets(unit)
    committed = of_kind(unit.events, "batch-committed")
    if committed.num_rows == 0:
        return NOTHING
    batches = _Batches.of(committed)
    leaders = of_kind(unit.events, "became-leader")
    dump = _last_leaders_dump(leaders, unit)
    short = _lacked_by_a_leader(batches, leaders)
    count_of = batches.end - batches.offset
    cleaned = _cleaned_away(unit) if is_compacted(unit) else None
    if cleaned is not None:
        replaced_in = np.full(len(short), -1, np.int64)
        few = np.searchsorted(cleaned.offset, batches.end) - np.searchsorted(cleaned.offset, batches.offset)
        count_of, gone = np.where(short, count_of, few), few > 0
    else:
        replaced_in, gone = _replaced_in(batches, committed), _lacked_by_dump(batches, dump)
    deleted = _deleted(unit)
    if deleted is not None:
        gone = np.zeros(len(short), np.bool_)  # brokers that were away keep what is left of a deleted topic
    deletion = deleted if unit.facts.settings.deletes_topic(unit.partition) is False else None
    lost = np.flatnonzero(short | (replaced_in >= 0) | gone | (deletion is not None))
    if deletion is not None:
        count_of = batches.end - batches.offset
    count = int(count_of[lost].sum())

    def examples() -> Iterator[Example]:
        for batch in lost.tolist():
            report = committed.row(int(batches.position[batch]))
            if short[batch]:
                later, row, fate = _short_leader(batches, batch, leaders)
                proof = rows_of("node_event", [report["row"], row])
            elif replaced_in[batch] >= 0:
                later, row, fate = _other_batch(batches, batch, committed, int(replaced_in[batch]))
                proof = rows_of("node_event", [report["row"], row])
            elif deletion is not None:
                later = {"node": deletion["node"], "topic_id": deletion["topic_id"]}
                fate = f"but {deletion['node']} reported that the topic was deleted, which no client had requested"
                proof = rows_of("node_event", [report["row"], deletion["row"]])
            elif cleaned is not None:
                later, fate = cleaned.example(int(batches.offset[batch]))
                proof = rows_of("node_event", [report["row"]])
            else:
                assert dump is not None
                later, dumped, fate = _dump_differs(unit, batches, batch, leaders, dump)
                proof = rows_of("node_event", [report["row"]]) + rows_of("replica_log", dumped)
            yield _example(unit, batches, batch, report, later, proof, fate)

    return finding(count, examples())


@dataclass(frozen=True, slots=True)
class _Cleaned:
    """Offsets, ascending, of promised records that are the last of their keys, each with the lowest broker whose log
    reaches beyond it without having it."""

    offset: Ints
    broker: Ints
    back: dict[int, int]
    """Of tombstones among them that may have been removed: an older record of the key, which is left."""

    def example(self, start: int) -> tuple[Example, str]:
        """Of the first such record from ``start`` on."""
        at = int(np.searchsorted(self.offset, start))
        offset, node = int(self.offset[at]), f"broker-{self.broker[at]}"
        fate = f"but the log of {node} lacks record {offset} at the end of the run, though it is the last of its key"
        if offset in self.back:
            fate = (
                f"but the log of {node} lacks tombstone {offset} at the end of the run, and still has record"
                f" {self.back[offset]} of its key"
            )
        return {"node": node, "offset": offset}, fate


def _cleaned_away(unit: PartitionTables) -> _Cleaned:
    """A replica keeps the last record of each key as far as its log goes. One that could not be read is not judged."""
    _, is_certain = log_start_of(unit)
    if not is_certain or _has_a_past(unit):
        return _Cleaned(NO_OFFSETS, NO_OFFSETS, {})
    promised = Promised(unit, exists=True)
    must_stay, tombstones = promised.kept_by_compaction(), promised.tombstones()
    gone: dict[int, int] = {}
    back: dict[int, int] = {}
    marks, log = unit.replica_log.where(unit.replica_log.is_known("ended")), dumped_records(unit.replica_log)
    damaged = distinct(ints(marks.where(~is_any(marks, "ended", "end")), "broker"))
    lacking = np.full(len(must_stay), -1, np.int64)
    for broker in distinct(np.concatenate([ints(log, "broker"), ints(marks, "broker")]))[::-1]:
        if broker not in damaged:
            mine = log.where(ints(log, "broker") == broker)
            own = ints(mine, "offset")
            end = max(own.max(initial=-1) + 1, ints(marks, "offset")[ints(marks, "broker") == broker].max(initial=0))
            lacking[(must_stay < end) & ~is_in(must_stay, own)] = broker
            left = _left(unit, mine, [one for one in tombstones if one[0] < end], int(broker))
            back.update(left)
            gone.update(dict.fromkeys(left, int(broker)))
    gone.update(zip(must_stay[lacking >= 0].tolist(), lacking[lacking >= 0].tolist(), strict=True))
    offsets = np.array(sorted(gone), np.int64)
    return _Cleaned(offsets, np.array([gone[one] for one in offsets.tolist()], np.int64), back)


def _left(unit: PartitionTables, log: View, tombstones: list[tuple[int, int, int]], broker: int) -> dict[int, int]:
    """Of tombstones that a log lacks: an older record of the key that it has, if it had copied the tombstone itself."""
    count = unit.facts.settings.keys or 1
    offset, key = ints(log, "offset"), ints(log, "value", 0) % count
    appended = of_kind(unit.events, "log-appended")
    appended = appended.where(is_any(appended, "node", f"broker-{broker}"))
    start, end, time = (ints(appended, name) for name in ("offset", "end_offset", "time_ns"))
    error = unit.facts.settings.largest_clock_error_ns
    there = set(offset.tolist())
    left: dict[int, int] = {}
    for at, value, until in tombstones:
        older = offset[(key == value % count) & (offset < at)] if at not in there else NO_OFFSETS
        copied = time[(start <= at) & (end > at)]
        if len(older) and len(copied) and int(copied.max()) + error < until:
            left[at] = int(older.max())
    return left


def _has_a_past(unit: PartitionTables) -> bool:
    """Whether the history may have sends to another topic of the name, or to a former lineage: offsets of such records
    say nothing of this log."""
    sent = unit.history.where(bools(unit.history, "is_send"))
    states = of_kind(unit.events, "partition-changed")
    created = ints(states.where(is_any(states, "reason", "created")), "time_ns")
    is_later = bool(len(created) and sent.num_rows and ints(sent, "invoke_time").min() < created.min())
    return is_later or bool(breaks(unit))


def _deleted(unit: PartitionTables) -> Example | None:
    """Return the report that the topic was deleted, or None."""
    states = of_kind(unit.events, "partition-changed")
    deleted: list[Example] = states.where(is_any(states, "reason", "deleted")).slice(0, 1).to_pylist()
    return deleted[0] if deleted else None


def _lacked_by_a_leader(batches: _Batches, leaders: View) -> Bools:
    if leaders.num_rows == 0:
        return np.zeros(len(batches.offset), np.bool_)
    epoch, leo = ints(leaders, "leader_epoch"), ints(leaders, "end_offset")
    order = np.argsort(epoch, kind="stable")
    # Lowest LEO with which a replica from here on became leader; none after the last.
    lowest = np.append(np.minimum.accumulate(leo[order][::-1])[::-1], np.iinfo(np.int64).max)
    short: Bools = batches.end > lowest[np.searchsorted(epoch[order], batches.committed_in, side="right")]
    return short


def _replaced_in(batches: _Batches, committed: View) -> Ints:
    """For every batch: the first later leader epoch that committed something else at its offsets; −1 if none did."""
    offset, end = ints(committed, "offset"), ints(committed, "end_offset")
    epoch, crc, leader_epoch = ints(committed, "epoch"), ints(committed, "crc"), ints(committed, "leader_epoch")
    replaced = np.full(len(batches.offset), -1, np.int64)
    levels = distinct(leader_epoch)
    for level in levels[levels > batches.committed_in.min()]:
        of_level = np.flatnonzero(leader_epoch == level)
        columns = [column[of_level] for column in (crc, epoch, end, offset)]
        order = np.lexsort(columns)
        # A leader that comes back in its epoch, as it may in ZooKeeper mode, commits the same batch again.
        fresh = np.ones(len(order), np.bool_)
        fresh[1:] = np.logical_or.reduce([column[order][1:] != column[order][:-1] for column in columns])
        of_level = of_level[order[fresh]]
        starts, ends = offset[of_level], np.maximum.accumulate(end[of_level])
        # Batches that began before the level's last end, and below it in epoch: few, since levels follow each other.
        upto = int(np.searchsorted(batches.offset, ends[-1]))
        which = np.flatnonzero((batches.end[:upto] > starts[0]) & (batches.committed_in[:upto] < level))
        first = np.searchsorted(ends, batches.offset[which], side="right")
        last = np.searchsorted(starts, batches.end[which], side="left")
        there = of_level[np.minimum(first, len(of_level) - 1)]
        same = (
            (last - first == 1)
            & (offset[there] == batches.offset[which])
            & (end[there] == batches.end[which])
            & (epoch[there] == batches.epoch[which])
            & (crc[there] == batches.crc[which])
        )
        other = which[(last > first) & ~same & (replaced[which] < 0)]
        replaced[other] = level
    return replaced


@dataclass(frozen=True, slots=True)
class _Dump:
    """The last leader's log, by offset, as runs of records without a gap that have one epoch and one CRC. ``before``:
    how many records come before a run; ``changes``: how often epoch or CRC have changed up to it. ``log_start``: the
    last one that the broker reported."""

    broker: int
    log_start: int
    start: Ints
    end: Ints
    epoch: Ints
    crc: Ints
    before: Ints
    changes: Ints

    def records_below(self, offset: Ints) -> Ints:
        """How many records there are below each offset."""
        run = np.searchsorted(self.start, offset) - 1
        within = np.minimum(self.end[run], offset) - self.start[run]
        return np.where(run >= 0, self.before[run] + within, 0)

    def run_of(self, record: Ints) -> Ints:
        """The run that each record is in; records are counted from 0, and the last stands for those behind it."""
        run: Ints = np.searchsorted(self.before, record, "right") - 1
        return run


@dataclass(frozen=True, slots=True)
class _Runs:
    """Runs of records: offsets [start, end), one epoch, one CRC."""

    start: Ints
    end: Ints
    epoch: Ints
    crc: Ints


def _last_leaders_dump(leaders: View, unit: PartitionTables) -> _Dump | None:
    if leaders.num_rows == 0 or unit.replica_log.num_rows == 0:
        return None
    broker = broker_of(leaders.row(_last_leader(leaders), "node")["node"])
    # A batch may lie in two ranges of offsets.
    runs = [_runs_of(part, broker) for _, part in unit.replica_log.by_range("offset")]
    if not sum(len(one.start) for one in runs):
        return None  # no dump, or an empty log: then it became leader with too low an end offset, which is seen already
    run = joined(runs)
    changed = (run.epoch[1:] != run.epoch[:-1]) | (run.crc[1:] != run.crc[:-1])
    length = run.end - run.start
    return _Dump(
        broker,
        own_log_starts(unit.events).get(broker, 0),
        run.start,
        run.end,
        run.epoch,
        run.crc,
        np.cumsum(length) - length,
        np.concatenate([[0], np.cumsum(changed)]),
    )


def _runs_of(part: View, broker: int) -> _Runs:
    mine = dumped_records(part)
    mine = mine.where(ints(mine, "broker") == broker)
    order = order_by(ints(mine, "offset"))
    offset, epoch, crc = (ints(mine, name)[order] for name in ("offset", "leader_epoch", "crc"))
    begins = np.ones(len(order), np.bool_)
    begins[1:] = (offset[1:] != offset[:-1] + 1) | (epoch[1:] != epoch[:-1]) | (crc[1:] != crc[:-1])
    ends = np.append(begins[1:], True)[: len(order)]
    return _Runs(offset[begins], offset[ends] + 1, epoch[begins], crc[begins])


def _last_leader(leaders: View) -> int:
    epoch = ints(leaders, "leader_epoch")
    return int(np.flatnonzero(epoch == epoch.max())[-1])


def _lacked_by_dump(batches: _Batches, dump: _Dump | None) -> Bools:
    if dump is None:
        return np.zeros(len(batches.offset), np.bool_)
    start = np.maximum(batches.offset, max(dump.start[0], dump.log_start))
    low, high = dump.records_below(start), dump.records_below(batches.end)
    first, last = dump.run_of(low), dump.run_of(np.maximum(high - 1, 0))
    whole: Bools = (
        (high - low == batches.end - start)
        & (dump.epoch[first] == batches.epoch)
        & (dump.crc[first] == batches.crc)
        & (dump.changes[first] == dump.changes[last])
    )
    lacking: Bools = (batches.end > start) & ~whole
    return lacking


# --- examples -------------------------------------------------------------------------------------------------------


def _short_leader(batches: _Batches, batch: int, leaders: View) -> tuple[Example, int, str]:
    epoch, leo = ints(leaders, "leader_epoch"), ints(leaders, "end_offset")
    without = np.flatnonzero((epoch > batches.committed_in[batch]) & (leo < batches.end[batch]))
    leader = leaders.row(int(without[np.argmin(epoch[without])]))
    later = {key: leader[key] for key in ("node", "leader_epoch", "end_offset")}
    fate = (
        f"but {leader['node']} became leader in epoch {leader['leader_epoch']}"
        f" with log end offset {leader['end_offset']}: gone"
    )
    return later, leader["row"], fate


def _other_batch(batches: _Batches, batch: int, committed: View, level: int) -> tuple[Example, int, str]:
    there = (
        (ints(committed, "leader_epoch") == level)
        & (ints(committed, "offset") < batches.end[batch])
        & (ints(committed, "end_offset") > batches.offset[batch])
    )
    other = committed.row(int(np.argmax(there)))
    later = {key: other[key] for key in ("node", "leader_epoch", "offset", "end_offset", "epoch", "crc")}
    fate = (
        f"but {other['node']} committed another batch (epoch {other['epoch']}) at offset {other['offset']}"
        f" in leader epoch {level}"
    )
    return later, other["row"], fate


def _dump_differs(
    unit: PartitionTables, batches: _Batches, batch: int, leaders: View, dump: _Dump
) -> tuple[Example, list[int], str]:
    leader = leaders.row(_last_leader(leaders))
    there = _dumped(unit, int(batches.offset[batch]), int(batches.end[batch]))
    there = there.where(ints(there, "broker") == dump.broker)
    rows = ints(there, "row")[order_by(ints(there, "offset"))]
    later: Example = {key: leader[key] for key in ("node", "leader_epoch")}
    later["dumped_records"] = len(rows)
    what = "holds other records there" if len(rows) else f"ends at offset {int(dump.end[-1])}"
    fate = f"but the log of {leader['node']}, the last leader, {what} at the end of the run"
    return later, rows[:SHOWN].tolist(), fate


def _dumped(unit: PartitionTables, offset: int, end: int) -> View:
    """The records of all replicas' dumps in [offset, end)."""
    return dumped_records(unit.replica_log.find("offset", lambda at: (at >= offset) & (at < end)))


def _example(
    unit: PartitionTables,
    batches: _Batches,
    batch: int,
    report: Example,
    later: Example,
    proof: list[Example],
    fate: str,
) -> Example:
    offset, end = int(batches.offset[batch]), int(batches.end[batch])
    values, writers, sends = _written(unit, offset, end, report)
    values = sorted({*values, *_dumped_values(unit, batches, batch)})
    named = f" ({'value' if len(values) == 1 else 'values'} {listing(values)}" if values else ""
    if writers:
        named += f"; acknowledged to {listing(writers)}"
    named += ")" if named else ""
    which = f"Record {offset}" if end == offset + 1 else f"Records {offset} to {end - 1}"
    return {
        "partition": unit.partition,
        "offset": offset,
        "end_offset": end,
        "epoch": int(batches.epoch[batch]),
        "crc": int(batches.crc[batch]),
        "values": values[:SHOWN],
        "committed": {"node": report["node"], "leader_epoch": report["leader_epoch"]},
        "later": later,
        "rows": proof + rows_of("operations", sends[:SHOWN]),
        "story": (
            f"{which} of {unit.partition}{named} passed the high watermark of {report['node']}"
            f" in leader epoch {report['leader_epoch']}, {fate}."
        ),
    }


def _written(unit: PartitionTables, offset: int, end: int, report: Example) -> tuple[list[int], list[str], list[int]]:
    """Return values that were acknowledged in [offset, end), the clients that got the acknowledgements, and the rows.
    Leaves out a send that began after the batch was committed: its records replaced the lost ones."""
    there = unit.history.find("offset", lambda at: (at >= offset) & (at < end))
    committed_ns = report["time_ns"] + unit.facts.settings.clock_error_ns(report["node"])
    acknowledged = bools(there, "is_send") & (ints(there, "outcome") == OK)
    acknowledged &= ints(there, "invoke_time") <= committed_ns
    found = there.where(acknowledged).slice(0, SHOWN).to_pylist()
    clients = dict.fromkeys(who(row) for row in found)
    return [row["value"] for row in found], list(clients), [row["row"] for row in found]


def _dumped_values(unit: PartitionTables, batches: _Batches, batch: int) -> list[int]:
    """Values of the batch's records in any replica's dump."""
    log = _dumped(unit, int(batches.offset[batch]), int(batches.end[batch]))
    is_it = (ints(log, "crc") == batches.crc[batch]) & (ints(log, "leader_epoch") == batches.epoch[batch])
    return list(dict.fromkeys(value for value in log.where(is_it).values("value") if value is not None))
