"""Rows of Arrow tables as Python values and as JSON Lines: what reports read, and what an export writes.

They are as a run writes them. A null is left out, but a micro-operation always has ``offset`` and ``value``, and a
record ``value``; only operations name the run; the fields of a node event are in the order in which its kind has them.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.arrow.view import View
from highwater_pipeline.tables.files import parquet_parts
from highwater_pipeline.tables.remote import AnyPath
from highwater_pipeline.tables.rows import EVENT_ORDER, RowKind
from highwater_pipeline.tables.schemas import OPERATIONS, RUN_ID

_AT_ONCE: Final = 1 << 12
"""Rows and micro-operations that are Python values at once: many more would keep the garbage collector busy, and a poll
can have thousands."""
_MICRO_OPERATIONS: Final = OPERATIONS.field("value").type
_OFTEN_NULL: Final = ("topic_id", "altered")
"""Of micro-operations."""
_WRITTEN: Final = ("value",)
"""Columns of which a null is written."""
_HEAD: Final = ("seq", "time_ns", "node_time_ns", "node", "incarnation", "kind")


def rows_of(part: pa.Table) -> Iterator[dict[str, Any]]:
    """The rows of a part of a table, in order."""
    part = part.drop_columns([RUN_ID.name])
    for start, end in pairwise(_cuts(part)):
        yield from _rows_at_once(part.slice(start, end - start))


def _cuts(part: pa.Table) -> list[int]:
    """Where to cut a part, so that a piece holds about :data:`_AT_ONCE` rows and micro-operations, or one row."""
    weights = np.ones(part.num_rows, np.int64)
    for column in part.columns:
        if column.type == _MICRO_OPERATIONS:
            weights += pc.fill_null(pc.list_value_length(column), 0).to_numpy()
    pieces = np.cumsum(weights) // _AT_ONCE
    return [0, *(np.flatnonzero(pieces[1:] != pieces[:-1]) + 1).tolist(), part.num_rows]


def _rows_at_once(part: pa.Table) -> Iterator[dict[str, Any]]:
    view = View.of(part)
    columns = {
        name: _values(view, part, name)
        for name in part.schema.names
        if name in _WRITTEN or part[name].null_count < part.num_rows
    }
    if "kind" in columns and "seq" in columns:
        yield from _events(columns)
        return
    full = all(part[name].null_count == 0 for name in columns)
    for values in zip(*columns.values(), strict=True):
        row = dict(zip(columns, values, strict=True))
        yield row if full else {name: value for name, value in row.items() if value is not None or name in _WRITTEN}


def _events(columns: dict[str, list[Any]]) -> Iterator[dict[str, Any]]:
    ordered: dict[str, list[tuple[str, list[Any]]]] = {}
    for at, kind in enumerate(columns["kind"]):
        if (fields := ordered.get(kind)) is None:
            first = [name for name in (*_HEAD, *EVENT_ORDER.get(kind, ())) if name in columns]
            others = [name for name in columns if name not in first]
            fields = ordered[kind] = [(name, columns[name]) for name in (*first, *others)]
        yield {name: value for name, column in fields if (value := column[at]) is not None}


def lines_of(path: AnyPath, kind: RowKind[Any]) -> Iterator[bytes]:
    """The rows of a Parquet file as JSON Lines, without line ends.

    Raises :class:`~highwater_pipeline.tables.files.BadTableError` as ``parquet_parts`` does.
    """
    encode = msgspec.json.Encoder().encode
    for part in parquet_parts(path, kind):
        for row in rows_of(part):
            yield encode(row)


def _values(view: View, part: pa.Table, name: str) -> list[Any]:
    kind = part.schema.field(name).type
    if kind == _MICRO_OPERATIONS:
        return _micro_operations(part[name].combine_chunks())
    if pa.types.is_list(kind) and not pa.types.is_integer(kind.value_type):
        return list(part[name].to_pylist())
    return view.values(name)


def _micro_operations(column: pa.ListArray) -> list[list[dict[str, Any]]]:
    """The nested column, built from its flat parts: faster than from nested scalars."""
    flat = pc.list_flatten(column)
    table = pa.Table.from_arrays(flat.flatten(), names=[field.name for field in flat.type])
    names = [name for name in table.schema.names if name not in _OFTEN_NULL]
    view = View.of(table)
    items = [
        dict(zip(names, values, strict=True)) for values in zip(*(view.values(name) for name in names), strict=True)
    ]
    for name in _OFTEN_NULL:
        if table[name].null_count < table.num_rows:
            for item, word in zip(items, view.values(name), strict=True):
                if word is not None:
                    item[name] = word
    made: list[list[dict[str, Any]]] = []
    at = 0
    for length in pc.fill_null(pc.list_value_length(column), 0).to_pylist():
        made.append(items[at : at + length])
        at += length
    return made
