"""One table of a store, in a Parquet file: written in groups of rows, and read column by column as checks ask."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from highwater_pipeline.arrow.arrays import Ints
from highwater_pipeline.arrow.column_cache import ALL, ColumnCache, Packed, Place, Which
from highwater_pipeline.arrow.ranges import take_from_parts, words_of
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.remote import AnyPath, arrow_of
from highwater_pipeline.tables.schemas import BY_PARTITION, WHOLE

_ADDED: Final = frozenset({"altered"})
"""Columns that files of earlier versions lack: all their rows are null."""
_GROUPS_KEPT: Final = 2
"""Groups that stay in memory of those in which a few rows were looked at."""


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


class StoredTable:
    """A table of a store: :class:`~highwater_pipeline.arrow.ranges.Rows`. Only what is asked for is in memory.

    Every method raises :class:`~highwater_pipeline.tables.files.BadTableError` where the file is not the table that was
    written.
    """

    def __init__(self, path: AnyPath, name: str, kept: ColumnCache) -> None:
        """``name``: of the table."""
        self.schema: Final = (schema := (BY_PARTITION | WHOLE)[name])
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
            return self._completed(file.read())

    def parts(self) -> Iterator[pa.Table]:
        """The table, group by group."""
        with self._opened() as file:
            for group in range(len(self.starts) - 1):
                yield self._completed(file.read_row_group(group))

    def _completed(self, table: pa.Table) -> pa.Table:
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
    """Raise :class:`~highwater_pipeline.tables.files.BadTableError` where a file cannot be read as a table."""
    try:
        yield
    except MemoryError:  # one of Arrow's is an ArrowException too; the file may be good
        raise
    except (OSError, pa.ArrowException) as error:
        raise BadTableError(f"{path}: expected a table of a store, found: {error}") from error


def _typed(schema: pa.Schema) -> str:
    return ", ".join(f"{field.name} ({field.type})" for field in schema)
