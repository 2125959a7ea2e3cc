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
from typing import Literal

from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.segment import Segment

Reason = Literal["retention-time", "retention-size", "below-start"]


def deletable(
    segments: Sequence[Segment], config: LogConfig, log_start_offset: int, now_ms: int, high_watermark: int
) -> list[Reason]:
    """Why each segment that may go may do so, oldest first. A segment without timestamps never grows too old."""
    limit = config.retention_bytes if config.deletes else -1
    excess = sum(segment.size for segment in segments) - limit if limit >= 0 else -1
    oldest = now_ms - config.retention_ms if config.deletes and config.retention_ms >= 0 else -1
    reasons: list[Reason] = []
    for segment, following in pairwise(segments):
        if following.base_offset > high_watermark:
            break
        if 0 <= segment.max_timestamp < oldest:
            reasons.append("retention-time")
        elif segment.size <= excess:
            reasons.append("retention-size")
        elif following.base_offset <= log_start_offset:
            reasons.append("below-start")
        else:
            break
        excess -= segment.size
    return reasons
