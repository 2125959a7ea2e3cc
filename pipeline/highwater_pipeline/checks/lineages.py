"""What a partition promises ends with an allowed unclean election, and with the disk of an only replica.

*Example.* ``unclean.leader.election.enable`` is true. Brokers 0 and 1 have records 0 to 9, and both are dead. Broker 2,
which left the ISR at offset 5, is elected: records 5 to 9 are gone. That is what the setting asks for, so no check may
call it a loss. If a record that broker 2 commits from then on is lost by a clean election, it is one.

*The rule.* At such a *break* a new lineage of the partition begins. Within each lineage everything is judged. What was
committed, acknowledged or read before a break is owed to nobody after it. There are two kinds of breaks:

* The settings allow an unclean election, and the committed states show one: a new leader that was not in the ISR
  before. (A leader's proposal and the election of the proposed replica may be one state in KRaft mode: that is clean.)
* The partition has one replica, and its broker loses its disk (a log is created where one had been). Kafka keeps what
  is committed as long as one in-sync replica lives. A power loss alone is no break: what was flushed must be there.

*The trap* is a deposed leader that does not know of the election. It is the only member of its ISR, as far as it knows,
so it goes on to commit and to acknowledge. So what is reported in a leader epoch below that of the election counts for
the lineage before, however late it is.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Final, NamedTuple

import numpy as np

from highwater_pipeline.arrays import Bools, Ints
from highwater_pipeline.checks.columns import broker_of, ints, is_any
from highwater_pipeline.checks.promises import expand, recorded
from highwater_pipeline.units import Unit
from highwater_pipeline.view import View

_CLAIMS: Final = ("high-watermark", "batch-committed")
"""Events that say what is committed."""
_REPORTS: Final = ("became-leader", "became-follower")
"""Events by which a replica says how far it knew the high watermark to be."""
EACH: Final = ("committed-loss", "isr-incomplete", "hw-regression")
"""Checks that look at each lineage."""
LAST: Final = ("divergence", "replica-incomplete")
"""Checks that look at the logs at the end, and so at the last lineage."""
_FIELDS: Final = (
    *("kind", "node", "reason", "leader", "leader_epoch", "isr", "replicas", "metadata_offset", "partition_epoch"),
)


class Break(NamedTuple):
    """Where a lineage begins: the position among the events of the partition, and the leader epoch from which on events
    belong to it; −1: of any."""

    position: int
    leader_epoch: int


def breaks(unit: Unit) -> list[Break]:
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
    loads = ("log-loaded", "log-removed") if has_one and recorded(facts, "log-loaded", "log-removed") else ()
    if not may_be_unclean and not loads:
        return []
    proposals = ("alter-partition-handled",) if recorded(facts, "alter-partition-handled") else ()
    kinds = ("partition-changed", *loads, *(proposals if may_be_unclean else ()))
    positions = np.flatnonzero(is_any(events, "kind", *kinds))
    rows = events.take(positions).to_pylist(*_FIELDS)
    found = _Search(may_be_unclean)
    return [one for position, row in zip(positions.tolist(), rows, strict=True) for one in found.at(position, row)]


class _Search:
    """Goes through events in order; controllers report each committed state, and its first report counts."""

    def __init__(self, may_be_unclean: bool) -> None:
        self._may_be_unclean = may_be_unclean
        self._accepted: set[int] = set()
        self._state: dict[str, Any] | None = None
        self._have_logs: set[str] = set()

    def at(self, position: int, event: dict[str, Any]) -> list[Break]:
        """The break that an event shows, if any."""
        match event["kind"]:
            case "alter-partition-handled":
                self._accepted.add(event["metadata_offset"])
            case "partition-changed":
                return self._changed(position, event)
            case "log-removed":
                self._have_logs.discard(event["node"])
            case "log-loaded":
                is_gone = event["node"] in self._have_logs and event["reason"] == "created"
                self._have_logs.add(event["node"])
                return [Break(position, -1)] if is_gone and self._is_only(event["node"]) else []
        return []

    def _is_only(self, node: str) -> bool:
        return self._state is not None and self._state["replicas"] == [broker_of(node)]

    def _changed(self, position: int, event: dict[str, Any]) -> list[Break]:
        before = self._state
        if before is not None and event["metadata_offset"] <= before["metadata_offset"]:
            return []
        if event["reason"] == "deleted":
            return []
        self._state = event
        is_unclean = (
            self._may_be_unclean
            and before is not None
            and event["leader"] >= 0
            and event["leader_epoch"] > before["leader_epoch"]
            and event["leader"] not in before["isr"]
            and event["metadata_offset"] not in self._accepted
        )
        return [Break(position, event["leader_epoch"])] if is_unclean else []


def lineages(unit: Unit, check: str) -> list[Unit]:
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


def of_former_lineage(unit: Unit, offset: Ints, since: Ints) -> Bools:
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
