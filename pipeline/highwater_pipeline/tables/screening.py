"""Which rows of a table may be wrong, seen from its columns: whether one is, ``rows`` says.

A Parquet file is held to what a JSON Lines file is held to. To look at each row of it as the reader of JSON Lines does
would take longer than all checks together, so its columns are looked at first. What they find suspicious is looked at
row by row: in a good file, the operations ``cas``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.tables.rows import (
    BATCHES,
    ENDED,
    EVENT_FIELDS,
    MICRO_KINDS,
    MOST_RECORDS,
    OPERATION_KINDS,
    OPERATION_TYPES,
    REGISTER_OPERATIONS,
    RowKind,
    is_node,
)


def suspects(table: pa.Table, kind: RowKind[Any]) -> Ints:
    """The positions of all rows of which ``kind.row`` or ``kind.complaint`` may say that they are wrong, ascending.

    The table has the schema of ``kind``. No null stands where the schema has none.
    """
    screen = _SCREENS.get(kind.name)
    return np.empty(0, np.int64) if screen is None else np.flatnonzero(screen(table))


def _of_operations(table: pa.Table) -> Bools:
    suspicious = ~(_is_any(table["type"], OPERATION_TYPES) & _is_any(table["f"], OPERATION_KINDS))
    suspicious |= _goes_back(table["index"])
    of_register = _is_any(table["f"], tuple(REGISTER_OPERATIONS))
    values = table["value"].combine_chunks()
    parent, items = pc.list_parent_indices(values).to_numpy(), pc.list_flatten(values)
    op, offset = items.field("op"), items.field("offset")
    has_no_value = items.field("value").is_null().to_numpy(zero_copy_only=False)
    has_no_offset = offset.is_null().to_numpy(zero_copy_only=False)
    wrong = ~_is_any(op, MICRO_KINDS) | _is_any(op, ("read", "write")) | (has_no_value & ~_is_any(op, ("assign",)))
    wrong |= (pc.fill_null(offset, 0).to_numpy() < 0) | (has_no_offset & _is_any(op, ("poll",)))
    if of_register.any():
        other = pc.not_equal(op, table["f"].take(pa.array(parent)).combine_chunks()).to_numpy(zero_copy_only=False)
        wrong_there = other | ~has_no_offset | (has_no_value & _is_any(op, ("write",)))
        wrong = np.where(of_register[parent], wrong_there, wrong)
        length = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
        suspicious |= of_register & (length != 1)
    suspicious[parent[wrong]] = True
    return suspicious


_KINDS: Final = tuple(EVENT_FIELDS)
_NEEDED_BY: Final = {
    column: np.array([*(column in needed for needed in EVENT_FIELDS.values()), False], np.bool_)
    for column in sorted({name for needed in EVENT_FIELDS.values() for name in needed})
}
"""For each column the kinds of events that need it; the last stands for those that are not known."""


def _of_events(table: pa.Table) -> Bools:
    names = table["node"].unique().to_pylist()
    nameless = [name for name in names if not is_node(name)]
    kind = pc.fill_null(pc.index_in(table["kind"], pa.array(_KINDS)), len(_KINDS)).to_numpy()
    suspicious: Bools = (kind == len(_KINDS)) | _goes_back(table["seq"]) | _is_any(table["node"], tuple(nameless))
    for name, by in _NEEDED_BY.items():
        if table[name].null_count:
            suspicious |= table[name].is_null().to_numpy() & by[kind]
    members = pc.fill_null(pc.list_value_length(table["isr"]), 0)
    for name in ("isr_epochs", "registered_epochs"):
        length = pc.list_value_length(table[name])
        suspicious |= pc.fill_null(pc.not_equal(length, members), False).to_numpy()
    records = pc.subtract(pc.fill_null(table["end_offset"], 0), pc.fill_null(table["offset"], 0)).to_numpy()
    batch = np.array([*(one in BATCHES for one in _KINDS), False], np.bool_)[kind]
    suspicious |= batch & ((records < 0) | (records > MOST_RECORDS))
    return suspicious


def _of_replica_log(table: pa.Table) -> Bools:
    ended, start = table["ended"], table["start_offset"]
    suspicious: Bools = table["offset"].to_numpy() < 0
    if ended.null_count < table.num_rows:
        suspicious |= ~(_is_any(ended, ENDED) | ended.is_null().to_numpy())
        suspicious |= _is_any(ended, ("end",)) & start.is_null().to_numpy()
    return suspicious


_SCREENS: Final[dict[str, Callable[[pa.Table], Bools]]] = {
    "operations": _of_operations,
    "node_event": _of_events,
    "replica_log": _of_replica_log,
}


def _is_any(column: pa.Array | pa.ChunkedArray, words: tuple[str, ...]) -> Bools:
    found = pc.is_in(column, pa.array(words, pa.string()))
    is_one: Bools = found.to_numpy() if isinstance(found, pa.ChunkedArray) else found.to_numpy(zero_copy_only=False)
    return is_one


def _goes_back(column: pa.ChunkedArray) -> Bools:
    """Where a number is not above the one before it."""
    number = column.to_numpy()
    back = np.zeros(len(number), np.bool_)
    back[1:] = number[1:] <= number[:-1]
    return back
