"""deleted-topic-records: a topic that was created again holds records of the deleted topic of its name (KAFKA-7362).

For example: broker 2 is down while its replica of ``orders-0`` is moved to broker 1 and the topic is deleted. It comes
back with the directory. ``orders`` is created again, with broker 2 as the leader, and where topics have no ids nothing
tells broker 2 that this is another topic: the new one begins with the old records, and its followers copy them.

What a topic promises: it is empty when it is created. Everything in it was appended by one of its leaders since then.

The trap: a consumer may read old records long after the new topic was created, from a deposed leader that does not know
yet. So what clients read shows nothing. And a producer may send a value twice, once to each topic. So values show
nothing either.

The rule: in a topic that had a predecessor, an offset that no leader of the topic has appended holds no record: not in
the dump of a replica, and not in the log with which a leader began.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct
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
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.verdict import Example, Finding, together


def deleted_topic_records(topics: Sequence[PartitionTables]) -> Finding:
    """Counts offsets of all topics of one name but the first."""
    return together([NOTHING, *(_of_successor(topic) for topic in topics[1:])])


def _of_successor(unit: PartitionTables) -> Finding:
    changes = of_kind(unit.events, "partition-changed")
    created = changes.where(is_any(changes, "reason", "created"))
    if not created.num_rows:
        return NOTHING  # it is not known whether everything that was appended is recorded
    appended = of_kind(unit.events, "log-appended")
    appended = appended.where(is_any(appended, "reason", "leader"))
    start, end = _union(ints(appended, "offset"), ints(appended, "end_offset"))

    dumped = dumped_records(unit.replica_log)
    in_dumps = ints(dumped, "offset")
    old = ~_is_in(in_dumps, start, end)
    leaders = of_kind(unit.events, "became-leader")
    ends = ints(leaders, "end_offset")
    first_in_logs = np.array([_first_outside(int(leo), start, end) for leo in ends], np.int64)
    begun = first_in_logs < ends
    in_logs = [np.arange(first, leo) for first, leo in zip(first_in_logs[begun], ends[begun], strict=True)]
    in_logs = [offsets[~_is_in(offsets, start, end)] for offsets in in_logs]
    offsets = distinct(np.concatenate([in_dumps[old], *in_logs]))
    creation = created.row(0)

    def examples() -> Iterator[Example]:
        for at in offsets.tolist():
            records = dumped.where(old & (in_dumps == at)).to_pylist()
            led = leaders.where(begun & (ends > at)).to_pylist()[:1]
            brokers = [row["broker"] for row in records] or [broker_of(row["node"]) for row in led]
            value = f" value {records[0]['value']}" if records and records[0]["value"] is not None else " a record"
            yield {
                "partition": unit.partition,
                "offset": at,
                "brokers": brokers,
                "topic_id": creation["topic_id"],
                "metadata_offset": creation["metadata_offset"],
                "rows": [
                    *rows_of("node_event", [creation["row"], *(row["row"] for row in led)]),
                    *rows_of("replica_log", (row["row"] for row in records)),
                ],
                "story": (
                    f"Offset {at} of {unit.partition} has{value} on broker {' and '.join(map(str, brokers))}, which no"
                    f" leader has appended since the topic was created again at {creation['time_ns'] / 1e9:.3f} s:"
                    " it is left of the deleted topic."
                ),
            }

    return finding(len(offsets), examples())


def _union(start: Ints, end: Ints) -> tuple[Ints, Ints]:
    """Ranges that neither overlap nor touch, ascending, with all offsets of the given ones."""
    order = np.argsort(start, kind="stable")
    start, end = start[order], np.maximum.accumulate(end[order]) if len(end) else end
    begins = np.ones(len(start), np.bool_)
    begins[1:] = start[1:] > end[:-1]
    ends = np.ones(len(start), np.bool_)
    ends[:-1] = begins[1:]
    return start[begins], end[ends]


def _is_in(offsets: Ints, start: Ints, end: Ints) -> Bools:
    if not len(start):
        return np.zeros(len(offsets), np.bool_)
    at = np.searchsorted(start, offsets, "right") - 1
    inside: Bools = (at >= 0) & (offsets < end[np.maximum(at, 0)])
    return inside


def _first_outside(leo: int, start: Ints, end: Ints) -> int:
    """The first offset below ``leo`` that is in no range; ``leo`` where there is none."""
    if not len(start) or start[0] > 0:
        return 0
    return min(int(end[0]), leo)
