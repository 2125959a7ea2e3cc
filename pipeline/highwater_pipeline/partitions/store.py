"""Runs that are stored as tables that everybody reads, and split by partition, as Spark's tasks and kernels read them.

::

    STORE/history/run_id=RUN/partition-orders-0.parquet      so are events and replica_log
    STORE/events/run_id=RUN/no-partition.parquet             events of the whole cluster, and others of no partition
    STORE/runs/run_id=RUN/whole.parquet                      so are verdicts, findings, faults, phases, metric_samples
    STORE/stored/run_id=RUN.json                             written last: without it the store does not have the run

Each table has one schema (``schemas``). The run's file in ``stored`` names all partitions and
the number of rows of each of their tables, and of the run's other tables. So a missing file is an error, not a pass.

The units of a run directory are the same, without ``run_id=RUN`` and the tables of which a run has one file.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal
from urllib.parse import quote

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.arrow.column_cache import ColumnCache
from highwater_pipeline.arrow.merged_rows import MergedRows
from highwater_pipeline.arrow.ranges import Rows
from highwater_pipeline.arrow.view import View
from highwater_pipeline.partitions.partial_directory import locked, partial_directory
from highwater_pipeline.partitions.partition_tables import CLUSTER_EVENTS, PartitionTables, RunFacts, SplitRun, split
from highwater_pipeline.partitions.stored_table import StoredTable, table_writer
from highwater_pipeline.tables.files import BadTableError, make_parent
from highwater_pipeline.tables.micro_operations import in_order
from highwater_pipeline.tables.remote import AnyPath, RemotePath, arrow_of, reaching
from highwater_pipeline.tables.run_tables import RunParts, RunTables
from highwater_pipeline.tables.schemas import BY_PARTITION, VERSION, WHOLE

_STORED: Final = "stored"
_RUNS: Final = "runs"
_RUN: Final = "run_id="
_LONGEST: Final = 200
"""Characters of a name in a file's name, which may have 255 bytes. A topic's name alone may have 249."""
LARGE = 1 << 16
"""Rows from which on a table is not read at once, but column by column as checks ask for them."""
GROUP = 1 << 17
"""Rows that are written, or read to look at a few of them, at once."""
KEPT = 384 << 20
"""Bytes of the columns of a unit's tables that stay in memory as they were read."""


class _UnitEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A unit in ``stored``: ``rows`` by table."""

    partition: str
    rows: dict[str, int]


class RunName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run is called by people: several runs may have the same. Empty: it was not recorded by Highwater."""

    name: str = ""
    seed: int | None = None
    backend: str = ""
    switches: dict[str, str] = {}


UNNAMED: Final = RunName()
_NEW: Final = (
    "a store of an earlier version is neither read nor added to: write the run directories into a new one (highwater"
    " store)"
)


