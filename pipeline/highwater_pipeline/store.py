"""Runs kept as units: what is judged again and again, or is too long for one task to read, is split once, on disk.

A store holds, for each run, ``run_id=<id>/facts.json`` and for each of its partitions a directory
``run_id=<id>/partition=<name>/`` with ``history.parquet``, ``events.parquet`` and ``replica_log.parquet``: exactly the
tables that a kernel sees. So each Spark task reads the files of its own units, and nothing is shuffled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import quote, unquote

import msgspec
import pyarrow.parquet as pq

from highwater_pipeline.files import BadTable, write_parquet
from highwater_pipeline.tables import RunTables
from highwater_pipeline.units import RunFacts, Unit, split
from highwater_pipeline.view import View

_FACTS: Final = "facts.json"
_TABLES: Final = ("history", "events", "replica_log")


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run of a store: its facts, and the directories of its units in order of partition."""

    facts: RunFacts
    units: tuple[Path, ...]


def write_units(tables: RunTables, store: Path) -> Path:
    """Split a run and write it into ``store``; returns the run's directory.

    Raises ``FileExistsError`` where the store has that run already.
    """
    directory = store / f"run_id={quote(tables.run_id, safe='')}"
    directory.mkdir(parents=True)
    facts, units = split(tables)
    for unit in units:
        for name in _TABLES:
            view: View = getattr(unit, name)
            file = directory / f"partition={quote(unit.partition, safe='')}" / f"{name}.parquet"
            write_parquet(file, view.to_arrow())
    # Written last: a run without facts is one that was not written to its end.
    (directory / _FACTS).write_bytes(msgspec.json.encode(facts))
    return directory


def stored_runs(store: Path) -> list[StoredRun]:
    """The runs of a store, in order of their names.

    Raises :class:`~highwater_pipeline.files.BadTable` for a run that was not written to its end, or
    where there is none.
    """
    directories = sorted(store.glob("run_id=*"))
    if not directories:
        raise BadTable(f"{store}: expected a store with directories run_id=…, found none")
    return [_stored_run(directory) for directory in directories]


def read_unit(facts: RunFacts, directory: Path) -> Unit:
    """One unit of a stored run."""
    history, events, replica_log = (
        View.of(pq.read_table(directory / f"{name}.parquet", partitioning=None)) for name in _TABLES
    )
    return Unit(facts, _partition_of(directory), history, events, replica_log)


def _stored_run(directory: Path) -> StoredRun:
    try:
        facts = msgspec.json.decode((directory / _FACTS).read_bytes(), type=RunFacts)
    except (OSError, msgspec.DecodeError) as error:
        raise BadTable(
            f"{directory}: expected {_FACTS} of a run that was written to its end, found: {error}"
        ) from error
    units: Sequence[Path] = sorted(directory.glob("partition=*"), key=_partition_of)
    return StoredRun(facts, tuple(units))


def _partition_of(directory: Path) -> str:
    return unquote(directory.name.partition("=")[2])
