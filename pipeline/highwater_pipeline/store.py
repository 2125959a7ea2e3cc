"""Runs that are stored split by partition. A run that is judged often, or is too large for one task, is split once.

A store holds for each run a directory ``run_id=<id>`` with ``stored.json``, and in it for each partition a directory
``partition=<name>`` with ``history.parquet``, ``events.parquet`` and ``replica_log.parquet``: exactly the tables that a
kernel sees. So each Spark task reads the files of its own units, and nothing is shuffled.

``stored.json`` names all partitions and the number of rows of each table, so a missing file is an error, not a pass.
"""

from __future__ import annotations

import errno
import hashlib
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple
from urllib.parse import quote

import msgspec
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from highwater_pipeline.arrays import Ints
from highwater_pipeline.column_cache import ALL, ColumnCache, Packed, Place, Which
from highwater_pipeline.files import BadTableError, make_parent
from highwater_pipeline.partition_tables import UNIT_SCHEMAS, PartitionTables, RunFacts, split
from highwater_pipeline.ranges import Rows, take_from_parts, words_of
from highwater_pipeline.remote import AnyPath, RemotePath, arrow_of, reaching
from highwater_pipeline.tables import RunParts, RunTables
from highwater_pipeline.view import View

_STORED: Final = "stored.json"
_RUN: Final = "run_id="
_EMPTY: Final = "__HIVE_DEFAULT_PARTITION__"
_LONGEST: Final = 200
"""Characters of a name in a directory's name, which may have 255 bytes. A topic's name alone may have 249."""
LARGE = 1 << 16
"""Rows from which on a table is not read at once, but column by column as checks ask for them."""
GROUP = 1 << 17
"""Rows that are written, or read to look at a few of them, at once."""
KEPT = 384 << 20
"""Bytes of the columns of a unit's tables that stay in memory as they were read."""
_ADDED: Final = frozenset({"altered"})
"""Columns that files of earlier versions lack: all their rows are null."""
_GROUPS_KEPT: Final = 2
"""Groups that stay in memory of those in which a few rows were looked at."""


class _UnitEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A unit in ``stored.json``: ``rows`` by table."""

    partition: str
    rows: dict[str, int]


class RunName(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a run is called by people: several runs may have the same. Empty: it was not recorded by Highwater."""

    name: str = ""
    seed: int | None = None
    backend: str = ""
    switches: dict[str, str] = {}


UNNAMED: Final = RunName()


class _RunEntry(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """``stored.json``. ``checks``: those that the run is to be judged by, None for all."""

    version: Literal[2] = 2
    facts: RunFacts
    called: RunName = UNNAMED
    checks: tuple[str, ...] | None
    units: tuple[_UnitEntry, ...]


@dataclass(frozen=True, slots=True)
class StoredUnit:
    """Where one unit of a store lies, how many rows each of its tables has, and the run that its files name."""

    directory: AnyPath
    partition: str
    rows: dict[str, int]
    mark: str


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
) -> AnyPath:
    """Split a run and write it into ``store``; returns the run's directory, which has its name when it is whole.

    Of a run that is read part by part no more is in memory than
    :func:`~highwater_pipeline.partition_tables.split` says. ``complete`` adds to the facts what the tables do not say.

    Raises:
        FileExistsError: the store has that run already.
        BadTableError: the run cannot be read.
    """
    directory = stored_directory(store, run.run_id)
    exists = FileExistsError(f"{directory}: the store has this run already; remove it, or write to another store")
    if isinstance(directory, RemotePath):
        # Nothing can be renamed there: the run is whole when it has this file, which is written last.
        if (directory / _STORED).exists():
            raise exists
        _write_run(run, directory, checks, complete, called)
        return directory
    if directory.exists():
        raise exists
    directory.parent.mkdir(parents=True, exist_ok=True)
    partial = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=directory.parent))
    try:
        _write_run(run, partial, checks, complete, called)
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
    called: RunName,
) -> None:
    facts, units = split(run)
    write_split(directory, complete(facts), units, checks, called)