class _RunEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A run in ``stored``. ``checks``: those that it is to be judged by, None for all; ``schemas``: the version of its
    tables; ``others``: how many events have no partition; ``whole``: rows of the tables that are not split (units
    of a run directory have none)."""

    version: Literal[3] = 3
    schemas: Literal[1] = VERSION
    facts: RunFacts
    called: RunName = UNNAMED
    checks: tuple[str, ...] | None
    units: tuple[_UnitEntry, ...]
    others: int = 0
    whole: dict[str, int] = {}


@dataclass(frozen=True, slots=True)
class Home:
    """Where the tables of a run are: below ``root``, in a directory ``run`` of each table (empty: in none)."""

    root: AnyPath
    run: str

    @classmethod
    def of_run(cls, directory: AnyPath) -> Home:
        """Where the tables of a run are that is given as :func:`is_stored_run` has it."""
        return cls(directory.parent.parent, directory.name)

    @classmethod
    def in_store(cls, store: AnyPath, run_id: str) -> Home:
        """Where a store has, or would have, the run of that key."""
        return cls(store, _RUN + _segment(run_id))

    def directory(self, table: str) -> AnyPath:
        """The files of one table."""
        return self.root / table / self.run if self.run else self.root / table

    def partition(self, table: str, partition: str) -> AnyPath:
        """The file of a partition in a table of :data:`~highwater_pipeline.tables.schemas.BY_PARTITION`."""
        return self.directory(table) / f"partition-{_segment(partition)}.parquet"

    def whole(self, table: str) -> AnyPath:
        """The file of a table of :data:`~highwater_pipeline.tables.schemas.WHOLE`."""
        return self.directory(table) / "whole.parquet"

    @property
    def others(self) -> AnyPath:
        """The file of the events that have no partition."""
        return self.directory("events") / "no-partition.parquet"

    @property
    def entry(self) -> AnyPath:
        """The file that says that the run is whole."""
        return self.root / _STORED / f"{self.run}.json" if self.run else self.root / f"{_STORED}.json"


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """One unit of a store: where it lies, how many rows each of its tables has, and the run that its files name.

    ``others``: how many events of the run have no partition.
    """

    home: Home
    partition: str
    rows: dict[str, int]
    mark: str
    others: int = 0

    def path(self, table: str) -> AnyPath:
        """The file of one of its tables."""
        return self.home.partition(table, self.partition)


@dataclass(frozen=True, slots=True)
class StoredRun:
    """One run of a store: its facts, the checks that it is to be judged by (None: all), its units in order of
    partition, what it is called."""

    facts: RunFacts
    checks: tuple[str, ...] | None
    units: tuple[StoredUnit, ...]
    called: RunName = UNNAMED


def write_units(
    run: RunTables | RunParts,
    store: AnyPath,
    checks: tuple[str, ...] | None = None,
    complete: Callable[[RunFacts], RunFacts] = lambda facts: facts,
    called: RunName = UNNAMED,
    whole: Mapping[str, Iterable[pa.Table]] | None = None,
) -> AnyPath:
    """Split a run and write it into ``store``; returns the directory of the run's row in the table of runs.

    Of a run that is read part by part no more is in memory than
    ``split`` says. ``complete`` adds to the facts what the tables do not say.
    ``whole``: the other tables (``WHOLE``), in parts; those that are missing are empty.

    Raises:
        FileExistsError: the store has that run already.
        BadTableError: the run cannot be read, or the store is of an earlier version.
    """
    home = Home.in_store(store, run.run_id)
    if earlier := earlier_runs(store):
        raise BadTableError(f"{earlier[0]}: expected a store as this version writes it; {_NEW}")
    _ensure_new(home)
    if isinstance(store, RemotePath):  # nothing can be renamed there
        _write_run(run, home, checks, complete, called, whole or {})
        return home.directory(_RUNS)
    store.mkdir(parents=True, exist_ok=True)
    with partial_directory(store) as partial:
        _write_run(run, Home(partial, home.run), checks, complete, called, whole or {})
        with locked(store):
            _ensure_new(home)  # still: another may have written the same run meanwhile
            for made in sorted(partial.glob("*/*"), key=lambda path: path.parent.name == _STORED):
                _move(made, store / made.relative_to(partial))
    return home.directory(_RUNS)


def _ensure_new(home: Home) -> None:
    if home.entry.exists():
        raise FileExistsError(
            f"{home.directory(_RUNS)}: the store has this run already; remove it, or write to another store"
        )


def _move(made: Path, place: Path) -> None:
    """Give a directory or a file its name. A directory that is there was left by a writer that did not come to its
    end."""
    place.parent.mkdir(exist_ok=True)
    try:
        made.rename(place)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        shutil.rmtree(place, ignore_errors=True)
        made.rename(place)


def _write_run(
    run: RunTables | RunParts,
    home: Home,
    checks: tuple[str, ...] | None,
    complete: Callable[[RunFacts], RunFacts],
    called: RunName,
    whole: Mapping[str, Iterable[pa.Table]],
) -> None:
    facts, units = split(run, apart=True)
    rows = {
        name: _write(home.whole(name), name, schema, whole.get(name, ()), facts.run_id)
        for name, schema in WHOLE.items()
    }
    write_split(home, complete(facts), units, checks, called, whole=rows)


def write_split(
    home: Home,
    facts: RunFacts,
    units: SplitRun,
    checks: tuple[str, ...] | None,
    called: RunName = UNNAMED,
    progress: Callable[[], None] = lambda: None,
    whole: Mapping[str, int] | None = None,
) -> None:
    """Write a run that is split, its events of no partition apart. It is whole when ``stored`` has it, which is written
    last. ``progress`` is called for each partition. ``whole``: rows of the other tables, which are there already.

    The bytes depend on the rows alone, and not on how they lay in memory.
    """
    others = units.others
    assert others is not None
    schema = BY_PARTITION["events"]
    at = schema.get_field_index("partition")
    parts = (part.set_column(at, schema.field(at), pa.nulls(len(part), pa.string())) for part in _parts(others))
    rows = _write(home.others, "events", schema, parts, facts.run_id)
    entries = []
    for unit in units:
        progress()
        entries.append(_write_unit(home, unit))
    if not entries:  # a table has a file, and so its columns, in any case
        for name in BY_PARTITION.keys() - {"events"}:
            _write(home.directory(name) / "no-partition.parquet", name, BY_PARTITION[name], (), facts.run_id)
    entry = _RunEntry(
        facts=facts, called=called, checks=checks, units=tuple(entries), others=rows, whole=dict(whole or {})
    )
    make_parent(home.entry)
    home.entry.write_bytes(msgspec.json.encode(entry))


def _write_unit(home: Home, unit: PartitionTables) -> _UnitEntry:
    rows = {
        name: _write(
            home.partition(name, unit.partition),
            name,
            schema,
            _parts(getattr(unit, name)),
            unit.facts.run_id,
            unit.partition,
        )
        for name, schema in BY_PARTITION.items()
    }
    return _UnitEntry(unit.partition, rows)


def _parts(view: View) -> Iterable[pa.Table]:
    return (view.slice(start, GROUP).to_arrow() for start in range(0, view.num_rows, GROUP))


def _write(
    path: AnyPath, table: str, schema: pa.Schema, parts: Iterable[pa.Table], run: str, partition: str | None = None
) -> int:
    """Write one file of a table; returns its rows."""
    make_parent(path)
    where, filesystem = arrow_of(path)
    about = {**marks(run, partition), b"highwater.table": table.encode(), b"highwater.schemas": str(VERSION).encode()}
    rows = 0
    with reaching(path), table_writer(where, schema.with_metadata(about), filesystem) as writer:
        for part in parts:
            writer.write_table(part.combine_chunks().cast(schema))
            rows += part.num_rows
    return rows


def marks(run: str, partition: str | None) -> dict[bytes, bytes]:
    """What each file of a store says of itself: a file of another run is no evidence on this one."""
    of_run = {b"highwater.run": run.encode()}
    return of_run if partition is None else {**of_run, b"highwater.partition": partition.encode()}


def is_store(directory: AnyPath) -> bool:
    """Whether a directory is a store that has a run."""
    return any(_entries(directory))


def is_stored_run(directory: AnyPath) -> bool:
    """Whether a directory is a row of a store's table of runs, or should be: so a run of a store is named. Of earlier
    versions it is the directory that had all of the run."""
    if not directory.name.startswith(_RUN):
        return False
    if directory.parent.name == _RUNS:
        # An object store is not asked: opening the run says whether it is there, and a store may have thousands.
        return isinstance(directory, RemotePath) or directory.is_dir() or Home.of_run(directory).entry.exists()
    return (directory / f"{_STORED}.json").exists()


def files_of(directory: AnyPath) -> list[AnyPath]:
    """The directories with what checks read of a stored run, given as :func:`is_stored_run` has it."""
    home = Home.of_run(directory)
    return [home.directory(table) for table in BY_PARTITION]


def is_of_store(directory: AnyPath) -> bool:
    """Whether a directory in a store is one of its own."""
    return directory.name in (_STORED, *BY_PARTITION, *WHOLE)


def runs_of(store: AnyPath) -> list[AnyPath]:
    """The runs that a store says it has, as :func:`is_stored_run` has them, in order of their keys; then what an
    earlier version stored there."""
    named = [store / _RUNS / entry.stem for entry in _entries(store)]
    return sorted(named, key=str) + earlier_runs(store)


def earlier_runs(store: AnyPath) -> list[AnyPath]:
    """The runs in a store's directory as earlier versions wrote them, which this one does not read."""
    return sorted(store.glob(f"{_RUN}*"), key=str) if store.is_dir() else []


