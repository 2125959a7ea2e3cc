"""A run's tables as Parquet, written while the run goes on: each as a whole, and split by partition.

::

    history/operations.parquet   events/nodes.parquet   dumps/replica_log.parquet
    units/stored.json
    units/history/partition-TOPIC-0.parquet   units/events/…   units/replica_log/…

The whole tables have every column and every row, in the order of the run: reports, exports and other tools read them.
``units`` is the same as in a store (:mod:`~highwater_pipeline.partitions.store`): checks read it.

Both come from one pass over the recording, in bounded memory: of each whole table a group of rows, and what
``Splitter`` keeps. The bytes depend on the rows alone, and not on the parts
in which they came. Footers and ``stored.json`` are written at the end, so an unfinished recording cannot be read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pyarrow as pa

from highwater_pipeline.partitions.partition_tables import Splitter, counts_of_kinds
from highwater_pipeline.partitions.store import Home, StoredRun, open_run_at, write_split
from highwater_pipeline.tables.files import BadTableError, TableFile
from highwater_pipeline.tables.recorded_events import write_recorded_events
from highwater_pipeline.tables.recordings import NODE_EVENTS_FILE, OPERATIONS_FILE, REPLICA_LOG_FILE, RUN_FILE, UNITS
from highwater_pipeline.tables.remote import AnyPath
from highwater_pipeline.tables.rows import NODE_EVENT_ROWS, OPERATION_ROWS, REPLICA_LOG_ROWS, RowKind
from highwater_pipeline.tables.run_tables import RunParts, open_run
from highwater_pipeline.tables.schemas import RUN_ID

LARGE_TABLES: Final[dict[str, RowKind[Any]]] = {
    OPERATIONS_FILE: OPERATION_ROWS,
    NODE_EVENTS_FILE: NODE_EVENT_ROWS,
    REPLICA_LOG_FILE: REPLICA_LOG_ROWS,
}
"""The tables that grow with a run, by their files without a suffix."""


class RunWriter:
    """Writes the large tables of one run below ``directory``: :meth:`add` takes parts, those of a table in order;
    :meth:`close` ends them.

    ``units``: whether to split the run too; a run with registers is not judged by partition.
    """

    def __init__(self, directory: Path, *, units: bool = True) -> None:
        self._directory: Final = directory
        self._files: Final = {
            name: TableFile(directory / f"{name}.parquet", _without_run_id(kind.schema))
            for name, kind in LARGE_TABLES.items()
        }
        self._counts: Counter[str] = Counter()
        self._splitter: Final = Splitter(str(directory / OPERATIONS_FILE), apart=True) if units else None
        self._split: Final[dict[str, Callable[[pa.Table], None]]] = {}
        if self._splitter is not None:
            self._split[OPERATIONS_FILE] = self._splitter.add_operations
            self._split[NODE_EVENTS_FILE] = self._splitter.add_events
            self._split[REPLICA_LOG_FILE] = self._splitter.add_replica_log

    def add(self, table: str, part: pa.Table) -> None:
        """Take in the next rows of a table of :data:`LARGE_TABLES`.

        Raises:
            BadTableError: no single-threaded processes can have made this history.
            OSError: they cannot be written.
        """
        self._files[table].add(part.drop_columns([RUN_ID.name]))
        if table == NODE_EVENTS_FILE:
            self._counts.update(counts_of_kinds(part))
        if (split := self._split.get(table)) is not None:
            split(part)

    def close(
        self, run: RunParts, checks: tuple[str, ...] | None, *, progress: Callable[[], None] = lambda: None
    ) -> None:
        """End the tables. Of ``run`` only what is no large table is read; ``checks``: those that it is to be judged by;
        ``progress`` is called for each partition.

        Raises:
            OSError: they cannot be written.
        """
        for file in self._files.values():
            file.close()
        if run.recorded_events is not None:
            run = replace(
                run, recorded_events=write_recorded_events(self._directory, run.recorded_events, self._counts)
            )
        if self._splitter is not None:
            facts, units = self._splitter.finish(run)
            write_split(Home(self._directory / UNITS, ""), facts, units, checks, progress=progress)


def _without_run_id(schema: pa.Schema) -> pa.Schema:
    """The columns of a whole table: ``run.json`` has the run's key, so equal runs have equal tables."""
    return schema.remove(schema.get_field_index(RUN_ID.name))


def recorded_units(directory: AnyPath, checks: tuple[str, ...] | None) -> StoredRun | None:
    """The units of a run directory, to be judged by ``checks``; None: it has none, or as an earlier version wrote them,
    and is judged by its whole tables.

    Raises:
        BadTableError: they are not whole, or not those of the run beside them.
    """
    units = directory.absolute() / UNITS
    if not units.is_dir() or not any(True for _ in units.glob("*")) or any(True for _ in units.glob("run_id=*")):
        return None
    stored, run = open_run_at(Home(units, "")), open_run(directory)
    if run.label and stored.facts.run_id != run.label:
        raise BadTableError(
            f"{units}: expected the run {run.label!r}, as {RUN_FILE} says, found {stored.facts.run_id!r}"
        )
    if stored.facts.settings != run.settings:
        raise BadTableError(
            f"{units}: expected what was promised by run.json, {run.settings}, found {stored.facts.settings}"
        )
    return replace(stored, facts=replace(stored.facts, run_id=run.run_id), checks=checks)
