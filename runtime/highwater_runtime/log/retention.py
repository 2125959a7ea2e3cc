"""Which segments retention may delete: a decision, without doing anything.

From the oldest on, a segment goes while it is too old (its last record older than ``retention.ms``), too much (the log
without it still has ``retention.bytes``) or unreadable (all of it below the log start offset). The first that is none
of these ends it. Without ``delete`` in ``cleanup.policy`` only the last of the three counts. The active segment stays,
and so does every segment with an offset at or above the high watermark: what is not committed may still have to be
fetched, or compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.segment import Segment


def count_deletable(
    segments: Sequence[Segment], config: LogConfig, log_start_offset: int, now_ms: int, high_watermark: int
) -> int:
    """How many of ``segments``, oldest first, may go. A segment without timestamps never grows too old."""
    limit = config.retention_bytes if config.deletes else -1
    excess = sum(segment.size for segment in segments) - limit if limit >= 0 else -1
    oldest = now_ms - config.retention_ms if config.deletes and config.retention_ms >= 0 else -1
    count = 0
    for segment, following in pairwise(segments):
        too_old = 0 <= segment.max_timestamp < oldest
        too_much = segment.size <= excess
        unreadable = following.base_offset <= log_start_offset
        if following.base_offset > high_watermark or not (too_old or too_much or unreadable):
            break
        excess -= segment.size
        count += 1
    return count
