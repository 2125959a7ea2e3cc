"""Some rows of an Arrow table, with columns as NumPy arrays that are made once for the whole table.

A run has one table of events and thousands of partitions, and each check looks at each partition's rows in its own way.
To filter an Arrow table costs tens of microseconds for each column, even if few rows are left. A view costs one array
of positions: a column is converted when it is first used, and all views of a table share it.

A partition may be larger than memory. :meth:`View.by_range` cuts a view by the ranges of a column into views of about
:data:`CHUNK` rows. Of a table on disk only the rows of one range are in memory then.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.arrow.arrays import Bools, Ints, distinct
from highwater_pipeline.arrow.column_cache import ALL, Which, filled
from highwater_pipeline.arrow.columns import Columns
from highwater_pipeline.arrow.ranges import Range, Rows, Spread, count_of, numbers_of

Number = TypeVar("Number", bound=np.generic)
Made = TypeVar("Made")

CHUNK = 1 << 18
"""Rows of a range of :meth:`View.by_range`, about."""

_SAMPLED: Final = 1 << 12
"""Rows of each range by which :meth:`View.by_range` decides where ranges end."""


class View:
    """Rows of a table, in order. ``where``, ``take`` and ``slice`` give views of the same table."""

    __slots__ = ("_columns", "_made", "_some")

    def __init__(self, columns: Columns, some: Ints | slice | None) -> None:
        """``some``: which rows of the table, a slice if they lie together; None: all."""
        self._columns: Final = columns
        self._some: Final = some
        self._made: dict[Hashable, Any] | None = None

    @classmethod
    def of(cls, table: Rows) -> View:
        """All rows of ``table``."""
        return cls(Columns(table), None)

    @property
    def _is_whole(self) -> bool:
        return self._some is None

    @property
    def _rows(self) -> Ints:
        some = self._some
        if isinstance(some, slice):
            return np.arange(some.start, some.stop)
        return np.arange(self.num_rows) if some is None else some

    def __eq__(self, other: object) -> bool:
        return isinstance(other, View) and bool(self.to_arrow().equals(other.to_arrow()))

    __hash__ = None  # type: ignore[assignment]  # compared by content, and large

    @property
    def num_rows(self) -> int:
        some = self._some
        if isinstance(some, slice):
            return int(some.stop - some.start)
        return self._columns.num_rows if some is None else len(some)

    def where(self, which: Bools) -> View:
        """The rows for which ``which`` is true."""
        if np.count_nonzero(which) == len(which):
            return self
        return View(self._columns, which.nonzero()[0] if self._some is None else self._rows[which])

    def take(self, positions: Ints) -> View:
        """The rows at these positions, counted from 0 (from the end if below), in that order."""
        if self._some is None:
            return View(self._columns, np.where(positions < 0, positions + self.num_rows, positions))
        return View(self._columns, self._rows[positions])

    def reordered(self, order: Ints) -> View:
        """All rows in the order of these positions. If the table is in memory, a new one has that order, since a view
        of consecutive rows is taken for a slice."""
        if isinstance(self._columns.table, pa.Table):
            return View.of(self.to_arrow().take(pa.array(order)))
        return self.take(order)

    def pick(self, positions: Ints, *names: str) -> View:
        """A few rows in memory, with these columns (none named: all)."""
        return View.of(self.take(positions).to_arrow(*names))

    def by_range(self, name: str, least: int | None = None) -> Iterator[tuple[Ints, View]]:
        """The rows by ranges of an integer column without nulls, the lowest first: their positions, and a view of them.

        A range has about :data:`CHUNK` rows. Rows with the same number are in one range, in their order. Rows with a
        number below ``least`` are in no range.
        """
        if self.num_rows <= CHUNK:
            yield np.arange(self.num_rows), self
            return
        cuts = self._cuts(name, least)
        spread = [Spread(part, cuts) for part in self._in_parts(name)]
        parts_of: list[list[int]] = [[] for _ in range(len(cuts) + 1)]
        for number, part in enumerate(spread):
            for which in part.ranges:
                parts_of[which].append(number)
        starts = self._starts
        for which in range(0 if least is None else 1, len(cuts) + 1):
            within = {number: spread[number].rows(which) for number in parts_of[which]}
            if within:
                positions = np.concatenate([numbers_of(rows, starts[number]) for number, rows in within.items()])
                yield positions, self._range(positions, within)

    def _cuts(self, name: str, least: int | None) -> Ints:
        """The numbers before which ranges end, ascending; ``least`` is one of them."""
        step = max(1, CHUNK // _SAMPLED)
        sample = np.concatenate(list(self._in_parts(name, step)))
        sample = np.sort(sample if least is None else sample[sample >= least])
        ranges = max(1, -(-len(sample) * step // CHUNK))
        cuts = sample[np.arange(1, ranges) * len(sample) // ranges]
        return distinct(cuts if least is None else np.append(cuts, least))

    @property
    def _starts(self) -> Sequence[int]:
        table = self._columns.table
        in_memory = isinstance(table, pa.Table) or not self._is_whole
        return (0, self.num_rows) if in_memory else table.starts

    def _in_parts(self, name: str, step: int = 1) -> Iterator[Ints]:
        """Every ``step``-th number of an integer column without nulls, part by part."""
        table = self._columns.table
        if isinstance(table, pa.Table) or not self._is_whole:
            yield self.ints(name, -1)[::step]
            return
        for number, (start, end) in enumerate(pairwise(table.starts)):
            rows = slice(0, end - start, step)
            part = np.empty(count_of(rows), np.int64)
            table.fill(part, name, number, rows, -1)
            yield part

    def _range(self, positions: Ints, within: dict[int, Which]) -> View:
        table = self._columns.table
        if isinstance(table, pa.Table) or not self._is_whole:
            return self.take(positions)
        return View.of(Range(table, positions, within))

    def in_memory(self, *names: str) -> View:
        """These rows with these columns, read at once if they are on disk."""
        return self if isinstance(self._columns.table, pa.Table) else View.of(self.to_arrow(*names))

    def find(self, name: str, is_it: Callable[[Ints], Bools], *names: str) -> View:
        """A few rows in memory, with the columns ``names``: those of which ``is_it`` holds for a column of integers."""
        at, found = 0, [np.empty(0, np.int64)]
        for part in self._in_parts(name):
            found.append(at + np.flatnonzero(is_it(part)))
            at += len(part)
        return self.pick(np.concatenate(found), *names)

    def find_any(self, name: str, words: tuple[str, ...], *names: str) -> View:
        """A few rows in memory, with the columns ``names``: those with one of ``words`` in a column of strings."""
        table = self._columns.table
        if isinstance(table, pa.Table) or not self._is_whole:
            return self.where(self.is_any(name, words))
        wanted = pa.array(words)
        parts = [(start, table.some(name, number, ALL)) for number, start in enumerate(table.starts[:-1])]
        found = [
            start + np.flatnonzero(filled(pc.is_in(part.cast(pa.string()), wanted), False))
            for start, part in parts
            if part.null_count < len(part)
        ]
        return self.pick(np.concatenate([np.empty(0, np.int64), *found]), *names)

    def slice(self, start: int, length: int | None = None) -> View:
        """``length`` rows from ``start`` on, or all from there."""
        within = slice(start, None if length is None else start + length)
        if isinstance(self._some, np.ndarray):
            return View(self._columns, self._some[within])
        first, end, _ = within.indices(self.num_rows)
        before = 0 if self._some is None else self._some.start
        return View(self._columns, slice(before + first, before + max(first, end)))

    def to_arrow(self, *names: str) -> pa.Table:
        """The rows as a table of their own, with these columns or all."""
        rows, table = self._rows, self._columns.table
        columns = list(names or table.schema.names)
        if not isinstance(table, pa.Table):
            return table.take(pa.array(rows, pa.int64()), columns)
        # Views keep the table's order: such rows lie together.
        if len(rows) and rows[-1] - rows[0] == len(rows) - 1:
            return table.select(columns).slice(int(rows[0]), len(rows))
        return table.select(columns).take(pa.array(rows, pa.int64()))

    def row(self, position: int, *names: str) -> dict[str, Any]:
        """One row, as ``to_pylist`` has it."""
        return self.take(np.array([position])).to_pylist(*names)[0]

    def to_pylist(self, *names: str) -> list[dict[str, Any]]:
        """A dictionary for each row, of these columns or of all."""
        if not self.num_rows:
            return []
        names = names or tuple(self._columns.table.schema.names)
        if not isinstance(self._columns.table, pa.Table):
            return list(self.to_arrow(*names).to_pylist())
        return [dict(zip(names, row, strict=True)) for row in self.rows(*names)]

    def rows(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """The rows, each as the values of these columns."""
        return zip(*self._columns.several(names, self._some), strict=True)

    def values(self, name: str) -> list[Any]:
        """A column as Python values; None for null."""
        return self._columns.several((name,), self._some)[0]

    def ints(self, name: str, missing: int) -> Ints:
        """An integer column; ``missing`` stands for null."""
        return self._of_rows(self._columns.ints(name, missing))

    def bools(self, name: str) -> Bools:
        """A boolean column; null is false."""
        return self._of_rows(self._columns.bools(name))

    def is_known(self, name: str) -> Bools:
        """Where a column is not null."""
        null = self._columns.nulls(name)
        return np.ones(self.num_rows, np.bool_) if null is None else ~self._of_rows(null)

    def with_numbers(self, name: str, values: Ints | Bools) -> View:
        """These rows with other ``values`` in a column of integers or booleans."""
        table = self.to_arrow()
        return View.of(table.set_column(table.schema.get_field_index(name), name, pa.array(values)))

    def with_words(self, name: str, values: Sequence[str | None]) -> View:
        """These rows with other ``values`` in a column of strings."""
        table = self.to_arrow()
        words = pa.array(values, pa.string())
        return View.of(table.set_column(table.schema.get_field_index(name), name, words))

    def is_any(self, name: str, words: tuple[str, ...]) -> Bools:
        """Where a string column is one of ``words``."""
        if self._columns.is_small:
            return self._of_rows(self._columns.is_any(name, words))
        numbers, _ = self._columns.codes(name)
        among = self._columns.among(name, words)
        return among[self._of_rows(numbers)] if among.any() else np.zeros(self.num_rows, np.bool_)

    def words(self, name: str) -> list[str]:
        """The strings of a column, each once, as they come up."""
        table = self._columns.table
        if isinstance(table, pa.Table) or not self._is_whole:
            return self.codes(name)[1]
        key = ("words", name)
        if key in self._columns.made:
            return list(self._columns.made[key])
        found: dict[str, None] = {}
        for number in range(len(table.starts) - 1):
            found.update(dict.fromkeys(table.words(name, number)))
        self._columns.made[key] = list(found)
        return list(found)

    def codes(self, name: str) -> tuple[Ints, list[str]]:
        """A string column as numbers, and the strings of these rows that they stand for, as they come up (−1: null)."""
        numbers, words = self._columns.codes(name)
        mine = self._of_rows(numbers)
        first = np.full(len(words) + 1, len(mine))  # the last: of null
        np.minimum.at(first, mine, np.arange(len(mine)))
        found = np.argsort(first[:-1], kind="stable")[: np.count_nonzero(first[:-1] < len(mine))]
        renumber = np.full(len(words) + 1, -1, np.int64)  # the last: of null, which is −1
        renumber[found] = np.arange(len(found))
        return renumber[mine], [words[code] for code in found.tolist()]

    def numbers(self, name: str, numbers: Mapping[str, int]) -> Ints:
        """A string column, each string as the number that ``numbers`` has for it (−1: null, or none)."""
        codes, words = self._columns.codes(name)
        return np.array([*(numbers.get(word, -1) for word in words), -1], np.int64)[self._of_rows(codes)]

    def lists(self, name: str) -> tuple[Ints, Ints]:
        """A column of lists of integers, one behind the other, and for each integer the position of its row."""
        start, length, members = self._columns.lists(name)
        start, length = self._of_rows(start), self._of_rows(length)
        parent = np.repeat(np.arange(len(length)), length)
        within = np.arange(len(parent)) - np.repeat(np.cumsum(length) - length, length)
        return members[start[parent] + within], parent

    def once(self, key: Hashable, make: Callable[[], Made]) -> Made:
        """What ``make`` makes of these rows; ``key`` says what that is. Of a small table it is made once."""
        if not self._columns.is_small:
            return make()
        if self._made is None:
            self._made = {}
        if key not in self._made:
            self._made[key] = make()
        made: Made = self._made[key]
        return made

    def _of_rows(self, column: npt.NDArray[Number]) -> npt.NDArray[Number]:
        """These rows of a column; all of them are not copied."""
        return column if self._some is None else column[self._some]
