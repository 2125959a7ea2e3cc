"""What ``highwater check`` is asked to judge: run directories and files of operations, by their paths."""

from __future__ import annotations

import glob
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import Final

from highwater_chaos.base.scratch import ScratchDirectory
from highwater_chaos.cli.exits import UsageError
from highwater_chaos.run.summary import is_run_directory
from highwater_pipeline.partitions.store import earlier_runs, files_of, is_of_store, is_store, is_stored_run, runs_of
from highwater_pipeline.tables.recordings import NODE_EVENTS_FILE, OPERATIONS_FILE, REPLICA_LOG_FILE, UNITS
from highwater_pipeline.tables.remote import AnyPath, BadAddressError, RemotePath, located, parent_of_pattern

_LEVELS: Final = 2
"""How far below a directory runs are looked for: ``runs/campaign/run``."""
_TABLES: Final = (OPERATIONS_FILE, NODE_EVENTS_FILE, REPLICA_LOG_FILE)


def histories_of(path: str) -> list[AnyPath]:
    """Return all runs and files that a path names, each once, in order.

    It is a run directory, a run of a store, a directory of such, a file, a pattern of any of them, or an address
    (``file://``, ``s3://``, ``s3a://``, ``hdfs://``).

    Raises:
        UsageError: it names nothing, or the store cannot be asked.
    """
    try:
        place = located(path)
        named = _named_in_store(place) if isinstance(place, RemotePath) else _named(path, place)
        return list(dict.fromkeys(named))
    except (BadAddressError, OSError) as error:
        raise UsageError(str(error)) from error


@contextmanager
def at_hand(history: AnyPath) -> Iterator[Path]:
    """A file or a run directory as local files: itself, or a copy that is gone when the block ends.

    Raises:
        UsageError: it cannot be copied.
    """
    if not isinstance(history, RemotePath):
        yield history
        return
    with ScratchDirectory("copy") as folder:
        copy = Path(folder) / history.name
        try:
            files = [history] if history.is_file() else [file for file, _ in history.files()]
            for file in files:
                relative = file.key.relative_to(history.key)
                if ".." in relative.parts:
                    raise UsageError(f"{file}: expected the files of a run, found a name with '..'")
                target = copy / relative
                target.parent.mkdir(parents=True, exist_ok=True)
                with file.open() as source, target.open("wb") as destination:
                    shutil.copyfileobj(source, destination, 1 << 20)
        except OSError as error:
            raise UsageError(str(error)) from error
        yield copy


def bytes_of(history: AnyPath) -> int:
    """Return the size of the tables that checks read."""
    if isinstance(history, RemotePath):
        tables = tuple(f"{name}{suffix}" for name in _TABLES for suffix in (".jsonl", ".parquet"))
        if is_stored_run(history):
            there = (one for one in files_of(history) if isinstance(one, RemotePath) and one.is_dir())
            return sum(size for directory in there for _, size in directory.files())
        return history.size() or sum(size for file, size in history.files() if str(file).endswith(tables))
    if history.is_file():
        return history.stat().st_size
    if is_stored_run(history):
        local = (one for one in files_of(history) if isinstance(one, Path))
        return sum(file.stat().st_size for directory in local for file in directory.glob("*.parquet"))
    if units := sum(file.stat().st_size for file in (history / UNITS).glob("*/*.parquet")):
        return units
    files = [history / f"{name}{suffix}" for name in _TABLES for suffix in (".jsonl", ".parquet")]
    return sum(file.stat().st_size for file in files if file.is_file())


def ensure_takes_store(place: AnyPath) -> None:
    """Raise :class:`UsageError` unless a store may be at ``place``: a file more makes a run directory unreadable, and a
    table of another store another one."""
    if earlier := earlier_runs(place):
        raise UsageError(
            f"{earlier[0]}: expected a store as this version writes it, found one of an earlier version; give another"
        )
    above = [] if isinstance(place, RemotePath) else [*place.absolute().parents]
    if (run := next((one for one in (place, *above) if is_run_directory(one)), None)) is not None:
        raise UsageError(f"{place}: expected a directory for a store, found one of the run {run}; give another")
    if (store := next((one for one in above if is_store(one)), None)) is not None:
        raise UsageError(f"{place}: expected a directory for a store, found one of the store {store}; give another")


def _named_in_store(path: RemotePath) -> list[AnyPath]:
    above, pattern = parent_of_pattern(path)
    matches = list(above.glob(pattern)) if pattern else [path] if path.exists() else []
    if not matches:
        RemotePath(path.scheme, path.bucket, PurePosixPath()).look_up()
        raise UsageError(f"{path}: no such file or directory")
    found: list[AnyPath] = []
    for match in matches:
        one = match.is_file() or _is_one_run(match)
        found += [match] if one else list(_below(match, _LEVELS)) or [match]
    return found


def _named(path: str, local: Path) -> list[AnyPath]:
    if local.is_dir() and not _is_one_run(local):
        return list(_below(local, _LEVELS)) or [local]  # what reads it says why it is no run
    if local.exists():
        return [local]
    matches = [Path(name) for name in sorted(glob.glob(str(local)))]  # noqa: PTH207 - absolute patterns too
    if not matches:
        raise UsageError(f"{path}: no such file or directory")
    if (dangling := next((match for match in matches if not match.exists()), None)) is not None:
        raise UsageError(f"{dangling}: expected a file or a directory, found a symbolic link to nothing")
    return [one for match in matches for one in _named(str(match), match)]


def _is_one_run(directory: AnyPath) -> bool:
    tables = (directory / f"{OPERATIONS_FILE}{suffix}" for suffix in (".jsonl", ".parquet"))
    return is_stored_run(directory) or is_run_directory(directory) or any(table.exists() for table in tables)


def _below(directory: AnyPath, levels: int) -> Iterator[AnyPath]:
    """Runs in a directory. What is hidden there is none: a harness writes it still, or was killed."""
    if is_store(directory.parent) and is_of_store(directory):
        directory = directory.parent  # what its directories have is no list of the runs
    in_store = is_store(directory)
    if in_store:
        yield from runs_of(directory)
    named = (one for one in directory.iterdir() if not (one.name.startswith(".") or (in_store and is_of_store(one))))
    for child in sorted(one for one in named if one.is_dir()):
        if _is_one_run(child):
            yield child
        elif levels > 1:
            yield from _below(child, levels - 1)
