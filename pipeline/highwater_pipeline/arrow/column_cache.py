"""Columns that stay in memory after they were read: checks read most of them several times, in several orders of rows.

A group of rows has about 10⁵ of a table's rows. Within it numbers lie close together, although they take eight bytes
each. So only the differences to the least of them are kept, in one to four bytes, and nothing of a column that has the
same number or word everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

Which = slice | npt.NDArray[np.int64]
"""Some rows, ascending: a slice if they lie together."""
ALL: Final = slice(None)


class Place(NamedTuple):
    """Where a column stands: table, number of the group of rows, name of the column."""

    table: str
    group: int
    name: str


class ColumnCache:
    """Columns of the tables of one unit, packed, that together take at most ``limit`` bytes.

    When there is no room, columns of other tables have to go: checks go through one table after the other. The columns
    of the same table stay, since those read first are read first again; and the new one is not kept.
    """

    def __init__(self, limit: int) -> None:
        self._limit: Final = limit
        self._columns: Final[dict[Place, Packed]] = {}
        self._full_of = ""
        """The table of which no more columns can be kept."""
        self.nbytes = 0
        """Bytes that the columns take."""

    def get(self, place: Place) -> Packed | None:
        """The column that was kept; None: there is none."""
        return self._columns.get(place)

    def put(self, place: Place, column: pa.Array | Packed) -> Packed:
        """Keep a column if there is room, and return it. One that cannot be kept is not packed."""
        if place.table == self._full_of:
            return column if isinstance(column, Packed) else Packed.raw(column)
        packed = column if isinstance(column, Packed) else Packed.of(column)
        if self.nbytes + packed.nbytes > self._limit:
            for other in [other for other in self._columns if other.table != place.table]:
                self.nbytes -= self._columns.pop(other).nbytes
            self._full_of = ""
        if self.nbytes + packed.nbytes > self._limit:
            self._full_of = place.table
        else:
            self._columns[place] = packed
            self.nbytes += packed.nbytes
        return packed


@dataclass(frozen=True, slots=True)
class Packed:
    """A column of ``kind``: ``low`` with what is to be added to it row by row (None: nothing), or ``as_it_was``.

    ``low`` is None where all rows are null. ``valid``: which rows are not null (None: all, or none). ``words``: what
    the numbers stand for (None: for themselves).
    """

    length: int
    kind: pa.DataType
    low: int | bool | None = None
    above: npt.NDArray[np.unsignedinteger[Any]] | None = None
    valid: pa.Array | None = None
    words: pa.Array | None = None
    as_it_was: pa.Array | None = None

    @classmethod
    def raw(cls, column: pa.Array) -> Packed:
        """A column as it is."""
        return cls(len(column), column.type, as_it_was=column)

    @classmethod
    def same(cls, length: int, kind: pa.DataType, value: int | bool | str | None) -> Packed:
        """A column that has one number, truth value or word in all rows, or null."""
        if isinstance(value, str):
            return cls(length, kind, 0, words=pa.array([value]))
        return cls(length, kind, value)

    @classmethod
    def of(cls, column: pa.Array) -> Packed:
        """Pack a column."""
        words, numbers, number = None, column, pa.int64()
        if pa.types.is_dictionary(column.type):
            words, numbers, number = column.dictionary, column.indices, pa.int32()
        if not len(column) or numbers.type != number:
            return cls.raw(column)
        if numbers.null_count == len(column):
            return cls(len(column), column.type)
        valid = numbers.is_valid() if numbers.null_count else None
        values = (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy()
        low = int(values.min())
        span = int(values.max()) - low
        if span == 0:
            return cls(len(column), column.type, low, None, valid, words)
        for kind in (np.uint8, np.uint16, np.uint32):
            if span <= np.iinfo(kind).max and np.dtype(kind).itemsize < values.itemsize:
                above = np.subtract(values, low, out=np.empty(len(values), kind), casting="unsafe")
                return cls(len(column), column.type, low, above, valid, words)
        return cls.raw(column)

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        parts = (self.above, self.valid, self.words, self.as_it_was)
        return sum(part.nbytes for part in parts if part is not None)

    def fill(self, array: npt.NDArray[Any], rows: Which, missing: int | bool) -> None:
        """Write some rows of a column of numbers or truth values into an array; ``missing`` stands for null."""
        if self.as_it_was is not None:
            array[:] = filled(self.as_it_was, missing)[rows]
            return
        if self.low is None:
            array[:] = missing
            return
        array[:] = self.low if self.above is None else self.above[rows]
        if self.above is not None:
            np.add(array, self.low, out=array)
        if self.valid is not None:
            array[~filled(self.valid, False)[rows]] = missing

    def column(self, rows: Which = ALL) -> pa.Array:
        """Some rows of it, unpacked."""
        if self.as_it_was is not None:
            return some(self.as_it_was, rows)
        length = len(range(*rows.indices(self.length))) if isinstance(rows, slice) else len(rows)
        if self.low is None:
            return pa.nulls(length, self.kind)
        kind = self.kind if self.words is None else pa.int32()
        if self.above is None:
            column = pa.repeat(pa.scalar(self.low, kind), length)
        else:
            numbers = self.above[rows].astype(np.int64 if self.words is None else np.int32)
            column = pa.array(np.add(numbers, self.low, out=numbers))
        if self.valid is not None:
            column = pc.if_else(some(self.valid, rows), column, pa.scalar(None, kind))
        return column if self.words is None else pa.DictionaryArray.from_arrays(column, self.words, safe=False)


def some(column: pa.Array, rows: Which) -> pa.Array:
    """Some rows of a column. Those that lie together are not copied."""
    if isinstance(rows, slice):
        start, end, _ = rows.indices(len(column))
        return column.slice(start, end - start)
    return column.take(pa.array(rows))


def filled(column: pa.Array | pa.ChunkedArray, missing: int | bool) -> npt.NDArray[Any]:
    """A column of numbers or booleans as an array; ``missing`` stands for null."""
    column = pc.fill_null(column, missing) if column.null_count else column
    if not pa.types.is_boolean(column.type):
        numbers: npt.NDArray[Any] = column.to_numpy()
        return numbers
    # Arrow takes ten times as long for one byte for each bit.
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return np.concatenate([np.empty(0, np.bool_), *(_unpacked_bits(chunk) for chunk in chunks if len(chunk))])


def _unpacked_bits(column: pa.BooleanArray) -> npt.NDArray[np.bool_]:
    """A column of booleans without nulls."""
    bits = np.frombuffer(column.buffers()[1], np.uint8)
    first = column.offset % 8
    bits = bits[column.offset // 8 :]
    return np.unpackbits(bits, count=first + len(column), bitorder="little")[first:].view(np.bool_)
