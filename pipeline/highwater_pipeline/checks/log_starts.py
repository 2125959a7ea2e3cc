"""Where replicas' logs start. Records below are on the disk until their segment is deleted, and no client reads them.

After DeleteRecords a leader has no leader epochs below its log start. A follower that diverges there keeps its own
records when it truncates, and deletes them as it takes over the leader's log start. Apache Kafka does the same.
"""

from __future__ import annotations

from highwater_pipeline.checks.columns import broker_of, of_kind, once
from highwater_pipeline.view import View


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