def _entries(store: AnyPath) -> Iterable[AnyPath]:
    stored = store / _STORED
    return stored.glob(f"{_RUN}*.json") if stored.is_dir() else ()


def stored_runs(store: AnyPath) -> list[StoredRun]:
    """The runs of a store, in order of their keys.

    Raises ``BadTableError`` for a run that is not as it was written, or where there
    is none.
    """
    directories = runs_of(store)
    if not directories:
        raise BadTableError(f"{store}: expected a store with files {_STORED}/{_RUN}….json, found none")
    return [open_stored_run(directory) for directory in directories]


def open_stored_run(directory: AnyPath) -> StoredRun:
    """One run of a store, by its directory in the table of runs.

    Raises ``BadTableError`` where it was not written to its end, or a table that is not
    split is not the one that was written. The others are looked at when they are read.
    """
    directory = directory.absolute()  # executors of Spark have another working directory
    if directory.parent.name != _RUNS:
        raise BadTableError(
            f"{directory}: expected a run of a store as this version writes it, {_RUNS}/{_RUN}…; {_NEW}"
        )
    home = Home.of_run(directory)
    entry = _read_entry(home)
    if not entry.whole:
        raise BadTableError(f"{home.entry}: expected the number of rows of {', '.join(WHOLE)}, found none; {_NEW}")
    for name in WHOLE:
        _opened(home.whole(name), name, ColumnCache(0), entry.facts.run_id, None, entry.whole.get(name))
    if not entry.units:
        _cluster_events(home, entry.facts.run_id, entry.others)
    run = _run_of(home, entry)
    _refuse_other_files(home, run)
    return run


