"""Up to where clients show that a partition's records were committed, where nodes do not report high watermarks.

A consumer reads only below the high watermark, and an acknowledgement of ``acks=all`` is for a record that has passed
it. After an unclean election neither says anything of the log that was kept.
"""

from __future__ import annotations

from highwater_pipeline.checks.columns import codes, is_any
from highwater_pipeline.checks.version_order import Seen
from highwater_pipeline.partitions.partition_tables import PartitionTables


def committed_bound(unit: PartitionTables) -> int:
    """Return an offset below which every record of the topic was committed; 0 if clients show none."""
    settings = unit.facts.settings
    if settings.elects_uncleanly(unit.partition):
        return 0
    ids = sorted({*unit.replica_log.words("topic_id"), *codes(unit.events, "topic_id")[1]})
    if len(ids) > 1:
        return 0
    # A client may not know the topic's id. Another topic of the name is possible only if the topic may be deleted.
    are_all_of_it = not settings.deletes_topic(unit.partition) and len(unit.history.words("topic_id")) <= 1
    bound = 0
    for _, part in unit.history.by_range("row"):
        seen = Seen(unit.partition, part)
        counts = seen.read_ok
        if settings.acks == "all":
            counts = counts | seen.acknowledged
        is_of_it = is_any(part, "topic_id", *ids)
        if are_all_of_it:
            is_of_it = is_of_it | ~part.is_known("topic_id")
        bound = max(bound, int(seen.offset[counts & is_of_it].max(initial=-1)) + 1)
    return bound
