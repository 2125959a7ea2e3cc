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
from typing import Any, Final, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.kept import ALL, Which, filled, some

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Number = TypeVar("Number", bound=np.generic)
Made = TypeVar("Made")


KEPT = 256 << 20
"""Bytes of the columns of one table on disk that stay in memory."""

CHUNK = 1 << 18
"""Rows of a range of :meth:`View.by_range`, about."""

SMALL = 1 << 12
"""Rows of a small table. What is made of its columns and of its views is made once, and kept."""

_SAMPLED: Final = 1 << 12
"""Rows of each range by which :meth:`View.by_range` decides where ranges end."""


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
        """How many they are."""
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
        spread = [_Spread(part, cuts) for part in self._in_parts(name)]
        parts_of: list[list[int]] = [[] for _ in range(len(cuts) + 1)]
        for number, part in enumerate(spread):
            for which in part.ranges:
                parts_of[which].append(number)
        starts = self._starts
        for which in range(0 if least is None else 1, len(cuts) + 1):
            within = {number: spread[number].rows(which) for number in parts_of[which]}
            if within:
                positions = np.concatenate([_numbers_of(rows, starts[number]) for number, rows in within.items()])
                yield positions, self._range(positions, within)

    def _cuts(self, name: str, least: int | None) -> Ints:
        """The numbers before which ranges end, ascending; ``least`` is one of them."""
        step = max(1, CHUNK // _SAMPLED)
        sample = np.concatenate(list(self._in_parts(name, step)))
        sample = np.sort(sample if least is None else sample[sample >= least])
        ranges = max(1, -(-len(sample) * step // CHUNK))
        cuts = sample[np.arange(1, ranges) * len(sample) // ranges]
        return np.unique(cuts if least is None else np.append(cuts, least))

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
            part = np.empty(_count(rows), np.int64)
            table.fill(part, name, number, rows, -1)
            yield part

    def _range(self, positions: Ints, within: dict[int, Which]) -> View:
        table = self._columns.table
        if isinstance(table, pa.Table) or not self._is_whole:
            return self.take(positions)
        return View.of(_Range(table, positions, within))

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

    def with_ints(self, name: str, values: Ints) -> View:
        """These rows with other ``values`` in a column of integers."""
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


class Columns:
    """A table and what has been made of its columns so far."""

    def __init__(self, table: Rows) -> None:
        self.table: Final = table
        self.num_rows: Final = table.num_rows
        self.made: Final[dict[tuple[object, ...], Any]] = {}
        """What has been made of columns, by what it is."""
        self._is_on_disk: Final = not isinstance(table, pa.Table)
        self.is_small: Final = not self._is_on_disk and self.num_rows <= SMALL

    def ints(self, name: str, missing: int) -> Ints:
        """An integer column; ``missing`` stands for null."""
        key = ("ints", name, missing)
        made: Ints | None = self.made.get(key)
        if made is None:
            made = self._keep(key, self._numbers(name, missing, np.int64))
        return made

    def bools(self, name: str) -> Bools:
        """A boolean column; null is false."""
        key = ("bools", name)
        made: Bools | None = self.made.get(key)
        if made is None:
            made = self._keep(key, self._numbers(name, False, np.bool_))
        return made

    def _numbers(self, name: str, missing: int | bool, kind: type[np.int64 | np.bool_]) -> npt.NDArray[Any]:
        if isinstance(self.table, _Range):
            array = np.empty(self.table.num_rows, kind)
            self.table.fill(array, name, 0, ALL, missing)
        else:
            array = filled(self.table.column(name), missing).astype(kind, copy=False)
        frozen: npt.NDArray[Any] = _frozen(array)
        return frozen

    def codes(self, name: str) -> tuple[Ints, list[str]]:
        """Numbers (−1: null) and what they stand for."""
        key = ("codes", name)
        made: tuple[Ints, list[str]] | None = self.made.get(key)
        if made is None:
            encoded = encode(self.table.column(name)).combine_chunks()
            numbers = encoded.indices
            numbers = (pc.fill_null(numbers, -1) if numbers.null_count else numbers).to_numpy(zero_copy_only=False)
            made = self._keep(key, (_frozen(numbers), encoded.dictionary.to_pylist()))
        return made

    def among(self, name: str, words: tuple[str, ...]) -> Bools:
        """For each number of :meth:`codes`, whether it stands for one of ``words``; false at −1."""
        key = ("among", name, words)
        made: Bools | None = self.made.get(key)
        if made is None:
            known = [word in words for word in self.codes(name)[1]]
            made = self.made[key] = _frozen(np.array([*known, False], np.bool_))
        return made

    def is_any(self, name: str, words: tuple[str, ...]) -> Bools:
        """Where a string column of a small table is one of ``words``."""
        key = ("is any", name, words)
        made: Bools | None = self.made.get(key)
        if made is None:
            made = self.made[key] = _frozen(self.among(name, words)[self.codes(name)[0]])
        return made

    def lists(self, name: str) -> tuple[Ints, Ints, Ints]:
        """Where each row's list begins among all members, how long it is (null: 0), and the members."""
        key = ("lists", name)
        made: tuple[Ints, Ints, Ints] | None = self.made.get(key)
        if made is None:
            column = self.table.column(name)
            length = pc.fill_null(pc.list_value_length(column), 0).to_numpy().astype(np.int64)
            members = pc.list_flatten(column).to_numpy().astype(np.int64, copy=False)
            made = self._keep(key, (np.cumsum(length) - length, length, members))
        return made

    def several(self, names: Sequence[str], some: Ints | slice | None) -> list[list[Any]]:
        """Columns at some rows (None: at all) as Python values; None for null."""
        if not self.is_small:
            return [self._values(name, some) for name in names]
        whole = [self._all_values(name) for name in names]
        if isinstance(some, np.ndarray):
            rows = some.tolist()
            return [[column[row] for row in rows] for column in whole]
        return [column[some or slice(None)] for column in whole]

    def _all_values(self, name: str) -> list[Any]:
        key = ("values", name)
        made: list[Any] | None = self.made.get(key)
        if made is None:
            made = self.made[key] = self._values(name, None)
        return made

    def _values(self, name: str, some: Ints | slice | None) -> list[Any]:
        rows = slice(None) if some is None else some
        if self._is_on_disk and isinstance(rows, np.ndarray) and len(rows) < self.num_rows:
            return list(self.table.take(pa.array(rows, pa.int64()), [name]).column(name).to_pylist())
        kind = self.table.schema.field(name).type
        if pa.types.is_string(kind):
            numbers, words = self.codes(name)
            named = [*words, None]  # the last: of null, which is −1
            return [named[number] for number in numbers[rows].tolist()]
        found: list[Any]
        if pa.types.is_list(kind):
            start, length, members = self.lists(name)
            found = [
                members[at : at + count].tolist()
                for at, count in zip(start[rows].tolist(), length[rows].tolist(), strict=True)
            ]
        else:
            found = (self.bools(name) if pa.types.is_boolean(kind) else self.ints(name, -1))[rows].tolist()
        null = self.nulls(name)
        if null is None:
            return found
        return [None if no else one for one, no in zip(found, null[rows].tolist(), strict=True)]

    def nulls(self, name: str) -> Bools | None:
        """Where a column is null; None: nowhere."""
        key = ("nulls", name)
        if key not in self.made:
            column = self.table.column(name)
            null: Bools | None = pc.is_null(column).to_numpy() if column.null_count else None
            return self._keep(key, null)
        made: Bools | None = self.made[key]
        return made

    def _keep(self, key: tuple[object, ...], made: Made) -> Made:
        """Keep what was made of a column. If the table is on disk, forget what was made first, down to KEPT bytes."""
        self.made[key] = made
        if self._is_on_disk:
            sizes = {each: _size(one) for each, one in self.made.items()}
            excess = sum(sizes.values()) - KEPT
            for each, size in sizes.items():
                if excess <= 0:
                    break
                if size:
                    del self.made[each]
                    excess -= size
        return made


class _Spread:
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


class _Range:
    """Some rows of a table on disk, as a table: :class:`Rows`. ``within``: by part, which of its rows."""

    def __init__(self, table: Rows, positions: Ints, within: dict[int, Which]) -> None:
        self.schema: Final = table.schema
        self.num_rows: Final = len(positions)
        self.starts: Final = (0, self.num_rows)
        self._table: Final = table
        self._positions: Final = positions
        self._within: Final = within

    def column(self, name: str) -> pa.ChunkedArray:
        """One column."""
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
            start, end = end, end + _count(which)
            self._table.fill(whole[start:end], name, number, which, missing)
        if not is_whole:
            array[:] = whole[rows]


def _count(rows: Which) -> int:
    return len(range(rows.start, rows.stop, rows.step or 1)) if isinstance(rows, slice) else len(rows)


def _numbers_of(rows: Which, first: int) -> Ints:
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


def _size(made: Any) -> int:
    """Bytes of the arrays that were made of a column."""
    arrays = made if isinstance(made, tuple) else (made,)
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def _frozen(array: npt.NDArray[Any]) -> Any:
    """Shared by many callers, which must not write to it."""
    array.flags.writeable = False
    return array
