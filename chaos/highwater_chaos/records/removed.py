"""The words for acknowledged records that are gone, lost or removed by design, as every output has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from highwater_chaos.base.words import counted

_CALLED: Final = {"retention": "retention", "deleteRecords": "DeleteRecords", "compaction": "compaction"}


def acknowledged_text(verdict: Mapping[str, Any]) -> str:
    """How many records were acknowledged, and what became of them: lost, or removed by design. ``verdict``: the content
    of ``verdict.json``; an earlier version did not count what was lost."""
    count = verdict["acknowledged"]
    return f"{counted(count, 'record')} acknowledged, {gone_text(verdict)}"


def gone_text(verdict: Mapping[str, Any]) -> str:
    """The same without the number that were acknowledged."""
    lost = verdict.get("lost")
    return f"{'' if lost is None else f'{lost:,} lost, ' if lost else 'none lost, '}{removed_text(verdict)}"


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