def _refuse_other_files(home: Home, run: StoredRun) -> None:
    """Whoever reads a table's directory reads every file in it, so one that nobody wrote here is not left unsaid."""
    for name in (*BY_PARTITION, *WHOLE):
        directory = home.directory(name)
        if name in WHOLE:
            known = {home.whole(name).name}
        else:
            known = {home.partition(name, one.partition).name for one in run.units}
        if name == "events" or not known:
            known.add(home.others.name)
        files: list[AnyPath] = sorted(directory.glob("*"), key=str)
        for file in files:
            if file.name not in known and not file.name.startswith((".", "_")):  # readers pass over those
                raise BadTableError(
                    f"{file}: expected no file in {directory} beside those that the run was stored with; remove it"
                )


def open_run_at(home: Home) -> StoredRun:
    """As :func:`open_stored_run`, by where the tables are, of which none is looked at."""
    return _run_of(home, _read_entry(home))


def _read_entry(home: Home) -> _RunEntry:
    try:
        entry = msgspec.json.decode(home.entry.read_bytes(), type=_RunEntry)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadTableError(
            f"{home.entry}: expected the entry of a run that was written to its end, found: {error}"
        ) from error
    if home.run and home.run != (expected := Home.in_store(home.root, entry.facts.run_id).run):
        raise BadTableError(f"{home.entry}: expected the entry of {home.run}, found that of {expected}")
    return entry


def _run_of(home: Home, entry: _RunEntry) -> StoredRun:
    mark = entry.facts.run_id
    units = (StoredUnit(home, one.partition, one.rows, mark, entry.others) for one in entry.units)
    return StoredRun(entry.facts, entry.checks, tuple(units), entry.called)


def read_whole(directory: AnyPath, name: str) -> pa.Table:
    """One table of a stored run that is not split (:data:`~highwater_pipeline.tables.schemas.WHOLE`), whole.

    Raises :class:`~highwater_pipeline.tables.files.BadTableError` where it is not the one that was written.
    """
    home = Home.of_run(directory)
    entry = _read_entry(home)
    return _opened(home.whole(name), name, ColumnCache(0), entry.facts.run_id, None, entry.whole.get(name)).whole()


def read_unit(facts: RunFacts, unit: StoredUnit) -> PartitionTables:
    """One unit of a stored run, the events of the cluster included.

    Raises :class:`~highwater_pipeline.tables.files.BadTableError` where a table is not the one that was written.
    """
    kept = ColumnCache(KEPT)
    tables: dict[str, Rows] = {}
    for name in BY_PARTITION:
        table = _opened(unit.path(name), name, kept, unit.mark, unit.partition, unit.rows.get(name))
        if name == "events":
            tables[name] = _with_cluster(table, unit)
        else:
            tables[name] = table if table.num_rows > LARGE else table.whole()
    history, events, replica_log = map(View.of, tables.values())
    return PartitionTables(facts, unit.partition, history, events, replica_log)


def _with_cluster(own: StoredTable, unit: StoredUnit) -> Rows:
    cluster = _cluster_events(unit.home, unit.mark, unit.others)
    if own.num_rows and own.num_rows > LARGE:
        return MergedRows(own, cluster) if cluster.num_rows else own
    parts = [own.whole(), cluster] if own.num_rows else [cluster]
    both: Rows = in_order(pa.concat_tables(parts).combine_chunks())
    return both


@lru_cache(maxsize=4)
def _cluster_events(home: Home, mark: str, rows: int) -> pa.Table:
    """The events that belong to every partition of a run."""
    table = _opened(home.others, "events", ColumnCache(0), mark, None, rows)
    found = (part.filter(pc.is_in(part["kind"], pa.array(CLUSTER_EVENTS))) for part in table.parts())
    return pa.concat_tables([table.schema.empty_table(), *found]).combine_chunks()


def _opened(
    path: AnyPath, name: str, kept: ColumnCache, mark: str, partition: str | None, rows: int | None
) -> StoredTable:
    table = StoredTable(path, name, kept)
    for key, expected in marks(mark, partition).items():
        if (found := table.marks.get(key)) != expected:
            what = key.decode().removeprefix("highwater.")
            raise BadTableError(f"{path}: expected {what} {expected.decode()!r}, found {(found or b'none').decode()!r}")
    if table.num_rows != rows:
        raise BadTableError(f"{path}: expected {rows} rows, as {_STORED} says, found {table.num_rows}")
    return table


def _segment(name: str) -> str:
    """A run's or a partition's name in that of a file: the name itself, or, if that is too long, how it begins and a
    digest."""
    quoted = quote(name, safe="")
    if len(quoted) > _LONGEST:
        quoted = f"{quoted[: _LONGEST - 33]}~{hashlib.sha256(name.encode()).hexdigest()[:32]}"
    return quoted
