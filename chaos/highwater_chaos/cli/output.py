"""Where a command may write."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.console import Console
from rich.table import Table

from highwater_chaos.cli.exits import UsageError

_ONE_LINE: Final = 4_000


def check_output(folder: Path, option: str) -> None:
    """Raise :class:`UsageError` unless ``folder`` is, or could be made, a directory to write to; makes nothing."""
    existing = folder.absolute()
    try:
        os.fsencode(existing).decode("utf-8")
    except UnicodeDecodeError as error:
        raise UsageError(
            f"{option}: expected a path in UTF-8, which reports and recordings can hold, found"
            f" {os.fsencode(existing)!r}; choose another place"
        ) from error
    while not existing.exists():
        if existing.is_symlink():
            raise UsageError(
                f"{option} {folder}: expected a directory, found that {existing} is a link to {existing.readlink()},"
                " which is not there; make that, or choose another place"
            )
        existing = existing.parent
    if not existing.is_dir():
        raise UsageError(
            f"{option} {folder}: expected a directory, found that {existing} is a file; choose another place"
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UsageError(f"{option}: no permission to write to {existing}")


def check_files(files: Mapping[str, Path | None]) -> None:
    """Raise :class:`UsageError` unless each file, by its option, could be written; None: it is not asked for."""
    given = [file.absolute() for file in files.values() if file is not None]
    if len(set(given)) < len(given):
        raise UsageError(f"{' and '.join(files)}: expected different files")
    for option, file in files.items():
        if file is not None:
            check_output(file.parent, option)
            if file.is_dir():
                raise UsageError(f"{option} {file}: is a directory; expected a file to write")


@contextmanager
def writing(file: Path, option: str) -> Iterator[None]:
    """Raise :class:`UsageError` if what is done here cannot write ``file``: its disk is full, or has failed."""
    try:
        yield
    except OSError as error:
        raise UsageError(f"{option} {file}: cannot be written: {error.strerror or error}") from error


def print_table(table: Table) -> None:
    """On a terminal in its width; elsewhere, for grep and awk, each row in one line however long."""
    if (console := Console()).is_terminal:
        console.print(table)
        return
    console = Console(width=_ONE_LINE)
    with console.capture() as printed:
        console.print(table)
    console.print("\n".join(line.rstrip() for line in printed.get().splitlines()), markup=False, highlight=False)
