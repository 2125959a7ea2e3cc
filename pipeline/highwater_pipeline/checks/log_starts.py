"""Where replicas' logs start. Records below are on the disk until their segment is deleted, and no client reads them.

After DeleteRecords or retention a leader has no leader epochs below its log start. A follower that diverges there keeps
its own records when it truncates, and deletes them as it takes over the leader's log start. It writes that start to its
checkpoint now and then. If it is killed before, its log starts with those records again; and a next leader may never
have heard of the deletion. Apache Kafka does the same (4.3: ``LeaderEpochFileCache.endOffsetFor``,
``UnifiedLog.maybeIncrementLogStartOffset``). So nothing is promised below the latest start that any replica had.
"""

from __future__ import annotations

from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import broker_of, ints, is_any, of_kind, once
from highwater_pipeline.checks.promises import LOG_START_MOVED, recorded
from highwater_pipeline.partitions.partition_tables import PartitionTables


def latest_log_start(unit: PartitionTables) -> int | None:
    """Return the latest offset at which a log of this partition has started; None if nodes do not report it and the
    settings may let one move."""
    if not recorded(unit.facts, LOG_START_MOVED, "log-truncated"):
        return 0 if unit.facts.settings.deletes(unit.partition) is False else None
    moved, restarted = of_kind(unit.events, LOG_START_MOVED), of_kind(unit.events, "log-truncated")
    restarted = restarted.where(is_any(restarted, "reason", "restart-at"))
    return int(max([0, *ints(moved, "end_offset"), *ints(restarted, "offset")]))


def known_log_starts(unit: PartitionTables) -> dict[int, int] | None:
    """Return the last log start of each broker's replica, where it is not 0; None if nodes do not report them and the
    settings may let one move."""
    if recorded(unit.facts, "log-loaded", "log-truncated", LOG_START_MOVED):
        return own_log_starts(unit.events)
    return {} if unit.facts.settings.deletes(unit.partition) is False else None


@once
def own_log_starts(events: View) -> dict[int, int]:
    """Return the last reported log start of each broker's replica."""
    positions = of_kind(events, "log-loaded", "log-truncated", "log-start-moved")
    columns = [positions.values(name) for name in ("kind", "node", "reason", "offset", "end_offset")]
    starts: dict[int, int] = {}
    for kind, node, reason, offset, end_offset in zip(*columns, strict=True):
        if kind == "log-start-moved":
            starts[broker_of(node)] = end_offset
        elif kind == "log-loaded" or reason == "restart-at":
            starts[broker_of(node)] = offset
    return starts
