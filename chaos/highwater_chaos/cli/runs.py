"""``highwater runs``: the runs below a directory, as a list, as a page, and those that may go."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.markup import escape
from rich.table import Table

from highwater_chaos.base.quantities import parse_duration
from highwater_chaos.base.words import counted
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.cli.output import check_files, print_table, writing
from highwater_chaos.report.run_index import RunRow, campaigns_below, holds_others, printable, runs_below, write_index
from highwater_runtime.ports import SECOND

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def runs(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Where runs and campaigns are.")] = Path("runs"),
    verdict: Annotated[
        Literal["pass", "fail", "inconclusive", "unreadable"] | None,
        typer.Option(show_default=False, help="Only runs with this verdict."),
    ] = None,
    older_than: Annotated[
        str | None,
        typer.Option(metavar="DURATION", show_default=False, help="Only runs that were judged so long ago: 12h."),
    ] = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", show_default=False, help="Write a page that links to their reports.")
    ] = None,
    prune: Annotated[bool, typer.Option("--prune", help="Delete these runs; needs --older-than or --verdict.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --prune: say what would be deleted.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """List the judged runs below a directory, the latest first.

    A run directory has experiment.yaml, run.json and verdict.json. Nothing else is ever deleted, and no link is
    followed. A run whose verdict cannot be read is not deleted, nor one in which others lie.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory}: expected a directory with runs; they are below 'runs/' or your --out")
    if prune and verdict is None and older_than is None:
        raise UsageError("--prune deletes run directories: say which, with --older-than or --verdict")
    if dry_run and not prune:
        raise UsageError("--dry-run needs --prune")
    check_files({"--html": html})
    unreadable: dict[Path, None] = {}
    found = runs_below(directory, unreadable)
    _check_page(html, found)
    before = None if older_than is None else time.time() - _seconds(older_than)
    rows = [
        row for row in found if (verdict is None or row.verdict == verdict) and (before is None or row.judged < before)
    ]
    problems = [f"{printable(one)}: cannot be read; runs in it are not listed" for one in unreadable]
    if prune:
        rows = [row for row in rows if _may_go(row, problems)]
        rows = rows if dry_run else [row for row in rows if _is_deleted(row, problems)]
    if html is not None:
        with writing(html, "--html"):
            html.parent.mkdir(parents=True, exist_ok=True)
            shown = runs_below(directory, {}) if prune else rows
            write_index(html, directory, shown, campaigns_below(directory))
    if as_json:
        print(
            json.dumps(
                {"runs": [row.to_dict() for row in rows], **({"deleted": not dry_run} if prune else {})}, indent=2
            )
        )
        _raise(problems)
        return
    if rows:
        print_table(_table(rows))
    size = _size(sum(row.size for row in rows))
    done = "" if not prune else " would be deleted" if dry_run else " deleted"
    print(f"{counted(len(rows), 'run')}, {size}{done}")
    _raise(problems)


def _check_page(html: Path | None, found: list[RunRow]) -> None:
    if html is None:
        return
    if html.exists() and not html.is_file():
        raise UsageError(f"--html {html}: expected a file to write, found something else; choose another name")
    runs_here = {row.directory.resolve() for row in found}
    if runs_here & {*html.absolute().parent.resolve().parents, html.absolute().parent.resolve()}:
        raise UsageError(f"--html {html}: lies in a run directory; choose another place")


def _may_go(row: RunRow, problems: list[str]) -> bool:
    if row.verdict == "unreadable":
        problems.append(f"{printable(row.directory)}: not deleted: its verdict cannot be read, so it may be no run")
    elif holds_others(row.directory):
        problems.append(f"{printable(row.directory)}: not deleted: another run or a campaign lies in it")
    else:
        return True
    return False


def _is_deleted(row: RunRow, problems: list[str]) -> bool:
    try:
        shutil.rmtree(row.directory)
    except OSError as error:
        problems.append(f"{printable(row.directory)}: cannot be deleted: {error.strerror or error}")
        return False
    return True


def _raise(problems: list[str]) -> None:
    if problems:
        raise UsageError("\n".join(problems))


def _seconds(text: str) -> float:
    try:
        return parse_duration(text) / SECOND
    except ValueError as error:
        raise UsageError(f"--older-than {text!r}: {error}") from error


def _table(rows: list[RunRow]) -> Table:
    table = Table(
        "JUDGED", "VERDICT", "SEED", "BACKEND", "LOST", "FOUND", "SIZE", "DIRECTORY", box=None, pad_edge=False
    )
    for row in rows:
        found = row.found
        cells = (
            row.when,
            row.verdict if found is None or found.as_expected else f"{row.verdict}, not as expected",
            "" if found is None else str(found.seed),
            "" if found is None else found.backend,
            "" if found is None or found.lost is None else str(found.lost),
            "" if found is None else ", ".join(found.anomalies),
            _size(row.size),
            str(row.directory),
        )
        table.add_row(*(escape(printable(cell)) for cell in cells))
    return table


def _size(size: float) -> str:
    for unit in _UNITS[:-1]:
        if size < 1024:
            return f"{size:.0f} {unit}"
        size /= 1024
    return f"{size:.0f} {_UNITS[-1]}"
