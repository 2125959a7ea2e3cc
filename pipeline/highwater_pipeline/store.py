"""Runs kept as units: what is judged again and again, or is too long for one task to read, is split once, on disk.

A store holds for each run a directory ``run_id=<id>`` with ``stored.json``, and in it for each partition a directory
``partition=<name>`` with ``history.parquet``, ``events.parquet`` and ``replica_log.parquet``: exactly the tables that a
kernel sees. So each Spark task reads the files of its own units, and nothing is shuffled.

``stored.json`` names all partitions and how many rows each table has, so that what is missing is an error, not a pass.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from highwater_pipeline.files import BadTable, write_parquet
from highwater_pipeline.remote import AnyPath, RemotePath, arrow_of
from highwater_pipeline.tables import RunParts, RunTables
from highwater_pipeline.units import UNIT_SCHEMAS, RunFacts, Unit, split
from highwater_pipeline.view import View

_STORED: Final = "stored.json"
_RUN: Final = "run_id="
_LONGEST: Final = 200
"""Characters of a name in a directory's name, which may have 255 bytes. A topic's name alone may have 249."""


class _UnitEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A unit in ``stored.json``: ``rows`` by table."""

    partition: str
    rows: dict[str, int]


class _RunEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``stored.json``. ``checks``: those that the run is to be judged by, None for all."""

    version: Literal[1] = 1
    facts: RunFacts
    checks: tuple[str, ...] | None
    units: tuple[_UnitEntry, ...]


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """Where one unit of a store lies, and how many rows each of its tables has."""

    directory: AnyPath
    partition: str
    rows: dict[str, int]


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run of a store: its facts, the checks that it is to be judged by (None: all), its units in order of
    partition."""

    facts: RunFacts
    checks: tuple[str, ...] | None
    units: tuple[StoredUnit, ...]


def write_units(
    run: RunTables | RunParts,
    store: AnyPath,
    checks: tuple[str, ...] | None = None,
    complete: Callable[[RunFacts], RunFacts] = lambda facts: facts,
) -> AnyPath:
    """Split a run and write it into ``store``; returns the run's directory, which has its name when it is whole.

    Of a run that is read part by part no more is in memory than :func:`~highwater_pipeline.units.split` says.
    ``complete`` adds to the facts what the tables do not say.

    Raises:
        FileExistsError: the store has that run already.
        BadTable: the run cannot be read.
    """
    directory = stored_directory(store, run.run_id)
    exists = FileExistsError(f"{directory}: the store has this run already; remove it, or write to another store")
    if isinstance(directory, RemotePath):
        # Nothing can be renamed there: the run is whole when it has this file, which is written last.
        if (directory / _STORED).exists():
            raise exists
        _write_run(run, directory, checks, complete)
        return directory
    if directory.exists():
        raise exists
    directory.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    try:
        _write_run(run, partial, checks, complete)
        partial.chmod(0o755)
        try:
            partial.rename(directory)
        except OSError as error:
            if error.errno in (errno.ENOTEMPTY, errno.EEXIST):  # another process was faster
                raise exists from error
            raise
    except BaseException:
        shutil.rmtree(partial)
        raise
    return directory


def _write_run(
    run: RunTables | RunParts,
    directory: AnyPath,
    checks: tuple[str, ...] | None,
    complete: Callable[[RunFacts], RunFacts],
) -> None:
    facts, units = split(run)
    entries = tuple(_write_unit(directory, unit) for unit in units)
    entry = _RunEntry(facts=complete(facts), checks=checks, units=entries)
    (directory / _STORED).write_bytes(msgspec.json.encode(entry))


def stored_directory(store: AnyPath, run_id: str) -> AnyPath:
    """Where a store has, or would have, the run of that id."""
    return store / _segment(_RUN, run_id)


def is_stored_run(directory: AnyPath) -> bool:
    """Whether a directory is one of a run in a store, whole or not."""
    # An object store is not asked: opening the run says whether it is there, and a store may have thousands.
    return directory.name.startswith(_RUN) and (isinstance(directory, RemotePath) or directory.is_dir())


def stored_runs(store: AnyPath) -> list[StoredRun]:
    """The runs of a store, in order of their names.

    Raises :class:`~highwater_pipeline.files.BadTable` for a run that was not written to its end, or
    where there is none.
    """
    directories: list[AnyPath] = sorted(store.glob(f"{_RUN}*"), key=str)
    if not directories:
        raise BadTable(f"{store}: expected a store with directories {_RUN}…, found none")
    return [open_stored_run(directory) for directory in directories]


def open_stored_run(directory: AnyPath) -> StoredRun:
    """One run of a store, by its directory.

    Raises :class:`~highwater_pipeline.files.BadTable` where it was not written to its end.
    """
    try:
        entry = msgspec.json.decode((directory / _STORED).read_bytes(), type=_RunEntry)
    except (OSError, msgspec.DecodeError) as error:
        raise BadTable(
            f"{directory}: expected {_STORED} of a run that was written to its end, found: {error}"
        ) from error
    units = (
        StoredUnit(directory / _segment("partition=", one.partition), one.partition, one.rows) for one in entry.units
    )
    return StoredRun(entry.facts, entry.checks, tuple(units))


def read_unit(facts: RunFacts, unit: StoredUnit) -> Unit:
    """One unit of a stored run.

    Raises :class:`~highwater_pipeline.files.BadTable` where a table is not the one that was written.
    """
    history, events, replica_log = (View.of(_read(unit, name)) for name in UNIT_SCHEMAS)
    return Unit(facts, unit.partition, history, events, replica_log)


def _write_unit(directory: AnyPath, unit: Unit) -> _UnitEntry:
    rows: dict[str, int] = {}
    for name in UNIT_SCHEMAS:
        table = getattr(unit, name).to_arrow()
        write_parquet(directory / _segment("partition=", unit.partition) / f"{name}.parquet", table)
        rows[name] = table.num_rows
    return _UnitEntry(unit.partition, rows)


def _read(unit: StoredUnit, name: str) -> pa.Table:
    path, schema = unit.directory / f"{name}.parquet", UNIT_SCHEMAS[name]
    try:
        where, filesystem = arrow_of(path)
        table = pq.read_table(where, filesystem=filesystem, partitioning=None)
    except (OSError, pa.ArrowException) as error:
        raise BadTable(f"{path}: expected a table of a store, found: {error}") from error
    if (table.schema.names, table.schema.types) != (schema.names, schema.types):
        raise BadTable(f"{path}: expected the columns {', '.join(schema.names)}, found {', '.join(table.schema.names)}")
    if table.num_rows != unit.rows.get(name):
        raise BadTable(f"{path}: expected {unit.rows.get(name)} rows, as {_STORED} says, found {table.num_rows}")
    return table


def _segment(prefix: str, name: str) -> str:
    """A directory's name for a run or a partition: the name itself, or, if that is too long, how it begins and a
    digest."""
    quoted = quote(name, safe="")
    if len(quoted) > _LONGEST:
        quoted = f"{quoted[: _LONGEST - 33]}~{hashlib.sha256(name.encode()).hexdigest()[:32]}"
    return prefix + quoted
