"""The words for acknowledged records that the log removed by itself, as every output of a verdict has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_CALLED: Final = {"retention": "retention", "deleteRecords": "DeleteRecords", "compaction": "compaction"}


def removed_text(verdict: Mapping[str, Any]) -> str:
    """How many acknowledged records are gone, and by what, as part of a sentence. ``verdict``: the content of
    ``verdict.json``; one of an earlier version has no counts."""
    removed: Mapping[str, int | None] = verdict.get("removed") or {}
    if not removed:
        return "removals not counted"
    parts = [f"{count:,} by {_CALLED.get(what, what)}" for what, count in removed.items() if count]
    unknown = [_CALLED.get(what, what) for what, count in removed.items() if count is None]
    if not parts and not unknown:
        return "none removed"
    not_known = [f"by {' and '.join(unknown)}: not known"] if unknown else []
    return f"removed {', '.join([*parts, *not_known])}"
