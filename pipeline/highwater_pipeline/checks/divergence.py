"""divergence: two replicas differ at an offset below both their HWs; or silently, at equal offset and leader epoch.

Judged by the dumps of all replicas at the end of a run. Replicas may differ *above* their HWs: a broker that was cut
off or is down still has records that the others never got. So the HW of each replica counts: for members of the last
committed ISR, that of the last leader; for others, the last one that they reported (as leader, or when they became
leader or follower). No client can read records below a replica's log start; they stay on the disk until their segment
is deleted. (After DeleteRecords a leader has no epochs that ended below the log start. A follower may then keep other
records there.) At equal offset and leader epoch replicas must never differ.

Records differ by their values and by the CRCs of their batches. If a replica has compacted the partition, the CRCs do
not count: a batch that has lost some of its records is another one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from highwater_pipeline.arrays import Bools, Ints
from highwater_pipeline.checks.columns import (
    NOTHING,
    Numbering,
    broker_of,
    codes,
    distinct,
    dumped_records,
    finding,
    ints,
    is_compacted,
    listing,
    of_kind,
    rows_of,
)
from highwater_pipeline.checks.leadership import committed_states
from highwater_pipeline.checks.log_starts import own_log_starts
from highwater_pipeline.judgement import MAX_EXAMPLES, Example, Finding, together
from highwater_pipeline.units import Unit
from highwater_pipeline.view import View

NO_VALUE: Final = int(np.iinfo(np.int64).min)


def divergence(unit: Unit) -> Finding:
    """Counts offsets at which replicas differ. Offsets are looked at range by range."""
    if unit.replica_log.num_rows == 0:
        return NOTHING
    replicas = _Replicas.of(unit.events)
    parts = (dumped_records(part) for _, part in unit.replica_log.by_range("offset"))
    return together([NOTHING, *(_of_offsets(unit, replicas, part) for part in parts)])


@dataclass(frozen=True, slots=True)
class _Replicas:
    """What brokers reported of their replicas: HWs (that of the last leader counts for members of the last ISR), and
    log starts."""

    final: int
    last_isr: list[int]
    own: dict[int, int]
    start: dict[int, int]
    compacted: bool

    @classmethod
    def of(cls, events: View) -> _Replicas:
        final, last_isr, own = _own_high_watermarks(events)
        return cls(final, last_isr, own, own_log_starts(events), is_compacted(events))

    def high_watermark(self, broker: int) -> int:
        """The HW that a broker's replica had at the end, as far as it is known; 0 if it is not."""
        return self.final if broker in self.last_isr else self.own.get(broker, 0)


def _of_offsets(unit: Unit, replicas: _Replicas, log: View) -> Finding:
    """The finding on all records of some offsets."""
    offset = ints(log, "offset")
    names = ["leader_epoch", "value"] if replicas.compacted else ["leader_epoch", "value", "crc"]
    unlike = _unlike(offset)
    differ = np.zeros(len(offset), np.bool_)
    for name in names:
        differ |= unlike(ints(log, name, NO_VALUE))
    if not differ.any():
        return NOTHING
    log = log.where(np.isin(offset, offset[differ]))
    broker, offset = ints(log, "broker"), ints(log, "offset")
    epoch, crc, value = ints(log, "leader_epoch"), ints(log, "crc"), ints(log, "value", NO_VALUE)
    brokers = distinct(broker)
    watermark = {one: replicas.high_watermark(one) for one in brokers.tolist()}
    which = np.searchsorted(brokers, broker)
    below = offset < np.array([watermark[int(b)] for b in brokers])[which]
    below &= offset >= np.array([replicas.start.get(int(b), 0) for b in brokers])[which]

    content = (value,) if replicas.compacted else (crc, value)
    loud = _differing(below, (offset,), (epoch, *content))
    silent = _differing(np.ones(len(offset), np.bool_), (offset, epoch), content)
    silent_offsets = distinct(offset[silent])
    offsets = distinct(np.concatenate([offset[loud], silent_offsets]))

    def examples() -> Iterator[Example]:
        shown = offsets[:MAX_EXAMPLES]
        records = log.where(np.isin(offset, shown)).to_pylist("offset", "broker", "leader_epoch", "crc", "value", "row")
        for at in shown.tolist():
            found = sorted((row for row in records if row["offset"] == at), key=lambda row: row["broker"])
            is_silent = bool(np.isin(at, silent_offsets))
            why = "at equal offset and leader epoch" if is_silent else "below both their high watermarks"
            held = [f"broker {row['broker']} holds {row['value']} of epoch {row['leader_epoch']}" for row in found]
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

    return finding(len(offsets), examples())


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


def _own_high_watermarks(events: View) -> tuple[int, list[int], dict[int, int]]:
    """The HW of the last leader, the members of the last committed ISR, and the last HW that each broker reported."""
    states = committed_states(events)
    last_isr: list[int] = states.row(-1, "isr")["isr"] if states.num_rows else []
    moved = of_kind(events, "high-watermark")
    final = 0
    if moved.num_rows:
        epoch = ints(moved, "leader_epoch")
        final = int(ints(moved, "offset")[epoch == epoch.max()][-1])
    reports = of_kind(events, "high-watermark", "became-leader", "became-follower")
    node, names = codes(reports, "node")
    last = np.zeros(len(names), np.int64)
    np.maximum.at(last, node, np.arange(len(node)))
    own = {broker_of(name): int(offset) for name, offset in zip(names, ints(reports, "offset")[last], strict=True)}
    return final, last_isr, own
