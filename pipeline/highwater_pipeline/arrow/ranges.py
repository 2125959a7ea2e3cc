"""Tables that may lie on disk, and ranges of them: some rows of some parts, which are a table again.

A table on disk lies in parts, each of which can be read alone. :class:`Spread` says which rows of a part lie in which
range of a column, and :class:`Range` reads the rows of one range, column by column.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.arrow.arrays import Ints
from highwater_pipeline.arrow.column_cache import ALL, Which, some


class Rows(Protocol):
    """A table, in memory (``pa.Table``) or on disk. On disk, strings may be dictionary-encoded."""

    @property
    def schema(self) -> pa.Schema:
        """The columns' names and types."""

    @property
    def num_rows(self) -> int:
        """How many rows it has."""

    def column(self, name: str) -> pa.ChunkedArray:
        """One column, whole."""

    def take(self, positions: pa.Array, names: Sequence[str]) -> pa.Table:
        """Some rows with these columns."""

    @property
    def starts(self) -> Sequence[int]:
        """The number of the first row of each part that can be read alone, and that of all rows behind them."""

    def words(self, name: str, part: int) -> list[str]:
        """The strings of a part, of one column, each once, as they come up."""

    def some(self, name: str, part: int, rows: Which) -> pa.Array:
        """Some rows of a part, of one column."""

    def fill(self, array: npt.NDArray[Any], name: str, part: int, rows: Which, missing: int | bool) -> None:
        """Write some rows of a part, of one column of numbers or truth values, into an array; ``missing`` stands for
        null. A slice may have steps."""


class Spread:
    """Which rows of a part lie in which range; a range ends before each of ``cuts``. ``ranges``: those with rows."""

    def __init__(self, column: Ints, cuts: Ints) -> None:
        if (column[1:] >= column[:-1]).all():
            self._bounds = np.array([0, *np.searchsorted(column, cuts), len(column)])
            self._range_of: npt.NDArray[np.uint8 | np.uint32] | None = None
            sizes = np.diff(self._bounds)
        else:
            kind = np.uint8 if len(cuts) < np.iinfo(np.uint8).max else np.uint32
            self._range_of = np.searchsorted(cuts, column, "right").astype(kind)
            sizes = np.bincount(self._range_of)
        self.ranges: Final[list[int]] = np.flatnonzero(sizes).tolist()

    def rows(self, which: int) -> Which:
        """The rows in one range, ascending."""
        if self._range_of is None:
            return slice(int(self._bounds[which]), int(self._bounds[which + 1]))
        return _together(np.flatnonzero(self._range_of == which))


class Range:
    """Some rows of a table on disk, as a table: :class:`Rows`. ``within``: by part, which of its rows."""

    def __init__(self, table: Rows, positions: Ints, within: dict[int, Which]) -> None:
        self.schema: Final = table.schema
        self.num_rows: Final = len(positions)
        self.starts: Final = (0, self.num_rows)
        self._table: Final = table
        self._positions: Final = positions
        self._within: Final = within

    def column(self, name: str) -> pa.ChunkedArray:
        return pa.chunked_array([self._table.some(name, part, rows) for part, rows in self._within.items()])

    def take(self, positions: pa.Array, names: Sequence[str]) -> pa.Table:
        """Some rows with these columns."""
        return self._table.take(pa.array(self._positions[positions.to_numpy()]), names)

    def words(self, name: str, part: int) -> list[str]:
        """The strings of one column, each once, as they come up."""
        return words_of(self.some(name, part, ALL))

    def some(self, name: str, part: int, rows: Which) -> pa.Array:
        """Some rows of one column; all are one part."""
        assert part == 0
        return some(encode(self.column(name)).combine_chunks(), rows)

    def fill(self, array: npt.NDArray[Any], name: str, part: int, rows: Which, missing: int | bool) -> None:
        """Write some rows of one column of numbers or truth values into an array; all are one part."""
        assert part == 0
        is_whole = isinstance(rows, slice) and rows == ALL
        whole = array if is_whole else np.empty(self.num_rows, array.dtype)
        end = 0
        for number, which in self._within.items():
            start, end = end, end + count_of(which)
            self._table.fill(whole[start:end], name, number, which, missing)
        if not is_whole:
            array[:] = whole[rows]


def count_of(rows: Which) -> int:
    """How many rows of a part they are; a slice may have steps."""
    return len(range(rows.start, rows.stop, rows.step or 1)) if isinstance(rows, slice) else len(rows)


def numbers_of(rows: Which, first: int) -> Ints:
    """The numbers of some rows of a part that begins with the row ``first``."""
    return np.arange(first + rows.start, first + rows.stop) if isinstance(rows, slice) else first + rows


def _together(rows: Ints) -> Which:
    """Ascending rows; a slice if they lie together."""
    if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
        return slice(int(rows[0]), int(rows[-1]) + 1)
    return rows


def encode(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column of strings with one dictionary for all its chunks."""
    if pa.types.is_dictionary(column.type):
        return column.unify_dictionaries()
    return pc.dictionary_encode(column)


def words_of(part: pa.Array) -> list[str]:
    """The strings of a part of a column, each once, as they come up."""
    is_one_word = pa.types.is_dictionary(part.type) and len(part.dictionary) == 1
    if not is_one_word:
        part = part.unique()
    elif part.null_count < len(part):
        part = part.dictionary
    return [word for word in part.to_pylist() if word is not None]


def take_from_parts(
    schema: pa.Schema, starts: Sequence[int], at: Ints, take: Callable[[int, Ints], pa.Table]
) -> pa.Table:
    """The rows ``at`` of a table that lies in parts, in that order. Each part is read at most once.

    ``starts``: the number of each part's first row, and that of all rows behind them; ``take``: some rows of a part.
    """
    ascending = np.argsort(at, kind="stable")
    bounds = np.searchsorted(at[ascending], starts, "left").tolist()
    parts = [schema.empty_table()]
    for part, (begin, end) in enumerate(pairwise(bounds)):
        if begin < end:
            rows = take(part, at[ascending[begin:end]] - starts[part])
            parts.append(rows.cast(schema))  # strings may be dictionary-encoded
    back = np.empty(len(at), np.int64)
    back[ascending] = np.arange(len(at))
    return pa.concat_tables(parts).take(pa.array(back))
