"""All runs below a directory, and the campaigns they belong to: as rows, and as one page that links to their reports.

A run counts if it was judged: its directory has ``experiment.yaml``, ``run.json`` and ``verdict.json``. Files may be
anybody's: they are read up to a bound, never through a symbolic link, and what is no verdict is called unreadable.
Directories may vanish meanwhile, or not be readable; they are left out, the latter by name.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, Final
from urllib.parse import quote

import msgspec

from highwater_chaos.base.words import counted
from highwater_chaos.report.html import render_page

_LEVELS: Final = 3
"""How far below the directory: ``campaigns/NAME/runs/RUN``."""
_LONGEST: Final = 64 << 20
_OF_RUNS: Final = ("experiment.yaml", "run.json", "verdict.json")
_OF_CAMPAIGNS: Final = ("campaign.json", "campaign.html")
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
        """Empty where the file system's time is no date."""
        try:
            return self._when()
        except (ValueError, OverflowError, OSError):
            return ""

    def _when(self) -> str:
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


def runs_below(directory: Path, unreadable: dict[Path, None]) -> list[RunRow]:
    """Every judged run, the latest first; ``directory`` may be one itself. What lies in a run is part of it.

    ``unreadable`` gets the directories that could not be looked into.
    """
    rows = [row for run in _directories(directory, _OF_RUNS, unreadable) if (row := _row(run)) is not None]
    return sorted(rows, key=lambda row: (-row.judged, str(row.directory)))


def campaigns_below(directory: Path) -> list[Path]:
    """Every campaign that has a page."""
    return sorted(_directories(directory, _OF_CAMPAIGNS, {}))


def holds_others(run: Path) -> bool:
    """Whether something lies in a run directory that no run writes: another run, or a campaign."""
    inner = [Path(folder) for folder, _, _ in os.walk(run)][1:]
    return any(_is_file(folder / name) for folder in inner for name in ("verdict.json", "campaign.json"))


def write_index(page: Path, directory: Path, rows: Sequence[RunRow], campaigns: Sequence[Path]) -> None:
    """Write the page; it links to reports by their paths from its own folder."""

    def link(path: Path) -> str:
        return quote(os.fsencode(os.path.relpath(path.absolute(), page.absolute().parent)))

    wrong = sum(row.found is None or row.verdict == "unreadable" or not row.found.as_expected for row in rows)
    text = render_page(
        "runs.html.j2",
        title=printable(directory.resolve() if directory.name in ("", "..") else directory),
        verdict="fail" if wrong else "pass",
        sentence=f"{counted(len(rows), 'run')}, {f'{wrong:,} not' if wrong else 'all'} as expected.",
        campaigns=[
            {
                "name": printable(one.relative_to(directory) if one != directory else one.absolute().name),
                "page": link(one / "campaign.html"),
            }
            for one in campaigns
        ],
        rows=[
            {**row.to_dict(), "run": printable(row.directory.name), "report": _report(row.directory, link)}
            for row in rows
        ],
    )
    unfinished = page.with_name(f".{page.name}.{token_hex(8)}")
    with unfinished.open("x", encoding="utf-8", errors="replace") as file:
        file.write(text)
    os.replace(unfinished, page)  # noqa: PTH105 - atomic, as its name says


def printable(what: object) -> str:
    """A name as it can be shown: without control characters, and without bytes that are no text."""
    return "".join(character if character.isprintable() else "?" for character in str(what))


def _report(run: Path, link: Any) -> str:
    return link(run / "report.html") if _is_file(run / "report.html") else ""


def _directories(
    directory: Path, files: Sequence[str], unreadable: dict[Path, None], levels: int = _LEVELS
) -> Iterator[Path]:
    """Directories that have all these files; what is hidden is being written, and links are not followed."""
    if all(_is_file(directory / file) for file in files):
        yield directory
        return
    try:
        with os.scandir(directory) as entries:
            children = sorted(
                one.name for one in entries if not one.name.startswith(".") and one.is_dir(follow_symlinks=False)
            )
    except FileNotFoundError:
        return
    except OSError:
        unreadable[directory] = None
        return
    for name in children if levels else ():
        yield from _directories(directory / name, files, unreadable, levels - 1)


def _is_file(path: Path) -> bool:
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return False


def _row(run: Path) -> RunRow | None:
    """Return the row of a run directory; None: the directory has vanished."""
    size = 0
    for folder, _, names in os.walk(run):
        for name in names:
            with suppress(OSError):
                size += (Path(folder) / name).lstat().st_size
    path = run / "verdict.json"
    try:
        return RunRow(run, path.lstat().st_mtime, size, _verdict(path))
    except OSError:
        return None


def _verdict(path: Path) -> _Verdict | None:
    try:
        with os.fdopen(os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as file:
            text = file.read(_LONGEST + 1)
        return None if len(text) > _LONGEST else msgspec.json.decode(text, type=_Verdict)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
