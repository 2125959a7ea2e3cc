"""Run directories as arguments: what ``replay`` and ``report`` need of one, refused clearly where it is not there."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection
from pathlib import Path
from typing import Any, Final

from highwater_chaos.cli.exits import UsageError
from highwater_chaos.run.manifest import UNVERIFIED, BadSummaryError, verify

_ASKED_FOR: Final = ("backend", "wire", "traceDigest", "inconclusiveReasons")


def recorded_verdict(
    run: Path, *, written_anew: Collection[str] = (), may_lack_recordings: bool = False
) -> dict[str, Any]:
    """The content of ``verdict.json``, of a run directory whose files are those of its manifest.

    Says on stderr if there is no manifest. Other arguments are those of :func:`.verify`.

    Raises:
        UsageError: ``run`` is no run directory of this version, or one that was changed.
    """
    path = run / "verdict.json"
    if not run.exists():
        raise UsageError(f"{run}: expected a run directory, found nothing; runs are below 'runs/' or your --out")
    if not path.is_file():
        raise UsageError(
            f"{run}: expected a run directory, found no verdict.json in it; runs are below 'runs/' or your --out"
        )
    ensure_unchanged(run, written_anew=written_anew, may_lack_recordings=may_lack_recordings)
    try:
        verdict = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise UsageError(f"{path}: expected a JSON object, found: {error}") from error
    if not isinstance(verdict, dict):
        raise UsageError(f"{path}: expected a JSON object, found {type(verdict).__name__}")
    if missing := [name for name in _ASKED_FOR if name not in verdict]:
        raise UsageError(f"{path}: has no {', '.join(missing)}; was it written by another version?")
    return verdict


def ensure_unchanged(run: Path, *, written_anew: Collection[str] = (), may_lack_recordings: bool = False) -> bool:
    """Check a run directory's manifest; false if it has none, which is said on stderr. Raises :class:`UsageError`."""
    try:
        verified = verify(run, written_anew=written_anew, may_lack_recordings=may_lack_recordings) is not None
    except (BadSummaryError, OSError) as error:
        raise UsageError(str(error)) from error
    if not verified:
        print(f"{run}: {UNVERIFIED}", file=sys.stderr)
    return verified


def recorded_files(run: Path, names: tuple[str, ...]) -> dict[str, bytes]:
    """The content of these files of a run directory; raises :class:`UsageError` for the first that is missing."""
    found: dict[str, bytes] = {}
    for name in names:
        try:
            found[name] = (run / name).read_bytes()
        except OSError as error:
            raise UsageError(f"{run / name}: cannot be read: {error.strerror or error}") from error
    return found
