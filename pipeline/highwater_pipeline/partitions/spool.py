"""The rows of a run by partition: in memory as long as they are few, else in a temporary file without a name.

A recording can be larger than memory, and each check looks at one partition. So whenever :data:`LIMIT` bytes of rows
have been read, they are sorted by partition and written to the file. The rows of a partition are read back when it is
judged: all at once if they are at most :data:`LIMIT` bytes, else column by column as checks use them.
"""

from __future__ import annotations

import tempfile
from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from typing import IO, Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.arrow.column_cache import ALL, Which, filled, some
from highwater_pipeline.arrow.columns import SMALL, Columns
from highwater_pipeline.arrow.ranges import encode, take_from_parts, words_of
from highwater_pipeline.arrow.view import View
from highwater_pipeline.partitions.small_partitions import Grouped
from highwater_pipeline.tables.micro_operations import in_order

LIMIT = 128 << 20
"""Bytes of one table that are kept in memory, and of one partition that are read back at once."""

_NO_SHARED: Final = np.empty(0, np.int64)


class Spool:
    """A table by its column ``partition``, each partition in the order of its column ``row``.

    First :meth:`add` all parts, then :meth:`close`, then ask :meth:`of`. Rows without a partition belong to none,
    except those that ``is_shared`` finds: they belong to every partition. When all parts are known, ``complete``
    computes the final column ``completed`` of the returned rows from this column and those of ``completed_by``.
    """

    def __init__(
        self,
        schema: pa.Schema,
        *,
        is_shared: Callable[[pa.Table], Bools] | None = None,
        complete: Callable[[pa.Table], pa.Table] = lambda table: table,
        completed: str | None = None,
        completed_by: Sequence[str] = (),
    ) -> None:
        self._is_shared: Final = is_shared
        self._complete: Final = complete
        self._completed: Final = completed
        self._completed_by: Final = tuple(completed_by)
        self._parts: list[pa.Table] = []
        self._bytes = 0
        self._empty: Final = schema.empty_table()
        self._shared: Final[list[pa.Table]] = []
        self._file: IO[bytes] | None = None
        self._writer: pa.RecordBatchFileWriter | None = None
        self._written = 0
        self._batches: Final[dict[str, list[int]]] = {}
        self._sizes: Final[dict[str, int]] = {}
        self._whole: _InMemory | None = None
        self._reader: pa.RecordBatchFileReader | None = None

    def add(self, part: pa.Table) -> None:
        """Take in the rows that come next."""
        self._parts.append(part)
        self._bytes += part.nbytes
        if self._bytes > LIMIT:
            self._write()

    def close(self) -> None:
        """No rows come any more."""
        if self._file is None:
            table = self._complete(in_order(pa.concat_tables([self._empty, *self._parts]).combine_chunks()))
            self._parts = []
            shared = np.flatnonzero(self._is_shared(table)) if self._is_shared else _NO_SHARED
            self._whole = _InMemory(table, shared)
            return
        self._write()
        assert self._writer is not None
        self._writer.close()
        self._file.flush()
        self._reader = pa.ipc.open_file(pa.PythonFile(self._file, "r"))

    def partitions(self) -> Iterator[str]:
        """The names that occur, in no order that means anything."""
        return iter(self._batches if self._whole is None else self._whole.codes)

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Each partition and how many rows belong to it alone. They must be in memory."""
        assert self._whole is not None
        return self._whole.sizes()

    @property
    def is_in_memory(self) -> bool:
        """Whether no row has been written to the file."""
        return self._whole is not None

    def of_each(self, partitions: Sequence[str]) -> Grouped:
        """The rows that belong to these partitions alone. They must be in memory."""
        assert self._whole is not None
        return self._whole.of_each(partitions)

    def shared(self) -> View:
        """The rows that all partitions share. They must be in memory."""
        assert self._whole is not None
        return self._whole.shared()

    def of(self, partition: str) -> View:
        """The rows of one partition, those that all share included."""
        if self._whole is not None:
            return self._whole.of(partition)
        assert self._reader is not None
        numbers = self._batches.get(partition, [])
        if self._sizes.get(partition, 0) > LIMIT:
            return View.of(self._on_disk(numbers))
        batches = [self._reader.get_batch(number) for number in numbers]
        own = pa.Table.from_batches(batches, self._empty.schema)
        table = in_order(pa.concat_tables([own, *self._shared]).combine_chunks())
        return View.of(self._complete(table))

    def _on_disk(self, numbers: Sequence[int]) -> SpooledRows:
        assert self._file is not None
        shared = pa.concat_tables([self._empty, *self._shared]).combine_chunks()
        return SpooledRows(
            self._file, self._empty.schema, numbers, shared, self._complete, self._completed, self._completed_by
        )

    def _write(self) -> None:
        """Write what is in memory: for each partition a batch."""
        try:
            self._write_batches()
        except OSError as error:
            raise OSError(error.errno, error.strerror or str(error), tempfile.gettempdir()) from error

    def _write_batches(self) -> None:
        if self._writer is None:
            self._file = tempfile.TemporaryFile(prefix="highwater-")  # noqa: SIM115 - it goes with this object
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_file(pa.PythonFile(self._file, "w"), self._empty.schema, options=options)
        table = pa.concat_tables([self._empty, *self._parts]).combine_chunks()
        self._parts, self._bytes = [], 0
        if self._is_shared:
            self._shared.append(table.filter(pa.array(self._is_shared(table))))
        groups = _InMemory(table, _NO_SHARED)
        for name in sorted(groups.codes):
            for batch in groups.of(name).to_arrow().combine_chunks().to_batches():
                self._writer.write_batch(batch)
                self._batches.setdefault(name, []).append(self._written)
                self._sizes[name] = self._sizes.get(name, 0) + batch.nbytes
                self._written += 1


class SpooledRows:
    """The rows of one partition in a spool's file, in order: :class:`~highwater_pipeline.arrow.ranges.Rows`.

    In memory are the order of the rows (if it is not that of the file), the rows that all partitions share, and the
    columns or rows that are asked for.
    """

    def __init__(
        self,
        file: IO[bytes],
        schema: pa.Schema,
        numbers: Sequence[int],
        shared: pa.Table,
        complete: Callable[[pa.Table], pa.Table],
        completed: str | None,
        completed_by: Sequence[str],
    ) -> None:
        self.schema: Final = schema
        self._file: Final = file
        self._numbers: Final = tuple(numbers)
        self._shared: Final = shared
        self._complete: Final = complete
        self._completed: Final = completed
        self._completed_by: Final = tuple(completed_by)
        self._batch: Final = lru_cache(maxsize=2)(
            self._open().get_batch
        )  # one more than the batch that is gone through
        rows = [part["row"] for part in self._parts(["row"])]
        self.starts: Final[Sequence[int]] = [0, *accumulate(len(part) for part in rows)]
        self.num_rows: Final = self.starts[-1]
        row = np.concatenate([part.to_numpy() for part in rows])
        is_ordered = bool((row[1:] >= row[:-1]).all())
        self._order: Final = None if is_ordered else np.argsort(row, kind="stable")

    def column(self, name: str) -> pa.ChunkedArray:
        """One column, strings dictionary-encoded."""
        names = [name, *(other for other in self._completed_by if other != name)] if name == self._completed else [name]
        parts = []
        for part in self._parts(names):
            table = self._complete(part) if name == self._completed else part
            column = table[name]
            parts.append(pc.dictionary_encode(column) if pa.types.is_string(column.type) else column)
        whole = pa.chunked_array([chunk for part in parts for chunk in part.chunks], parts[0].type)
        if pa.types.is_dictionary(whole.type):
            whole = encode(whole)
        return whole if self._order is None else whole.take(pa.array(self._order))

    def take(self, positions: pa.Array, names: Sequence[str]) -> pa.Table:
        """Some rows with these columns. Rows that lie together in the file are read together."""
        wanted = positions.to_numpy()
        at = wanted if self._order is None else self._order[wanted]
        return self._complete(take_from_parts(self.schema, self.starts, at, self._take)).select(list(names))

    def words(self, name: str, part: int) -> list[str]:
        """The strings of a part, of one column, each once, as they come up."""
        return words_of(self.some(name, part, ALL))

    def some(self, name: str, part: int, rows: Which) -> pa.Array:
        """Some rows of a part, of one column. A part has about as many rows as a batch."""
        if self._order is None:
            column = self._complete(self._part(part)).column(name)
        else:
            column = self.take(pa.array(np.arange(self.starts[part], self.starts[part + 1])), [name]).column(name)
        return some(column.combine_chunks(), rows)

    def fill(self, array: npt.NDArray[Any], name: str, part: int, rows: Which, missing: int | bool) -> None:
        """Write some rows of a part, of one column of numbers or truth values, into an array."""
        array[:] = filled(self.some(name, part, ALL), missing)[rows]

    def _take(self, part: int, rows: Ints) -> pa.Table:
        return self._part(part).take(pa.array(rows))

    def _part(self, which: int) -> pa.Table:
        if which == len(self._numbers):
            return self._shared
        return pa.Table.from_batches([self._batch(self._numbers[which])])

    def _parts(self, names: Sequence[str]) -> Iterator[pa.Table]:
        """The batches one after the other, then what is shared, with these columns only."""
        reader = self._open([self.schema.get_field_index(name) for name in names])
        for number in self._numbers:
            yield pa.Table.from_batches([reader.get_batch(number)])
        yield self._shared.select(names)

    def _open(self, fields: Sequence[int] | None = None) -> pa.RecordBatchFileReader:
        options = pa.ipc.IpcReadOptions(included_fields=None if fields is None else list(fields))
        return pa.ipc.open_file(pa.PythonFile(self._file, "r"), options=options)


class _InMemory:
    """A table by its column ``partition``, each group in the table's order; ``shared`` rows belong to every group.

    A run may have thousands of small groups. Those that follow each other by name are put together, one behind the
    other, into small tables, so that what is made of a column is made once for many groups. They are to be asked for in
    this order.
    """

    def __init__(self, table: pa.Table, shared: Ints) -> None:
        self._table: Final = table
        self._columns: Final = Columns(table)
        self._shared: Final = shared
        codes, names = self._columns.codes("partition")
        self._order: Final = np.argsort(codes, kind="stable")
        self._starts: Final = np.searchsorted(codes[self._order], np.arange(len(names) + 1))
        self.codes: Final[dict[str, int]] = {name: code for code, name in enumerate(names)}
        self._names: Final = sorted(names)
        self._together: dict[str, View] = {}
        """The groups that were put together last."""

    def sizes(self) -> Iterator[tuple[str, int]]:
        """Each group and how many rows belong to it alone."""
        return zip(self.codes, np.diff(self._starts).tolist(), strict=True)

    def of_each(self, groups: Sequence[str]) -> Grouped:
        rows = [self._own_rows(name) for name in groups]
        number = np.repeat(np.arange(len(rows)), [len(one) for one in rows])
        return Grouped(View(self._columns, np.concatenate([self._order[:0], *rows])), number)

    def shared(self) -> View:
        return View(self._columns, self._shared)

    def of(self, partition: str) -> View:
        if partition in self.codes and partition not in self._together:
            self._together = self._put_together(partition)
        return self._together.get(partition) or View(self._columns, self._rows(partition))

    def _put_together(self, first: str) -> dict[str, View]:
        """A group and those that follow it, as many as a small table holds; none if that is not two of them."""
        groups: dict[str, Ints] = {}
        total = 0
        for name in self._names[bisect_left(self._names, first) :]:
            rows = self._rows(name)
            total += len(rows)
            if total > SMALL:
                break
            groups[name] = rows
        if len(groups) < 2:
            return {}
        ends = [0, *accumulate(map(len, groups.values()))]
        columns = Columns(self._table.take(pa.array(np.concatenate([*groups.values()]))))
        return {name: View(columns, slice(*bounds)) for name, bounds in zip(groups, pairwise(ends), strict=True)}

    def _own_rows(self, partition: str) -> Ints:
        code = self.codes.get(partition)
        return self._order[:0] if code is None else self._order[self._starts[code] : self._starts[code + 1]]

    def _rows(self, partition: str) -> Ints:
        rows = self._own_rows(partition)
        if len(self._shared):
            rows = np.sort(np.concatenate([rows, self._shared]))
        return rows
