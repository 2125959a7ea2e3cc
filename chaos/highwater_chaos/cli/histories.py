"""What ``highwater check`` is asked to judge: run directories and files of operations, by their paths."""

from __future__ import annotations

import glob
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from urllib.parse import unquote, urlsplit

from highwater_chaos.cli.exits import UsageError
from highwater_chaos.run_summary import is_run_directory
from highwater_pipeline.store import is_stored_run
from highwater_pipeline.tables import NODE_EVENTS_FILE, OPERATIONS_FILE, REPLICA_LOG_FILE

_LEVELS: Final = 2
"""How far below a directory runs are looked for: ``runs/campaign/run``."""
_TABLES: Final = (OPERATIONS_FILE, NODE_EVENTS_FILE, REPLICA_LOG_FILE)


def histories_of(path: str) -> list[Path]:
    """Return all runs and files that a path names, each once, in order.

    It is a run directory, a run of a store, a directory of such, a file, a pattern of any of them, or a ``file://``
    address.

    Raises:
        UsageError: it names nothing.
    """
    return list(dict.fromkeys(_named(path)))


def bytes_of(history: Path) -> int:
    """Return the size of the tables that checks read."""
    if history.is_file():
        return history.stat().st_size
    if is_stored_run(history):
        return sum(file.stat().st_size for file in history.glob("*/*.parquet"))
    files = [history / f"{name}{suffix}" for name in _TABLES for suffix in (".jsonl", ".parquet")]
    return sum(file.stat().st_size for file in files if file.is_file())


def _named(path: str) -> list[Path]:
    local = _local(path)
    if local.is_dir() and not _is_one_run(local):
        return list(_below(local, _LEVELS)) or [local]  # what reads it says why it is no run
    if local.exists():
        return [local]
    matches = [Path(name) for name in sorted(glob.glob(str(local)))]  # noqa: PTH207 - absolute patterns too
    if not matches:
        raise UsageError(f"{path}: no such file or directory")
    return [one for match in matches for one in _named(str(match))]


def _local(path: str) -> Path:
    if "://" not in path:
        return Path(path)
    try:
        address = urlsplit(path)
    except ValueError as error:
        raise UsageError(f"{path}: expected a path or a file:// address: {error}") from error
    if address.scheme != "file" or address.netloc not in ("", "localhost"):
        raise UsageError(
            f"{path}: expected a path or a file:// address, found {address.scheme}://{address.netloc}: copy the run"
            " here first, or mount the store"
        )
    return Path(unquote(address.path))


def _is_one_run(directory: Path) -> bool:
    tables = (directory / f"{OPERATIONS_FILE}{suffix}" for suffix in (".jsonl", ".parquet"))
    return is_stored_run(directory) or is_run_directory(directory) or any(table.exists() for table in tables)


def _below(directory: Path, levels: int) -> Iterator[Path]:
    for child in sorted(one for one in directory.iterdir() if one.is_dir()):
        if _is_one_run(child):
            yield child
        elif levels > 1:
            yield from _below(child, levels - 1)
