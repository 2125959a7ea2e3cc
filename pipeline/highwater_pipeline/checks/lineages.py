"""The lineages of a partition: what it promises ends with each break (:class:`highwater_runtime.model.breaks.Breaks`).

Within each lineage everything is judged. What was committed, acknowledged or read before a break is owed to nobody
after it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks.columns import broker_of, ints, is_any
from highwater_pipeline.checks.promises import expand, recorded
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_runtime.model.breaks import Breaks
from highwater_runtime.model.decisions import Decided

_CLAIMS: Final = ("high-watermark", "batch-committed")
"""Events that say what is committed."""
_REPORTS: Final = ("became-leader", "became-follower")
"""Events by which a replica says how far it knew the high watermark to be."""
EACH: Final = ("committed-loss", "isr-incomplete", "hw-regression")
"""Checks that look at each lineage."""
LAST: Final = ("divergence", "replica-incomplete")
"""Checks that look at the logs at the end, and so at the last lineage."""


class Break(NamedTuple):
    """Where a lineage begins: the position among the events of the partition, and the leader epoch from which on events
    belong to it; −1: of any."""

    position: int
    leader_epoch: int


def breaks(unit: PartitionTables) -> list[Break]:
    """The breaks of one topic's partition, in order."""
    events, facts = unit.events, unit.facts
    if not recorded(facts, "partition-changed"):
        return []
    may_be_unclean = unit.facts.settings.elects_uncleanly(unit.partition) is True
    changed = np.flatnonzero(is_any(events, "kind", "partition-changed"))
    if not len(changed):
        return []
    _, parent = events.take(changed).lists("replicas")
    has_one = (np.bincount(parent, minlength=len(changed)) == 1).any()
    may_be_lost = has_one and not facts.settings.disks_kept and recorded(facts, "log-loaded", "log-removed")
    loads = ("log-loaded", "log-removed") if may_be_lost else ()
    if not may_be_unclean and not loads:
        return []
    proposals = ("alter-partition-handled",) if recorded(facts, "alter-partition-handled") else ()
    kinds = ("partition-changed", *loads, *(proposals if may_be_unclean else ()))
    positions = np.flatnonzero(is_any(events, "kind", *kinds))
    rows = events.take(positions).to_pylist("kind", "node", *Decided._fields)
    search, found = Breaks(), []
    for position, row in zip(positions.tolist(), rows, strict=True):
        kind, broker = row.pop("kind"), broker_of(row.pop("node"))
        match kind:
            case "alter-partition-handled":
                search.accept(row["metadata_offset"])
            case "partition-changed" if search.decide(Decided(**row), may_be_unclean=may_be_unclean):
                found.append(Break(position, row["leader_epoch"]))
            case "log-removed":
                search.remove(broker)
            case "log-loaded" if search.load(broker, is_created=row["reason"] == "created"):
                found.append(Break(position, -1))
    return found


def lineages(unit: PartitionTables, check: str) -> list[PartitionTables]:
    """The lineages of one topic's partition that a check looks at, in order; the unit itself if there is one."""
    found = breaks(unit) if check in EACH or check in LAST else []
    if not found:
        return [unit]
    if check in LAST:
        return [replace(unit, events=_of_lineage(unit.events, found, None, (*_CLAIMS, *_REPORTS)))]
    nothing = unit.replica_log.take(np.empty(0, np.int64))
    return [
        replace(
            unit,
            events=_of_lineage(unit.events, found[:number], None if is_last else found[number], _CLAIMS),
            replica_log=unit.replica_log if is_last else nothing,
        )
        for number in range(len(found) + 1)
        for is_last in [number == len(found)]
    ]


def _of_lineage(events: View, before: list[Break], end: Break | None, claims: tuple[str, ...]) -> View:
    """Events without the claims of lineages before, and without what came at ``end`` and later."""
    at = np.arange(events.num_rows)
    keep: Bools = np.ones(len(at), np.bool_)
    if before:
        is_older = (at < before[-1].position) | (ints(events, "leader_epoch") < max(one.leader_epoch for one in before))
        keep &= ~(is_any(events, "kind", *claims) & is_older)
    if end is not None:
        keep &= at < end.position
    return events.where(keep)


def of_former_lineage(unit: PartitionTables, offset: Ints, since: Ints) -> Bools:
    """Which records may have been in the log before the last break.

    ``offset``: where each is said to be (−1: not known); ``since``: when its first send began (ns of run time). It may
    be if a leader of a former lineage appended at that offset after that.
    """
    found = breaks(unit)
    if not found:
        return np.zeros(len(offset), np.bool_)
    if not recorded(unit.facts, "log-appended"):
        return np.ones(len(offset), np.bool_)
    events = unit.events
    is_older = np.arange(events.num_rows) < found[-1].position
    is_older |= ints(events, "leader_epoch") < max(one.leader_epoch for one in found)
    appended = events.where(is_any(events, "kind", "log-appended") & is_any(events, "reason", "leader") & is_older)
    if not appended.num_rows:
        return np.zeros(len(offset), np.bool_)
    time = ints(appended, "time_ns")
    at, last = expand(ints(appended, "offset"), ints(appended, "end_offset"), time)
    latest = np.full(int(at.max()) + 1, -1, np.int64)
    np.maximum.at(latest, at, last)
    known = np.where(offset < len(latest), latest[np.minimum(offset, len(latest) - 1)], -1)
    until = np.where(offset >= 0, known, time.max())
    older: Bools = until >= since - unit.facts.settings.largest_clock_error_ns
    return older
