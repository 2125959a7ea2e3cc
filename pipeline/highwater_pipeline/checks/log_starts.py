"""Where replicas' logs start. Records below are on the disk until their segment is deleted, and no client reads them.

After DeleteRecords a leader has no leader epochs below its log start. A follower that diverges there keeps its own
records when it truncates, and deletes them as it takes over the leader's log start. Apache Kafka does the same.
"""

from __future__ import annotations

from highwater_pipeline.checks.columns import broker_of, of_kind, once
from highwater_pipeline.checks.promises import LOG_START_MOVED, recorded
from highwater_pipeline.units import Unit
from highwater_pipeline.view import View


def known_log_starts(unit: Unit) -> dict[int, int] | None:
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
