"""committed-loss where nodes report high watermarks, and not which batches passed them: by offsets and leader epochs.

Example: broker 0, leader of epoch 3, moves its high watermark to 100. Broker 1 becomes leader in epoch 4 with log end
offset 80. Records 80 to 99 are lost. What broker 0 itself appended, from the offset on with which it became leader, is
of epoch 3: if the last leader's log has a record of another epoch at one of these offsets, the record was lost, too.

The trap: nothing says which batch was at an offset. What the leader had copied from leaders before it is of an epoch
that is not known here, and of one epoch another batch may stand there: ``divergence`` sees that, if a replica kept the
first one. So this judges less than ``committed-loss`` does by batches, and never more.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct_first, is_in
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import (
    NOTHING,
    broker_of,
    dumped_records,
    finding,
    ints,
    is_any,
    of_kind,
    rows_of,
)
from highwater_pipeline.checks.log_starts import own_log_starts
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.settings import INTERNAL_TOPICS
from highwater_pipeline.verdict import Example, Finding

_NEVER: Final = int(np.iinfo(np.int64).max)


@dataclass(frozen=True, slots=True)
class _Ranges:
    """Offsets [start, end) that passed a high watermark first in leader epoch ``committed_in``; ``row``: the move."""

    start: Ints
    end: Ints
    committed_in: Ints
    row: Ints

    @classmethod
    def of(cls, moved: View) -> _Ranges:
        epoch, to, row = (ints(moved, name) for name in ("leader_epoch", "offset", "row"))
        order = np.lexsort((to, epoch))
        epoch, to, row = epoch[order], to[order], row[order]
        before = np.concatenate([np.zeros(1, np.int64), np.maximum.accumulate(to)[:-1]])
        fresh = to > before
        return cls(before[fresh], to[fresh], epoch[fresh], row[fresh])


def loss_by_offsets(unit: PartitionTables) -> Finding:
    """Counts lost records; an example is a range of them that passed the high watermark at one time."""
    moved = of_kind(unit.events, "high-watermark")
    if moved.num_rows == 0:
        return NOTHING
    ranges, leaders = _Ranges.of(moved), of_kind(unit.events, "became-leader")
    count = np.zeros(len(ranges.start), np.int64)
    fate: dict[int, tuple[str, list[dict[str, object]]]] = {}
    deleted = of_kind(unit.events, "partition-changed")
    deleted = deleted.where(is_any(deleted, "reason", "deleted"))
    if deleted.num_rows and unit.facts.settings.deletes_topic(unit.partition) is False:
        count = ranges.end - ranges.start
        what = "the topic was deleted, which no client had requested"
        fate = dict.fromkeys(range(len(count)), (what, rows_of("node_event", [deleted.row(0, "row")["row"]])))
    else:
        epochs, ends, rows = (ints(leaders, name) for name in ("leader_epoch", "end_offset", "row"))
        for number in range(len(count)):
            later = epochs > ranges.committed_in[number]
            shortest = int(ends[later].min()) if later.any() else _NEVER
            if shortest < ranges.end[number]:
                at = int(np.flatnonzero(later & (ends == shortest))[0])
                count[number] = ranges.end[number] - max(int(ranges.start[number]), shortest)
                who, epoch = leaders.row(at, "node")["node"], int(epochs[at])
                what = f"{who} became leader in epoch {epoch} with log end offset {shortest}"
                fate[number] = what, rows_of("node_event", [int(rows[at])])
        if not deleted.num_rows:
            _compare_with_dump(unit, ranges, leaders, count, fate)
    lost = np.flatnonzero(count)

    def examples() -> Iterator[Example]:
        of_row = {row["row"]: row for row in moved.where(is_in(ints(moved, "row"), ranges.row[lost])).to_pylist()}
        for number in lost.tolist():
            move = of_row[int(ranges.row[number])]
            what, proof = fate[number]
            start, end = int(ranges.start[number]), int(ranges.end[number])
            yield {
                "partition": unit.partition,
                "offset": start,
                "end_offset": end,
                "lost": int(count[number]),
                "committed": {"node": move["node"], "leader_epoch": move["leader_epoch"]},
                "rows": rows_of("node_event", [move["row"]]) + proof,
                "story": (
                    f"Records {start} to {end - 1} of {unit.partition} passed the high watermark of {move['node']} in"
                    f" leader epoch {move['leader_epoch']}, but {what}: {int(count[number])} of them are gone."
                ),
            }

    return finding(int(count.sum()), examples())


def _compare_with_dump(
    unit: PartitionTables,
    ranges: _Ranges,
    leaders: View,
    count: Ints,
    fate: dict[int, tuple[str, list[dict[str, object]]]],
) -> None:
    """Add what the log of the last leader lacks, or has of another leader epoch. Compaction removes records, and a log
    start hides what lies below it."""
    is_internal = unit.partition.rpartition("-")[0] in INTERNAL_TOPICS
    if leaders.num_rows == 0 or is_internal or unit.facts.settings.compacts(unit.partition) is not False:
        return
    epochs = ints(leaders, "leader_epoch")
    broker = broker_of(leaders.row(int(np.flatnonzero(epochs == epochs.max())[-1]), "node")["node"])
    log = dumped_records(unit.replica_log)
    log = log.where(ints(log, "broker") == broker)
    if log.num_rows == 0:
        return
    offset, first = distinct_first(ints(log, "offset"))
    epoch, row = ints(log, "leader_epoch")[first], ints(log, "row")[first]
    begins = max(int(offset[0]), own_log_starts(unit.events).get(broker, 0))
    own_start = {int(one): int(end) for one, end in zip(epochs, ints(leaders, "end_offset"), strict=True)}
    for number in np.flatnonzero(count == 0).tolist():
        start, end = max(int(ranges.start[number]), begins), int(ranges.end[number])
        if end <= start:
            continue
        of = int(ranges.committed_in[number])
        low, high = np.searchsorted(offset, [start, end])
        lacking = end - start - int(high - low)
        is_own: Bools = offset[low:high] >= own_start.get(of, _NEVER)
        other = is_own & (epoch[low:high] != of)
        gone = lacking + int(np.count_nonzero(other))
        if gone:
            count[number] = gone
            what = f"the log of broker-{broker}, the last leader, lacks them or has others of another epoch there"
            fate[number] = what, rows_of("replica_log", row[low:high][other][:5].tolist())
