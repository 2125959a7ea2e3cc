"""The columns of a table as NumPy arrays or Python values, each made once, when it is first used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.arrow.column_cache import ALL, filled
from highwater_pipeline.arrow.ranges import Range, Rows, encode

Made = TypeVar("Made")

KEPT = 256 << 20
"""Bytes of the columns of one table on disk that stay in memory."""

SMALL = 1 << 12
"""Rows of a small table. What is made of its columns and of its views is made once, and kept."""


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
        if isinstance(self.table, Range):
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
            found = _slices(members, start[rows], length[rows])
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


def _size(made: Any) -> int:
    """Bytes of the arrays that were made of a column."""
    arrays = made if isinstance(made, tuple) else (made,)
    return sum(array.nbytes for array in arrays if isinstance(array, np.ndarray))


def _frozen(array: npt.NDArray[Any]) -> Any:
    """Shared by many callers, which must not write to it."""
    array.flags.writeable = False
    return array


def _slices(members: Ints, start: Ints, length: Ints) -> list[list[int]]:
    """The members of each row. Where rows lie together, theirs become Python's integers at once."""
    first, end = int(start.min(initial=len(members))), int((start + length).max(initial=0))
    if end - first > 4 * int(length.sum()):
        return [members[at : at + count].tolist() for at, count in zip(start.tolist(), length.tolist(), strict=True)]
    some = members[first:end].tolist()
    return [some[at : at + count] for at, count in zip((start - first).tolist(), length.tolist(), strict=True)]
