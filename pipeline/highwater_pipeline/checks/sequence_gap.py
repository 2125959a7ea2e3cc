"""sequence-gap: an idempotent producer's batch was accepted out of sequence (KIP-98).

Example: producer 7 wrote sequences 0 to 9 and then 15, in one epoch. The leader should have refused 15: the batches
between were lost or are still in flight, and would be written after it. The rule for two successive records of one
producer id in a log: in the same producer epoch the sequence goes up by one (2^31−1 is followed by 0); a higher epoch
begins with 0; the epoch never goes down.

Traps:

* The first record of a producer in a log may have any sequence: retention may have removed earlier ones. Records below
  the log start that are still on the disk do not count (``checks.log_starts``).
* Compaction removes records from between. Sequences that are missing are excused as far as there are offsets between
  the two records that the log does not hold any more. (A log that lost them is another check's: replica-incomplete.)
* A leader forgets a producer after ``producer.id.expiration.ms``, and takes any sequence then
  (``checks.producer_expiry``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Ints, distinct, distinct_first
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import NOTHING, finding, ints, joined, order_by, pick, rows_of
from highwater_pipeline.checks.log_starts import known_log_starts
from highwater_pipeline.checks.producer_expiry import may_be_forgotten
from highwater_pipeline.checks.version_order import NO, YES
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.verdict import Example, Finding, together

SEQUENCES = 2**31
_SHOWN: Final = ("broker", "producer_id", "producer_epoch", "offset", "sequence", "row")


@dataclass(frozen=True, slots=True)
class _Records:
    """Records of idempotent producers. ``place``: of a record among all records of its replica; ``at``: its position in
    the dump."""

    broker: Ints
    producer: Ints
    offset: Ints
    epoch: Ints
    sequence: Ints
    place: Ints
    at: Ints


def sequence_gap(unit: PartitionTables) -> Finding:
    """Counts records, once however many replicas hold them.

    Offsets are looked at range by range. The last record of each producer in each log is carried on.
    """
    starts = known_log_starts(unit)
    last: list[_Records] = []
    counted: dict[int, int] = {}
    found = [NOTHING]
    for at, part in unit.replica_log.by_range("offset"):
        is_record = ~part.is_known("ended")
        records = joined([*last, _numbered(part.where(is_record), at[is_record], counted)])
        records = pick(records, order_by(records.producer))
        records = pick(records, order_by(records.broker))
        ends = np.ones(len(records.at), np.bool_)
        ends[:-1] = (records.broker[1:] != records.broker[:-1]) | (records.producer[1:] != records.producer[:-1])
        last = [pick(records, ends)]
        brokers = distinct(records.broker)
        log_starts = np.array([(starts or {}).get(one, 0) for one in brokers.tolist()], np.int64)
        counts = records.offset >= log_starts[np.searchsorted(brokers, records.broker)]
        found.append(_gaps(unit, records, np.flatnonzero(~ends & counts)))
    gaps = together(found)
    if starts is None and gaps.count:  # one that retention has made is none
        return Finding(0, [], gaps.count + gaps.unknown, "it is not known which records are below a log start")
    return gaps


def _numbered(log: View, at: Ints, counted: dict[int, int]) -> _Records:
    """The records that have a sequence, by broker and offset. ``counted``: how many records came before, by broker."""
    broker, offset = ints(log, "broker"), ints(log, "offset")
    order = order_by(offset)
    order = order[order_by(broker[order])]
    broker, offset, at = broker[order], offset[order], at[order]
    place = np.arange(len(order))
    for one in distinct(broker).tolist():
        low, high = np.searchsorted(broker, [one, one + 1]).tolist()
        place[low:high] += counted.get(one, 0) - low
        counted[one] = counted.get(one, 0) + high - low
    producer, epoch, sequence = (ints(log, name)[order] for name in ("producer_id", "producer_epoch", "sequence"))
    records = _Records(broker, producer, offset, epoch, sequence, place, at)
    return pick(records, (producer >= 0) & (sequence >= 0) & (epoch >= 0))


def _gaps(unit: PartitionTables, records: _Records, before: Ints) -> Finding:
    """``before``: positions that are followed by a record of the same producer in the same log."""
    after = before + 1
    epoch, sequence = records.epoch, records.sequence
    expected = np.where(epoch[before] == epoch[after], (sequence[before] + 1) % SEQUENCES, 0)
    skipped = (sequence[after] - expected) % SEQUENCES
    removed = (records.offset[after] - records.offset[before]) - (records.place[after] - records.place[before])
    wrong = np.flatnonzero((skipped > removed) | (epoch[after] < epoch[before]))
    forgotten = may_be_forgotten(unit, records.offset[before[wrong]], records.offset[after[wrong]])
    perhaps = len(distinct(records.offset[after[wrong[forgotten != YES]]]))
    wrong = wrong[forgotten == NO]
    _, first = distinct_first(records.offset[after[wrong]])

    def examples() -> Iterator[Example]:
        for pair in wrong[first]:
            was, now = (unit.replica_log.row(int(records.at[which[pair]]), *_SHOWN) for which in (before, after))
            yield {
                "partition": unit.partition,
                "producer_id": now["producer_id"],
                "producer_epoch": now["producer_epoch"],
                "offset": now["offset"],
                "sequence": now["sequence"],
                "expected": int(expected[pair]),
                "broker": now["broker"],
                "before": {key: was[key] for key in ("offset", "producer_epoch", "sequence")},
                "rows": rows_of("replica_log", [was["row"], now["row"]]),
                "story": (
                    f"Producer {now['producer_id']} has sequence {now['sequence']} of epoch {now['producer_epoch']} at"
                    f" offset {now['offset']} of {unit.partition}, right after sequence {was['sequence']} of epoch"
                    f" {was['producer_epoch']} at offset {was['offset']}: expected sequence {int(expected[pair])}."
                ),
            }

    found = finding(len(first), examples())
    return Finding(found.count, found.examples, perhaps - found.count, "it is not known when the records were written")