def write_split(
    directory: AnyPath,
    facts: RunFacts,
    units: Iterable[PartitionTables],
    checks: tuple[str, ...] | None,
    called: RunName = UNNAMED,
) -> None:
    """Write a run that is split into its directory of a store. It is whole when it has ``stored.json``, written last.

    The bytes depend on the rows alone, and not on how they lay in memory.
    """
    entries = tuple(_write_unit(directory, unit) for unit in units)
    make_parent(directory / _STORED)
    entry = _RunEntry(facts=facts, called=called, checks=checks, units=entries)
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

    Raises :class:`~highwater_pipeline.files.BadTableError` for a run that was not written to its end, or
    where there is none.
    """
    directories: list[AnyPath] = sorted(store.glob(f"{_RUN}*"), key=str)
    if not directories:
        raise BadTableError(f"{store}: expected a store with directories {_RUN}…, found none")
    return [open_stored_run(directory) for directory in directories]


def open_stored_run(directory: AnyPath) -> StoredRun:
    """One run of a store, by its directory.

    Raises :class:`~highwater_pipeline.files.BadTableError` where it was not written to its end.
    """
    try:
        entry = msgspec.json.decode((directory / _STORED).read_bytes(), type=_RunEntry)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadTableError(
            f"{directory}: expected {_STORED} of a run that was written to its end, found: {error}"
        ) from error
    directory = directory.absolute()  # executors of Spark have another working directory
    mark = entry.facts.run_id
    units = (
        StoredUnit(_unit_directory(directory, one.partition), one.partition, one.rows, mark) for one in entry.units
    )
    return StoredRun(entry.facts, entry.checks, tuple(units), entry.called)


def _unit_directory(directory: AnyPath, partition: str) -> AnyPath:
    found = directory / _segment("partition=", partition)
    earlier = directory / "partition="
    return earlier if not partition and not found.is_dir() and earlier.is_dir() else found


def read_unit(facts: RunFacts, unit: StoredUnit) -> PartitionTables:
    """One unit of a stored run.

    Raises :class:`~highwater_pipeline.files.BadTableError` where a table is not the one that was written.
    """
    kept = ColumnCache(KEPT)
    history, events, replica_log = (View.of(_read(unit, name, kept)) for name in UNIT_SCHEMAS)
    return PartitionTables(facts, unit.partition, history, events, replica_log)


def _write_unit(directory: AnyPath, unit: PartitionTables) -> _UnitEntry:
    rows: dict[str, int] = {}
    target = directory / _segment("partition=", unit.partition)
    for name, schema in UNIT_SCHEMAS.items():
        view: View = getattr(unit, name)
        marked = schema.with_metadata(_marks(unit.facts.run_id, unit.partition))
        path = target / f"{name}.parquet"
        make_parent(path)
        where, filesystem = arrow_of(path)
        with reaching(path), table_writer(where, marked, filesystem) as writer:
            for start in range(0, view.num_rows, GROUP):
                writer.write_table(view.slice(start, GROUP).to_arrow().combine_chunks())
        rows[name] = view.num_rows
    return _UnitEntry(unit.partition, rows)


def table_writer(where: str | Path, schema: pa.Schema, filesystem: pa.fs.FileSystem | None = None) -> pq.ParquetWriter:
    """A writer of one table of a unit.

    Integers are written as differences, because most of them are numbers that count up: rows, times, offsets, values.
    So they are read in a third of the time that a dictionary takes, and need a fraction of the space. Each page has a
    checksum: what was damaged since is not judged.
    """
    integers = [field.name for field in schema if pa.types.is_integer(field.type)]
    others = [field.name for field in schema if not pa.types.is_integer(field.type)]
    return pq.ParquetWriter(
        where,
        schema,
        filesystem=filesystem,
        compression="zstd",
        use_dictionary=others,
        column_encoding=dict.fromkeys(integers, "DELTA_BINARY_PACKED"),
        write_page_checksum=True,
    )


def _marks(run: str, partition: str) -> dict[bytes, bytes]:
    """What each file of a unit says of itself: a file of another run is no evidence on this one."""
    return {b"highwater.run": run.encode(), b"highwater.partition": partition.encode()}


def _read(unit: StoredUnit, name: str, kept: ColumnCache) -> Rows:
    path = unit.directory / f"{name}.parquet"
    table = _Stored(path, name, kept)
    for key, expected in _marks(unit.mark, unit.partition).items():
        if (found := table.marks.get(key)) != expected:
            what = key.decode().removeprefix("highwater.")
            raise BadTableError(f"{path}: expected {what} {expected.decode()!r}, found {(found or b'none').decode()!r}")
    if table.num_rows != unit.rows.get(name):
        raise BadTableError(f"{path}: expected {unit.rows.get(name)} rows, as {_STORED} says, found {table.num_rows}")
    return table if table.num_rows > LARGE else table.whole()


class _Stored:
    """A table of a store: :class:`~highwater_pipeline.ranges.Rows`. Only what is asked for is in memory.

    Every method raises :class:`~highwater_pipeline.files.BadTableError` where the file is not the table that was
    written.
    """

    def __init__(self, path: AnyPath, name: str, kept: ColumnCache) -> None:
        """``name``: of the table."""
        self.schema: Final = (schema := UNIT_SCHEMAS[name])
        self._path: Final[AnyPath] = path
        self._name: Final = name
        self._kept: Final = kept
        with self._opened() as file:
            found = file.schema_arrow
            self._missing: Final = _ADDED - {*found.names}
            written = [field for field in schema if field.name not in self._missing]
            if (found.names, found.types) != ([one.name for one in written], [one.type for one in written]):
                raise BadTableError(f"{path}: expected the columns {_typed(schema)}, found {_typed(found)}")
            self.marks: Final[dict[bytes, bytes]] = dict(found.metadata or {})
            self._metadata: Final[pq.FileMetaData] = file.metadata
            groups = [file.metadata.row_group(number).num_rows for number in range(file.metadata.num_row_groups)]
        self.starts: Final[Sequence[int]] = [0, *accumulate(groups)]
        self.num_rows: Final = self.starts[-1]
        self._groups: Final[dict[tuple[int, tuple[str, ...]], list[Packed]]] = {}

    def whole(self) -> pa.Table:
        with self._opened() as file:
            table = file.read()
        for place, field in enumerate(self.schema):
            if field.name in self._missing:
                table = table.add_column(place, field, pa.nulls(table.num_rows, field.type))
        return table

    @contextmanager
    def _opened(self) -> Iterator[pq.ParquetFile]:
        with _refusing(self._path):
            where, filesystem = arrow_of(self._path)
            with pq.ParquetFile(where, filesystem=filesystem, page_checksum_verification=True) as file:
                yield file

    def column(self, name: str) -> pa.ChunkedArray:
        """One column, strings dictionary-encoded."""
        # To read all groups at once takes longer: a large buffer grows.
        groups = [self._packed(number, name, keep=False).column() for number in range(len(self.starts) - 1)]
        return pa.chunked_array(groups, groups[0].type if groups else self.schema.field(name).type)

    def take(self, positions: pa.Array, names: Sequence[str]) -> pa.Table:
        """Some rows with these columns: the groups of rows that they lie in are read one after the other."""
        schema = pa.schema([self.schema.field(name) for name in names])
        return take_from_parts(
            schema, self.starts, positions.to_numpy(), lambda part, rows: self._take(part, rows, tuple(names))
        )

    def _take(self, part: int, rows: Ints, names: tuple[str, ...]) -> pa.Table:
        """Some rows of a group. The last groups stay in memory: the rows of examples lie close together."""
        if (part, names) not in self._groups:
            if len(self._groups) == _GROUPS_KEPT:
                del self._groups[next(iter(self._groups))]
            self._groups[part, names] = [self._packed(part, name) for name in names]
        columns = self._groups[part, names]
        return pa.Table.from_arrays([column.column(rows) for column in columns], names=list(names))

    def words(self, name: str, part: int) -> list[str]:
        """The strings of a group, of one column, each once, as they come up."""
        only = self._only(part, name)
        if only is None:
            return words_of(self.some(name, part, ALL))
        return [] if only.value is None else [only.value]

    def some(self, name: str, part: int, rows: Which) -> pa.Array:
        """Some rows of a group, of one column, strings dictionary-encoded. What was read stays in memory as long as
        there is room: checks read most columns several times."""
        return self._packed(part, name).column(rows)

    def fill(self, array: npt.NDArray[Any], name: str, part: int, rows: Which, missing: int | bool) -> None:
        """Write some rows of a group, of one column of numbers or truth values, into an array."""
        self._packed(part, name).fill(array, rows, missing)

    def _packed(self, number: int, name: str, *, keep: bool = True) -> Packed:
        """A column of a group of rows."""
        place = Place(self._name, number, name)
        packed = self._kept.get(place)
        if packed is None:
            column = self._same(number, name) or self._read(number, name)
            if keep:
                packed = self._kept.put(place, column)
            else:
                packed = column if isinstance(column, Packed) else Packed.raw(column)
        return packed

    def _read(self, number: int, name: str) -> pa.Array:
        with _refusing(self._path):
            chunks = self._file.read_row_group(number, [name], use_threads=False).column(name)
        return chunks.chunk(0) if chunks.num_chunks == 1 else chunks.combine_chunks()

    def _same(self, number: int, name: str) -> Packed | None:
        """A column of a group in which all rows are the same, as the file's statistics say: it need not be read. None:
        they do not say it."""
        only = self._only(number, name)
        if only is None or (only.value is not None and only.nulls):
            return None
        kind = self.schema.field(name).type
        if pa.types.is_string(kind):
            kind = pa.dictionary(pa.int32(), kind)
        return Packed.same(self.starts[number + 1] - self.starts[number], kind, only.value)

    def _only(self, number: int, name: str) -> _Only | None:
        """The only value of a column of a group; None: there may be several."""
        if name in self._missing:
            return _Only(None, self.starts[number + 1] - self.starts[number])
        place = self._places.get(name)
        statistics = None if place is None else self._metadata.row_group(number).column(place).statistics
        if statistics is None or not statistics.has_null_count:
            return None
        nulls = statistics.null_count
        if nulls == self.starts[number + 1] - self.starts[number]:
            return _Only(None, nulls)
        # A bound of strings may be shortened, but then the lower one is below the upper one.
        is_one = statistics.has_min_max and statistics.min == statistics.max
        return _Only(statistics.min, nulls) if is_one else None

    @cached_property
    def _places(self) -> dict[str, int]:
        """The place in the file of each column that has no lists."""
        paths = [self._metadata.schema.column(number).path for number in range(self._metadata.num_columns)]
        return {path: number for number, path in enumerate(paths) if path in self.schema.names}

    @cached_property
    def _file(self) -> pq.ParquetFile:
        """The file, open. Strings are dictionary-encoded."""
        strings = [field.name for field in self.schema if pa.types.is_string(field.type)]
        words = [name for name in strings if name not in self._missing]
        with _refusing(self._path):
            where, filesystem = arrow_of(self._path)
            return pq.ParquetFile(
                where,
                filesystem=filesystem,
                read_dictionary=words,
                metadata=self._metadata,
                page_checksum_verification=True,
            )


class _Only(NamedTuple):
    """The only value of a column (None: all rows are null), and in how many rows it is null."""

    value: Any
    nulls: int


@contextmanager
def _refusing(path: AnyPath) -> Iterator[None]:
    """Raise :class:`~highwater_pipeline.files.BadTableError` where a file cannot be read as a table."""
    try:
        yield
    except MemoryError:  # one of Arrow's is an ArrowException too; the file may be good
        raise
    except (OSError, pa.ArrowException) as error:
        raise BadTableError(f"{path}: expected a table of a store, found: {error}") from error


def _typed(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)


def _segment(prefix: str, name: str) -> str:
    """A directory's name for a run or a partition: the name itself, or, if that is too long, how it begins and a
    digest. Spark reads such names too, and takes an empty value only by the word that Hive has for it."""
    quoted = quote(name, safe="") or _EMPTY
    if name == _EMPTY:
        quoted = f"%5F{name[1:]}"
    if len(quoted) > _LONGEST:
        quoted = f"{quoted[: _LONGEST - 33]}~{hashlib.sha256(name.encode()).hexdigest()[:32]}"
    return prefix + quoted
