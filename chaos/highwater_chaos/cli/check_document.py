"""The JSON document of ``highwater check``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from highwater_pipeline.tables.remote import AnyPath
from highwater_pipeline.verdict import RunVerdict

Valid = Literal[True, False, "unknown"]
"""What Jepsen's checkers call a verdict."""


def row_of(history: AnyPath, run_verdict: RunVerdict, found: Mapping[str, Any]) -> dict[str, Any]:
    """A run in the JSON document."""
    shown = {name: found[name] for name in ("verdict", "reasons", "anomalies", "checks", "assertions")}
    unseen: int | None = None  # not known
    if shown["checks"].get("unseen") in ("ok", "failed"):
        unseen = shown["anomalies"].get("unseen", {"count": 0})["count"]
    return {
        "run_id": run_verdict.run_id,
        **{name: found[name] for name in ("name", "seed", "backend", "switches")},
        "path": str(history),
        "valid": valid_of(found["verdict"]),
        **shown,
        "unseen": unseen,
        "lost": run_verdict.lost,
        "explanation": found.get("explanation", ""),
        "exercised": found.get("exercised"),
        "stats": run_verdict.stats,
        "removed": run_verdict.removed,
        "verified": found.get("verified"),
        "asRecorded": found.get("asRecorded", []),
    }


def row_of_refused(name: str, error: str) -> dict[str, Any]:
    """What cannot be judged, in the JSON document."""
    return {"path": name, "valid": "unknown", "error": error}


def valid_of(verdict: str) -> Valid:
    """Return what Jepsen's checkers call a verdict."""
    return False if verdict == "fail" else "unknown" if verdict == "inconclusive" else True


def valid(rows: Sequence[Mapping[str, Any]]) -> Valid:
    """Return what they all come to."""
    every = [row["valid"] for row in rows]
    return False if False in every else "unknown" if "unknown" in every else True
