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


class Place(NamedTuple):
    """Where a column stands: table, number of the group of rows, name of the column."""

    table: str
    group: int
    name: str


class Kept:
    """Columns of the tables of one unit, packed, that together take at most ``limit`` bytes.

    When there is no room, columns of other tables have to go: checks go through one table after the other. The columns
    of the same table stay, since those read first are read first again; and the new one is not kept.
    """

    def __init__(self, limit: int) -> None:
        self._limit: Final = limit
        self._columns: Final[dict[Place, _Packed]] = {}
        self._full_of = ""
        """The table of which no more columns can be kept."""
        self.nbytes = 0
        """Bytes that the columns take."""

    def get(self, place: Place) -> pa.Array | None:
        """The column that was kept; None: there is none."""
        packed = self._columns.get(place)
        return None if packed is None else packed.column()

    def put(self, place: Place, column: pa.Array) -> None:
        """Keep a column if there is room."""
        if place.table == self._full_of:
            return
        packed = _Packed.of(column)
        if self.nbytes + packed.nbytes > self._limit:
            for other in [other for other in self._columns if other.table != place.table]:
                self.nbytes -= self._columns.pop(other).nbytes
            self._full_of = ""
        if self.nbytes + packed.nbytes > self._limit:
            self._full_of = place.table
            return
        self._columns[place] = packed
        self.nbytes += packed.nbytes


@dataclass(frozen=True, slots=True)
class _Packed:
    """A column: ``low`` with what is to be added to it row by row (None: nothing), or ``as_it_was``.

    ``valid``: which rows are not null (None: all). ``words``: what the numbers stand for (None: for themselves).
    """

    length: int
    low: int = 0
    above: npt.NDArray[np.unsignedinteger[Any]] | None = None
    valid: pa.Array | None = None
    words: pa.Array | None = None
    as_it_was: pa.Array | None = None

    @classmethod
    def of(cls, column: pa.Array) -> _Packed:
        """Pack a column."""
        words, numbers, kind = None, column, pa.int64()
        if pa.types.is_dictionary(column.type):
            words, numbers, kind = column.dictionary, column.indices, pa.int32()
        if not len(column) or numbers.type != kind:
            return cls(len(column), as_it_was=column)
        valid = numbers.is_valid() if numbers.null_count else None
        if numbers.null_count == len(column):
            return cls(len(column), valid=valid, words=words)
        values = (numbers.fill_null(0) if numbers.null_count else numbers).to_numpy()
        low = int(values.min())
        span = int(values.max()) - low
        if span == 0:
            return cls(len(column), low, None, valid, words)
        for kind in (np.uint8, np.uint16, np.uint32):
            if span <= np.iinfo(kind).max and np.dtype(kind).itemsize < values.itemsize:
                return cls(len(column), low, (values - low).astype(kind), valid, words)
        return cls(len(column), as_it_was=column)

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        parts = (self.above, self.valid, self.words, self.as_it_was)
        return sum(part.nbytes for part in parts if part is not None)

    def column(self) -> pa.Array:
        """The column, unpacked."""
        if self.as_it_was is not None:
            return self.as_it_was
        kind = np.int64 if self.words is None else np.int32
        numbers: npt.NDArray[Any]
        numbers = np.zeros(self.length, kind) if self.above is None else self.above.astype(kind)
        numbers += self.low
        column = pa.array(numbers)
        if self.valid is not None:
            column = pc.if_else(self.valid, column, pa.scalar(None, column.type))
        return column if self.words is None else pa.DictionaryArray.from_arrays(column, self.words, safe=False)
