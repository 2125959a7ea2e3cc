"""min-isr where leaders report which ISR they know, and not what they acknowledge: by views and acknowledgements.

Example: the topic asks for two in-sync replicas. At 10 s broker 0, the only leader that lives, hears that its ISR is
[0]. It appends a record at 12 s, and the producer has its acknowledgement at 13 s: whoever acknowledged it, and
whenever that was, knew of one in-sync replica only.

The trap: nobody says when a leader acknowledged. So a record counts only if, from its first append until its producer
had the acknowledgement, no leader that lived had an ISR of that many. A leader that checks the ISR at the append only,
as it should at the acknowledgement, too, is not found.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.checks.columns import NOTHING, bools, finding, ints, of_kind, rows_of
from highwater_pipeline.checks.leadership import committed_states
from highwater_pipeline.checks.promises import Appends
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.tables.micro_operations import OK
from highwater_pipeline.verdict import Example, Finding

_VIEWS: Final = ("became-leader", "isr-proposal-ended", "isr-taken")
_ENDS: Final = ("became-follower", "log-removed", "node-stopped")
_NEVER: Final = int(np.iinfo(np.int64).max)


class _View(NamedTuple):
    """What a leader took for the committed ISR from ``since`` to ``until`` (run time, ns)."""

    since: int
    until: int
    event: Example


def min_isr_by_views(unit: PartitionTables, until_ns: int) -> Finding:
    """Counts views under which something was acknowledged. ``until_ns``: up to when the topic was there for certain."""
    promises = unit.facts.settings.promises(unit.partition).until(until_ns)
    views, error_ns = _views(unit), unit.facts.settings.largest_clock_error_ns
    replicas = min((len(one["replicas"]) for one in committed_states(unit.events).to_pylist("replicas")), default=0)
    most = min(promises.largest_min_isr, replicas)
    small = [view for view in views if len(view.event["isr"]) < most]
    if not small or unit.facts.settings.acks != "all" or not unit.is_only_topic:
        return NOTHING
    appends = Appends.of(unit)
    found: dict[int, Example] = {}
    for _, part in unit.history.by_range("row"):
        sends = np.flatnonzero(bools(part, "is_send") & (ints(part, "outcome") == OK) & (ints(part, "offset") >= 0))
        ended = ints(part, "end_time")[sends]
        sends = sends[_within(small, ended, error_ns) & (ended < until_ns)]
        first, last = appends.during(part, sends)
        for send, entry in zip(sends[last > first].tolist(), first[last > first].tolist(), strict=True):
            row = part.row(send, "row", "offset", "value", "end_time")
            begin, end = appends.time_of(entry) - error_ns, row["end_time"] + error_ns
            least = min(promises.min_isr(at, replicas) or 0 for at in (begin, end))
            known = [view for view in views if view.since <= end and begin <= view.until]
            if known and all(len(view.event["isr"]) < least for view in known):
                found.setdefault(known[-1].event["row"], _example(unit, row, known[-1], least))
    return finding(len(found), found.values())


def _views(unit: PartitionTables) -> list[_View]:
    """The views of all leaders, each until the leader has another one, follows, or has ended."""
    views: list[_View] = []
    present: dict[str, Example] = {}
    events = of_kind(unit.events, *_VIEWS, *_ENDS)
    for event in events.to_pylist("row", "time_ns", "node", "kind", "leader_epoch", "partition_epoch", "isr"):
        before = present.pop(event["node"], None)
        if before is not None:
            views.append(_View(before["time_ns"], event["time_ns"], before))
        if event["kind"] in _VIEWS:
            present[event["node"]] = event
    views += [_View(event["time_ns"], _NEVER, event) for event in present.values()]
    return sorted(views, key=lambda view: view.event["row"])


def _within(views: list[_View], times: Ints, error_ns: int) -> Bools:
    """Which times are within one of some views."""
    within = np.zeros(len(times), np.bool_)
    for view in views:
        until = view.until if view.until == _NEVER else view.until + error_ns
        within |= (times >= view.since - error_ns) & (times <= until)
    return within


def _example(unit: PartitionTables, send: Example, view: _View, least: int) -> Example:
    event = view.event
    return {
        "partition": unit.partition,
        "node": event["node"],
        "offset": send["offset"],
        "value": send["value"],
        "isr": event["isr"],
        "min_isr": least,
        "leader_epoch": event["leader_epoch"],
        "partition_epoch": event["partition_epoch"],
        "rows": [*rows_of("node_event", [event["row"]]), *rows_of("operations", [send["row"]])],
        "story": (
            f"Value {send['value']} at offset {send['offset']} of {unit.partition} was acknowledged to an acks=all"
            f" producer. From its append until then the ISR was {event['isr']}, as {event['node']}, leader in epoch"
            f" {event['leader_epoch']}, knew, and no leader knew of {least}, which min.insync.replicas asks for."
        ),
    }
