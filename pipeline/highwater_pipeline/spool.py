"""The rows of a run by partition: in memory as long as they are few, else in a temporary file without a name.

A recording can be larger than memory, and each check looks at one partition. So rows are taken in as they are read,
sorted by partition whenever :data:`LIMIT` bytes have come together, and written away. A partition's rows are read back
when its turn comes: then the largest partition must fit into memory, not the run.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator
from typing import IO, Final

import numpy as np
import pyarrow as pa

from highwater_pipeline.micro_operations import in_order
from highwater_pipeline.view import Bools, Columns, Ints, View

LIMIT = 128 << 20
"""Bytes of one table that are kept in memory."""

_NO_SHARED: Final = np.empty(0, np.int64)


class Spool:
    """A table by its column ``partition``, each partition in the order of its column ``row``.

    First :meth:`add` all parts, then :meth:`close`, then ask :meth:`of`. Rows without a partition belong to none,
    except those that ``is_shared`` finds: they belong to every partition. ``complete`` has the last word on rows that
    are given out, when all parts are known.
    """

    def __init__(
        self,
        schema: pa.Schema,
        *,
        is_shared: Callable[[pa.Table], Bools] | None = None,
        complete: Callable[[pa.Table], pa.Table] = lambda table: table,
    ) -> None:
        self._is_shared: Final = is_shared
        self._complete: Final = complete
        self._parts: list[pa.Table] = []
        self._bytes = 0
        self._empty: Final = schema.empty_table()
        self._shared: Final[list[pa.Table]] = []
        self._file: IO[bytes] | None = None
        self._writer: pa.RecordBatchFileWriter | None = None
        self._written = 0
        self._batches: Final[dict[str, list[int]]] = {}
        self._whole: _Grouped | None = None
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
            self._whole = _Grouped(table, shared)
            return
        self._write()
        assert self._writer is not None
        self._writer.close()
        self._file.flush()
        self._reader = pa.ipc.open_file(pa.PythonFile(self._file, "r"))

    def partitions(self) -> Iterator[str]:
        """The names that occur, in no order that means anything."""
        return iter(self._batches if self._whole is None else self._whole.codes)

    def of(self, partition: str) -> View:
        """The rows of one partition, those that all share included."""
        if self._whole is not None:
            return self._whole.of(partition)
        assert self._reader is not None
        batches = [self._reader.get_batch(number) for number in self._batches.get(partition, ())]
        own = pa.Table.from_batches(batches, self._empty.schema)
        table = in_order(pa.concat_tables([own, *self._shared]).combine_chunks())
        return View.of(self._complete(table))

    def _write(self) -> None:
        """Write what is in memory: for each partition a batch."""
        if self._writer is None:
            self._file = tempfile.TemporaryFile(prefix="highwater-")  # noqa: SIM115 - it goes with this object
            options = pa.ipc.IpcWriteOptions(compression="lz4")
            self._writer = pa.ipc.new_file(pa.PythonFile(self._file, "w"), self._empty.schema, options=options)
        table = pa.concat_tables([self._empty, *self._parts]).combine_chunks()
        self._parts, self._bytes = [], 0
        if self._is_shared:
            self._shared.append(table.filter(pa.array(self._is_shared(table))))
        groups = _Grouped(table, _NO_SHARED)
        for name in groups.codes:
            for batch in groups.of(name).to_arrow().combine_chunks().to_batches():
                self._writer.write_batch(batch)
                self._batches.setdefault(name, []).append(self._written)
                self._written += 1


class _Grouped:
    """A table by its column ``partition``, each group in the table's order; ``shared`` rows belong to every group."""

    def __init__(self, table: pa.Table, shared: Ints) -> None:
        self._columns = Columns(table)
        self._shared = shared
        codes, names = self._columns.codes("partition")
        self._order = np.argsort(codes, kind="stable")
        self._starts = np.searchsorted(codes[self._order], np.arange(len(names) + 1))
        self.codes: dict[str, int] = {name: code for code, name in enumerate(names)}

    def of(self, partition: str) -> View:
        code = self.codes.get(partition)
        rows = self._order[:0] if code is None else self._order[self._starts[code] : self._starts[code + 1]]
        if len(self._shared):
            rows = np.sort(np.concatenate([rows, self._shared]))
        return View(self._columns, rows)
