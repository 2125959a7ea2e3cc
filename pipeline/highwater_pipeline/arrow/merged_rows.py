"""The events of a partition in a store with those of the whole cluster, which the store has once.

Both tables are in the order of their column ``row``. The events of the cluster are few and in memory; those of the
partition may be on disk. A row of the cluster's belongs to the part of the partition's table in which its place is.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.arrow.arrays import Ints
from highwater_pipeline.arrow.column_cache import ALL, Which, filled, some
from highwater_pipeline.arrow.ranges import Rows, take_from_parts, words_of


class MergedRows:
    """Two tables as one, in order: :class:`~highwater_pipeline.arrow.ranges.Rows`. ``own`` must have rows."""

    def __init__(self, own: Rows, added: pa.Table) -> None:
        self.schema: Final = own.schema
        self._own: Final = own
        rows = added["row"].to_numpy()
        firsts = [self._own_ints("row", part, slice(0, 1))[0] for part in range(1, len(own.starts) - 1)]
        cuts = [0, *np.searchsorted(rows, firsts).tolist(), len(rows)]
        self._added: Final = [added.slice(start, end - start) for start, end in pairwise(cuts)]
        self._places: Final[list[Ints]] = [
            np.searchsorted(self._own_ints("row", part, ALL), rows[start:end]) if end > start else np.empty(0, np.int64)
            for part, (start, end) in enumerate(pairwise(cuts))
        ]
        sizes = [end - start for start, end in pairwise(own.starts)]
        self.starts: Final[Sequence[int]] = [
            0,
            *accumulate(size + part.num_rows for size, part in zip(sizes, self._added, strict=True)),
        ]
        self.num_rows: Final = self.starts[-1]

    def column(self, name: str) -> pa.ChunkedArray:
        """One column, strings dictionary-encoded."""
        return pa.chunked_array([self.some(name, part, ALL) for part in range(len(self._added))])

    def take(self, positions: pa.Array, names: Sequence[str]) -> pa.Table:
        """Some rows with these columns."""
        schema = pa.schema([self.schema.field(name) for name in names])
        return take_from_parts(
            schema, self.starts, positions.to_numpy(), lambda part, rows: self._take(part, rows, schema)
        )

    def _take(self, part: int, rows: Ints, schema: pa.Schema) -> pa.Table:
        first, size = self._own.starts[part], self._size(part)
        at = self._order(part)[rows]
        is_own = at < size
        own = self._own.take(pa.array(at[is_own] + first), schema.names).cast(schema)
        added = self._added[part].select(schema.names).take(pa.array(at[~is_own] - size)).cast(schema)
        back = np.empty(len(at), np.int64)
        back[np.concatenate([np.flatnonzero(is_own), np.flatnonzero(~is_own)])] = np.arange(len(at))
        return pa.concat_tables([own, added]).take(pa.array(back))

    def words(self, name: str, part: int) -> list[str]:
        """The strings of a part, of one column, each once, as they come up."""
        return self._own.words(name, part) if self._is_own(part) else words_of(self.some(name, part, ALL))

    def some(self, name: str, part: int, rows: Which) -> pa.Array:
        """Some rows of a part, of one column, strings dictionary-encoded."""
        if self._is_own(part):
            return self._own.some(name, part, rows)
        kind = self.schema.field(name).type
        both = [self._own.some(name, part, ALL).cast(kind), *self._added[part].column(name).chunks]
        column = pa.chunked_array(both, kind).combine_chunks().take(pa.array(self._order(part)))
        return some(pc.dictionary_encode(column) if pa.types.is_string(kind) else column, rows)

    def fill(self, array: npt.NDArray[Any], name: str, part: int, rows: Which, missing: int | bool) -> None:
        """Write some rows of a part, of one column of numbers or truth values, into an array."""
        if self._is_own(part):
            self._own.fill(array, name, part, rows, missing)
        else:
            array[:] = filled(self.some(name, part, ALL), missing)[rows]

    def _is_own(self, part: int) -> bool:
        return not self._added[part].num_rows

    def _size(self, part: int) -> int:
        return self._own.starts[part + 1] - self._own.starts[part]

    def _order(self, part: int) -> Ints:
        """The rows of a part as they follow each other; numbers behind those of ``own`` are of ``added``."""
        size, added = self._size(part), self._added[part].num_rows
        return np.insert(np.arange(size), self._places[part], np.arange(size, size + added))

    def _own_ints(self, name: str, part: int, rows: slice) -> Ints:
        size = self._own.starts[part + 1] - self._own.starts[part]
        array = np.empty(len(range(*rows.indices(size))), np.int64)
        self._own.fill(array, name, part, rows, -1)
        return array
