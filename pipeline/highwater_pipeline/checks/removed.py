"""How many acknowledged records the log removed by itself: by retention, by DeleteRecords, by compaction.

Such a record is not lost, if the settings allow it, and so no other check counts it. A verdict that does not say how
many there were would let a run pass that has hardly a record left.

Retention and DeleteRecords remove heads of logs, and replicas report each move of their log start. A record counts for
the reason of the first move past it. Compaction reports nothing: what it took are the acknowledged offsets of a
compacted topic at which no replica has a record at the end, without those of the last record of a key, which are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from highwater_pipeline.arrow.arrays import Ints, distinct, is_in
from highwater_pipeline.checks.client_topics import client_topics
from highwater_pipeline.checks.columns import bools, ints, is_any, of_kind
from highwater_pipeline.checks.promises import Promised
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.micro_operations import OK

RETENTION: Final = "retention"
DELETE_RECORDS: Final = "deleteRecords"
COMPACTION: Final = "compaction"
_BY_REASON: Final = {"retention-time": RETENTION, "retention-size": RETENTION, "delete-records": DELETE_RECORDS}


def removed_records(unit: PartitionTables) -> dict[str, int]:
    """Count the acknowledged records of a partition that are gone, by what took them; without those that took none."""
    if not may_have_removed(unit):
        return {}
    counts: dict[str, int] = {}
    for topic in client_topics(unit).topics:
        for what, count in _of_topic(topic.unit):
            counts[what] = counts.get(what, 0) + count
    return {what: count for what, count in counts.items() if count}


def may_have_removed(unit: PartitionTables) -> bool:
    """Whether some log start moved, or the topic is compacted."""
    return bool(is_any(unit.events, "kind", "log-start-moved").any() or unit.facts.settings.compacts(unit.partition))


def _of_topic(unit: PartitionTables) -> Iterator[tuple[str, int]]:
    offsets = _acknowledged(unit)
    moves = of_kind(unit.events, "log-start-moved")
    reached = 0
    for to, reason in zip(moves.values("end_offset"), moves.values("reason"), strict=True):
        if reason in _BY_REASON and to > reached:
            yield _BY_REASON[reason], int(np.searchsorted(offsets, to) - np.searchsorted(offsets, reached))
            reached = to
    if unit.facts.settings.compacts(unit.partition) and unit.replica_log.num_rows:
        log = unit.replica_log.where(~unit.replica_log.is_known("ended"))
        dumped = distinct(ints(log, "offset"))
        above = offsets[offsets >= reached]
        end = int(dumped.max(initial=-1))
        lost = Promised(unit, exists=True).kept_by_compaction()
        yield COMPACTION, int((~is_in(above[above < end], np.concatenate([dumped, lost]))).sum())


def _acknowledged(unit: PartitionTables) -> Ints:
    """The offsets of acknowledged records, ascending."""
    found = [np.zeros(0, np.int64)]
    for _, part in unit.history.by_range("row"):
        is_acked = bools(part, "is_send") & (ints(part, "outcome") == OK) & (ints(part, "offset") >= 0)
        found.append(ints(part, "offset")[is_acked])
    return distinct(np.concatenate(found))
