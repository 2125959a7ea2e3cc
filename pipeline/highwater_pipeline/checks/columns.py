"""Columns of Arrow tables as NumPy arrays, and the few ways in which kernels look at them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.judgement import MAX_EXAMPLES, Example, Finding

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

NOTHING = Finding(0, [])
SHOWN = 10
"""Values, offsets or operations that one example lists at most."""


def ints(table: pa.Table, name: str, missing: int = -1) -> Ints:
    """An integer column; ``missing`` stands for null."""
    column: Ints = pc.fill_null(table[name], missing).to_numpy().astype(np.int64, copy=False)
    return column


def bools(table: pa.Table, name: str) -> Bools:
    """A boolean column without nulls."""
    column: Bools = table[name].to_numpy()
    return column


def is_any(table: pa.Table, name: str, *words: str) -> Bools:
    """Where a string column is one of ``words``."""
    found: Bools = pc.fill_null(pc.is_in(table[name], pa.array(words)), False).to_numpy()
    return found


def dumped_records(replica_log: pa.Table) -> pa.Table:
    """The records of a dump, without its marks (``ended``)."""
    return replica_log.filter(pc.is_null(replica_log["ended"]))


def is_compacted(events: pa.Table) -> bool:
    """Whether a replica of the partition of these events has begun to be compacted."""
    return "compaction-begun" in of_kind(events, "transition")["reason"].to_pylist()


def of_kind(events: pa.Table, *kinds: str) -> pa.Table:
    """The events of these kinds, in order."""
    return events.filter(pc.is_in(events["kind"], pa.array(kinds)))


def codes(table: pa.Table, name: str) -> tuple[Ints, list[str | None]]:
    """A string column as numbers, and the strings they stand for (−1: null)."""
    encoded = pc.dictionary_encode(table[name]).combine_chunks()
    numbers: Ints = pc.fill_null(encoded.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers, encoded.dictionary.to_pylist()


def distinct(values: Ints) -> Ints:
    """The distinct values, ascending. Columns of a run are nearly in order, which a stable sort is quick about and the
    hash table of ``np.unique`` is not."""
    ordered = np.sort(values, kind="stable")
    fresh = np.ones(len(ordered), np.bool_)
    fresh[1:] = ordered[1:] != ordered[:-1]
    found: Ints = ordered[fresh]
    return found


def first_per(keys: Ints) -> Bools:
    """True at the first occurrence of every key; false for keys below 0, which stand for none."""
    first = np.zeros(len(keys), np.bool_)
    first[np.unique(keys, return_index=True)[1]] = True
    first[keys < 0] = False
    return first


def last_known(position_is_set: Bools) -> Ints:
    """For every position: the nearest set position at or before it; −1 where none is."""
    filled: Ints = np.maximum.accumulate(np.where(position_is_set, np.arange(len(position_is_set)), -1))
    return filled


def broker_of(node: str) -> int:
    """Broker id of a node's name (``broker-2``); −1 for other nodes."""
    role, _, number = node.rpartition("-")
    return int(number) if role == "broker" and number.isdigit() else -1


def rows_of(table: str, rows: Iterable[int]) -> list[dict[str, object]]:
    """Rows of a table as an example's ``rows``; negative ones are left out, the others come once each, in order."""
    return [{"table": table, "index": int(row)} for row in sorted({int(row) for row in rows if row >= 0})]


def who(operation: Example) -> str:
    """Who did an operation: ``producer-0 (operation 17)``."""
    name = operation["client"] or f"process {operation['process']}"
    return f"{name} (operation {operation['index']})"


def finding(count: int, examples: Iterable[Example]) -> Finding:
    """A finding that keeps the first few examples; later ones are never computed where ``examples`` is lazy."""
    kept: list[Example] = []
    if count:
        for example in examples:
            kept.append(example)
            if len(kept) == MAX_EXAMPLES:
                break
    return Finding(int(count), kept)


def listing(things: Sequence[object]) -> str:
    """``1``, ``1 and 2``, ``1, 2 and 3``; long lists are cut."""
    words = [str(thing) for thing in things[:SHOWN]]
    if len(things) > SHOWN:
        words.append(f"{len(things) - SHOWN} more")
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
