"""Columns of a unit's tables as NumPy arrays, and the few ways in which kernels look at them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Final, TypeVar

import numpy as np

from highwater_pipeline.judgement import MAX_EXAMPLES, Example, Finding
from highwater_pipeline.view import Bools, Ints, View

Columns = TypeVar("Columns", bound=Any)
"""A frozen dataclass of arrays of one length."""

NOTHING = Finding(0, [])
SHOWN = 10
"""Values, offsets or operations that one example lists at most."""


def ints(table: View, name: str, missing: int = -1) -> Ints:
    """An integer column; ``missing`` stands for null."""
    return table.ints(name, missing)


def bools(table: View, name: str) -> Bools:
    """A boolean column without nulls."""
    return table.bools(name)


def is_any(table: View, name: str, *words: str) -> Bools:
    """Where a string column is one of ``words``."""
    return table.is_any(name, words)


def is_zookeeper(events: View) -> bool:
    """Whether ZooKeeper servers, not controllers, report what is committed."""
    return any(name.startswith("zookeeper-") for name in codes(of_kind(events, "partition-changed"), "node")[1])


def dumped_records(replica_log: View) -> View:
    """The records of a dump, without its marks (``ended``)."""
    return replica_log.where(~replica_log.is_known("ended"))


def is_compacted(events: View) -> bool:
    """Whether a replica of the partition of these events has begun to be compacted."""
    return bool((is_any(events, "kind", "transition") & is_any(events, "reason", "compaction-begun")).any())


def of_kind(events: View, *kinds: str) -> View:
    """The events of these kinds, in order."""
    return events.where(events.is_any("kind", kinds))


def codes(table: View, name: str) -> tuple[Ints, list[str]]:
    """A string column as numbers, and the strings they stand for (−1: null)."""
    return table.codes(name)


def distinct(values: Ints) -> Ints:
    """The distinct values, ascending."""
    found: Ints = values[representatives(values)[1]]
    return found


def representatives(keys: Ints) -> tuple[Ints, Ints]:
    """Choose one row for each key. Returns its position for every row, and the positions in ascending order of keys.

    Keys of a range of a column lie close together. Then a table of all possible keys does it, without sorting.
    """
    if not len(keys):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    rows, low = np.arange(len(keys)), int(keys.min())
    span = int(keys.max()) - low + 1
    if span <= 4 * len(keys) + 1000:
        chosen = np.full(span, -1)
        at = keys - low
        chosen[at] = rows
        return chosen[at], chosen[chosen >= 0]
    order = np.argsort(keys, kind="stable")
    begins = np.ones(len(order), np.bool_)
    begins[1:] = keys[order][1:] != keys[order][:-1]
    firsts = order[begins]
    of_each = np.empty(len(keys), np.int64)
    of_each[order] = firsts[np.cumsum(begins) - 1]
    return of_each, firsts


def order_by(keys: Ints) -> Ints:
    """The positions in the order of ``keys``; rows with the same key stay in their order."""
    if (keys[1:] >= keys[:-1]).all():
        return np.arange(len(keys))
    low = int(keys.min())
    # NumPy sorts numbers of 16 bits in linear time.
    is_small = int(keys.max()) - low < 1 << 16
    order: Ints = np.argsort((keys - low).astype(np.uint16) if is_small else keys, kind="stable")
    return order


def pick(columns: Columns, which: Bools | Ints) -> Columns:
    """Some rows of a dataclass of columns."""
    picked: Columns = type(columns)(*(getattr(columns, column.name)[which] for column in fields(columns)))
    return picked


def joined(parts: Sequence[Columns]) -> Columns:
    """Rows of dataclasses of columns, one behind the other."""
    first = parts[0]
    names = [column.name for column in fields(first)]
    whole: Columns = type(first)(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))
    return whole


def first_per(keys: Ints) -> Bools:
    """True at the first occurrence of every key; false for keys below 0, which stand for none."""
    first = np.zeros(len(keys), np.bool_)
    which = np.flatnonzero(keys >= 0)
    first[which[np.unique(keys[which], return_index=True)[1]]] = True
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


WHO: Final = ("client", "process", "index")
"""The columns of a history that :func:`who` needs."""


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
