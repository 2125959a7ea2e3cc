"""sequence-gap: an idempotent producer's batch was accepted out of sequence (KIP-98).

Example: producer 7 wrote sequences 0 to 9 and then 15, in one epoch. The leader must have refused 15: what came between
was lost or is still on its way, and would be written behind it. The rule for two successive records of one producer id
in a log: in the same producer epoch the sequence goes up by one (2^31−1 is followed by 0); a higher epoch begins with
0; the epoch never goes down.

Traps:

* What comes first of a producer in a log may have any sequence: retention may have removed what was before it.
* Compaction removes records from between. Sequences that are missing are excused as far as there are offsets between
  the two records that the log does not hold any more. (A log that lost them is another check's: replica-incomplete.)
* A leader forgets a producer after ``producer.id.expiration.ms``, and takes any sequence then. A dump has no times, so
  a producer that skips sequences after so long a silence is reported wrongly; the default is a day.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from highwater_pipeline.checks.columns import NOTHING, dumped_records, finding, ints, rows_of
from highwater_pipeline.judgement import Example, Finding
from highwater_pipeline.units import Unit

SEQUENCES = 2**31


def sequence_gap(unit: Unit) -> Finding:
    """Counts records, once however many replicas hold them."""
    log = dumped_records(unit.replica_log)
    broker, offset, producer = ints(log, "broker"), ints(log, "offset"), ints(log, "producer_id")
    epoch, sequence = ints(log, "producer_epoch"), ints(log, "sequence")
    place = np.empty(log.num_rows, np.int64)  # of a record among all records of its replica
    by_place = np.lexsort((offset, broker))
    place[by_place] = np.arange(log.num_rows)
    numbered = np.flatnonzero((producer >= 0) & (sequence >= 0) & (epoch >= 0))
    order = numbered[np.lexsort((offset[numbered], producer[numbered], broker[numbered]))]
    before, after = order[:-1], order[1:]
    successive = (broker[before] == broker[after]) & (producer[before] == producer[after])
    before, after = before[successive], after[successive]
    if not len(before):
        return NOTHING
    expected = np.where(epoch[before] == epoch[after], (sequence[before] + 1) % SEQUENCES, 0)
    skipped = (sequence[after] - expected) % SEQUENCES
    removed = (offset[after] - offset[before]) - (place[after] - place[before])
    wrong = np.flatnonzero((skipped > removed) | (epoch[after] < epoch[before]))
    _, first = np.unique(offset[after[wrong]], return_index=True)

    def examples() -> Iterator[Example]:
        for pair in wrong[first]:
            was, now = (log.row(int(which[pair])) for which in (before, after))
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

    return finding(len(first), examples())
