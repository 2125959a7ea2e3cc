"""How many acknowledged records a log lost, in words that users have for it.

The checks count what broke their own definition: ``lost-write`` does not count a record that a consumer read before it
was lost, ``committed-loss`` counts records that nobody acknowledged. This counts the acknowledged values that neither
retention nor compaction nor a deletion took (:mod:`.promises`), and that are neither in a replica's log at the end nor
in the final reads. So one loss has one number, with a consumer or without.

A break (:mod:`.lineages`) excuses what was lost by it, and so does ``acks=1`` before the high watermark has passed a
record: these records were not promised to stay. They are lost all the same, and a verdict that does not say so would
let a run pass as if nothing had happened. So this counts every acknowledged record as one of ``acks=all``, and looks at
a partition if a check found something in it, if there was a break, and with ``acks=1``.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from highwater_pipeline.arrow.arrays import Ints, distinct, is_in
from highwater_pipeline.checks.client_topics import client_topics
from highwater_pipeline.checks.columns import dumped_records, ints
from highwater_pipeline.checks.lineages import breaks
from highwater_pipeline.checks.promises import Promised
from highwater_pipeline.checks.version_order import YES, Seen
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.verdict import Finding


def may_have_lost(unit: PartitionTables, findings: Iterable[Finding]) -> bool:
    """Whether records of a partition may be lost, by what the checks found and by its events."""
    return any(found.count for found in findings) or unit.facts.settings.acks == "1" or bool(breaks(unit))


def lost_records(unit: PartitionTables) -> int | None:
    """Return the number of lost records of one partition; None: neither dumps that say which records they
    have nor final reads were recorded."""
    dumped, is_whole = _dumped(unit)
    if not unit.facts.drained and not is_whole:
        return None
    there = distinct(np.concatenate([dumped, _read_last(unit)]))
    topics = client_topics(unit).topics
    units = [topic.unit for topic in topics] if len(topics) > 1 else [unit]  # of one topic: former lineages, too
    count = 0
    for topic, whole in zip(topics, units, strict=True):
        promised = Promised(whole, exists=topic.exists, acks="all")
        for _, part in whole.history.by_range("value"):
            seen = Seen(unit.partition, part)
            # What no leader committed stood nowhere when records of its offset were deleted.
            is_owed = (promised.of(seen).kept == YES) | (topic.exists & promised.never_committed(seen))
            kept = seen.value[seen.acknowledged & is_owed]
            count += int((~is_in(distinct(kept), there)).sum())
    return count


def _dumped(unit: PartitionTables) -> tuple[Ints, bool]:
    """The values in the replicas' logs at the end, and whether all records say theirs."""
    found, is_whole = [np.empty(0, np.int64)], True
    for _, part in unit.replica_log.by_range("offset"):
        log = dumped_records(part)
        found.append(distinct(ints(log, "value")))
        is_whole &= bool(log.is_known("value").all())
    values = np.concatenate(found)
    return values, is_whole and len(values) > 0


def _read_last(unit: PartitionTables) -> Ints:
    """The values that were read ok by polls that began after the last acknowledgement."""
    last = -1
    for _, part in unit.history.by_range("row"):
        acknowledged = Seen(unit.partition, part).acknowledged
        last = max(last, int(ints(part, "end_time")[acknowledged].max(initial=-1)))
    found = [np.empty(0, np.int64)]
    for _, part in unit.history.by_range("row"):
        seen = Seen(unit.partition, part)
        found.append(distinct(seen.value[seen.read_ok & (ints(part, "invoke_time") >= last)]))
    return np.concatenate(found)
