"""All runs below a directory, and the campaigns they belong to: as rows, and as one page that links to their reports.

A run counts if it was judged: its directory has ``verdict.json`` and ``experiment.yaml``. Files may be anybody's: they
are read up to a bound, never through a symbolic link, and what is no verdict is called unreadable.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import msgspec

from highwater_chaos.report.html import render_page

_LEVELS: Final = 3
"""How far below the directory: ``campaigns/NAME/runs/RUN``."""
_LONGEST: Final = 64 << 20
_VERDICTS: Final = ("pass", "fail", "inconclusive")


class _Found(msgspec.Struct):
    count: int


class _Verdict(msgspec.Struct, rename="camel"):
    """What is shown of a ``verdict.json``."""

    name: str
    verdict: str
    as_expected: bool
    seed: int
    backend: str
    anomalies: dict[str, _Found]
    acknowledged: int
    lost: int | None = None
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class RunRow:
    """One judged run. ``judged``: when its verdict was written, in seconds since 1970."""

    directory: Path
    judged: float
    size: int
    """Bytes of all its files."""
    found: _Verdict | None
    """None: its verdict cannot be read."""

    @property
    def verdict(self) -> str:
        """pass, fail, inconclusive, or unreadable."""
        return "unreadable" if self.found is None or self.found.verdict not in _VERDICTS else self.found.verdict

    @property
    def when(self) -> str:
        return datetime.fromtimestamp(self.judged, UTC).strftime("%Y-%m-%d %H:%M:%SZ")

    def to_dict(self) -> dict[str, Any]:
        found = self.found
        return {
            "dir": str(self.directory),
            "judged": self.when,
            "bytes": self.size,
            "verdict": self.verdict,
            "name": None if found is None else found.name,
            "seed": None if found is None else found.seed,
            "backend": None if found is None else found.backend,
            "asExpected": None if found is None else found.as_expected,
            "acknowledged": None if found is None else found.acknowledged,
            "lost": None if found is None else found.lost,
            "anomalies": {} if found is None else {name: one.count for name, one in found.anomalies.items()},
            "explanation": "" if found is None else found.explanation,
        }


def runs_below(directory: Path) -> list[RunRow]:
    """Every judged run, the latest first."""
    rows = [_row(run) for run in _directories(directory, "experiment.yaml", "verdict.json")]
    return sorted(rows, key=lambda row: (-row.judged, str(row.directory)))


def campaigns_below(directory: Path) -> list[Path]:
    """Every campaign that has a page."""
    return sorted(_directories(directory, "campaign.json", "campaign.html"))


def write_index(page: Path, directory: Path, rows: Sequence[RunRow], campaigns: Sequence[Path]) -> None:
    """Write the page; it links to reports by their paths from its own folder."""

    def link(path: Path) -> str:
        return quote(os.path.relpath(path.absolute(), page.absolute().parent))

    wrong = sum(row.found is None or not row.found.as_expected for row in rows)
    text = render_page(
        "runs.html.j2",
        title=str(directory),
        verdict="fail" if wrong else "pass",
        sentence=f"{len(rows)} runs, {f'{wrong} not' if wrong else 'all'} as expected.",
        campaigns=[{"name": one.name, "page": link(one / "campaign.html")} for one in campaigns],
        rows=[{**row.to_dict(), "run": row.directory.name, "report": _report(row.directory, link)} for row in rows],
    )
    unfinished = page.with_name(f".{page.name}")
    unfinished.write_text(text, encoding="utf-8")
    os.replace(unfinished, page)  # noqa: PTH105 - atomic, as its name says


def _report(run: Path, link: Any) -> str:
    return link(run / "report.html") if _is_file(run / "report.html") else ""


def _directories(directory: Path, *files: str, levels: int = _LEVELS) -> Iterator[Path]:
    """Directories that have all these files; what is hidden is being written, and links are not followed."""
    with os.scandir(directory) as entries:
        children = sorted(
            one.name for one in entries if not one.name.startswith(".") and one.is_dir(follow_symlinks=False)
        )
    for name in children:
        child = directory / name
        if all(_is_file(child / file) for file in files):
            yield child
        if levels > 1:
            yield from _directories(child, *files, levels=levels - 1)


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _row(run: Path) -> RunRow:
    size = 0
    for folder, _, names in os.walk(run):
        for name in names:
            size += (Path(folder) / name).lstat().st_size
    path = run / "verdict.json"
    return RunRow(run, path.lstat().st_mtime, size, _verdict(path))


def _verdict(path: Path) -> _Verdict | None:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            text = file.read(_LONGEST + 1)
        return None if len(text) > _LONGEST else msgspec.json.decode(text, type=_Verdict)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
