"""Columns of a unit's tables as NumPy arrays, and the few ways in which kernels look at them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache, wraps
from typing import Any, Concatenate, Final, ParamSpec, TypeVar

import numpy as np

from highwater_pipeline.arrow.arrays import Bools, Ints, ranked_values
from highwater_pipeline.arrow.view import View
from highwater_pipeline.partitions.partition_tables import PartitionTables
from highwater_pipeline.verdict import MAX_EXAMPLES, Example, Finding

Columns = TypeVar("Columns", bound=Any)
"""A frozen dataclass of arrays of one length, with slots."""
Made = TypeVar("Made")
Arguments = ParamSpec("Arguments")

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


def once(function: Callable[Concatenate[View, Arguments], Made]) -> Callable[Concatenate[View, Arguments], Made]:
    """Compute a function once of each view of a small table, because several checks ask for the same. Nobody may change
    what it returns."""

    @wraps(function)
    def of(view: View, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Made:
        return view.once((function, *arguments, *named.items()), lambda: function(view, *arguments, **named))

    return of


@once
def is_zookeeper(events: View) -> bool:
    """Whether ZooKeeper servers, not controllers, report what is committed."""
    return any(name.startswith("zookeeper-") for name in codes(of_kind(events, "partition-changed"), "node")[1])


def dumped_records(replica_log: View) -> View:
    """The records of a dump, without its marks (``ended``)."""
    return replica_log.where(~replica_log.is_known("ended"))


def is_compacted(unit: PartitionTables) -> bool:
    """Whether a replica of a partition has begun to be compacted, and the settings may let it. If they do not, that a
    node reports it excuses nothing."""
    return unit.facts.settings.may_compact(unit.partition) and _has_begun_compaction(unit.events)


@once
def _has_begun_compaction(events: View) -> bool:
    return bool((is_any(events, "kind", "transition") & is_any(events, "reason", "compaction-begun")).any())


@once
def of_kind(events: View, *kinds: str) -> View:
    """The events of these kinds, in order."""
    return events.where(events.is_any("kind", kinds))


def codes(table: View, name: str) -> tuple[Ints, list[str]]:
    """A string column as numbers, and the strings they stand for (−1: null)."""
    return table.codes(name)


@dataclass(frozen=True, slots=True)
class Numbering:
    """Numbers for the keys of some rows, in the order of the keys. ``at``: the number of each row's key; ``size``: all
    numbers are below it.

    Keys of a range of a column lie close together. Then nothing is sorted, and some numbers stand for keys of no row.
    """

    at: Ints
    size: int
    _low: int
    _keys: Ints | None

    @classmethod
    def of(cls, keys: Ints) -> Numbering:
        """Number these keys."""
        if not len(keys):
            return cls(np.empty(0, np.int64), 0, 0, None)
        low = int(keys.min())
        span = int(keys.max()) - low + 1
        if span <= 4 * len(keys) + 1000:
            return cls(keys - low, span, low, None)
        found, at = ranked_values(keys)
        return cls(at, len(found), 0, found)

    def keys(self, which: Bools) -> Ints:
        """The keys of the numbers for which ``which`` is true, ascending."""
        numbers = np.flatnonzero(which)
        return numbers + self._low if self._keys is None else self._keys[numbers]

    def has(self, rows: Bools) -> Bools:
        """For each number, whether one of these rows has it."""
        there = np.zeros(self.size, np.bool_)
        there[self.at[rows]] = True
        return there

    def unlike(self, column: Ints) -> Bools:
        """Which rows differ in ``column`` from another row with their key: of such a key not every row."""
        one = np.empty(self.size, np.int64)
        one[self.at] = column
        unlike: Bools = one[self.at] != column
        return unlike


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
    picked: Columns = type(columns)(*[getattr(columns, name)[which] for name in columns.__slots__])
    return picked


def joined(parts: Sequence[Columns]) -> Columns:
    """Rows of dataclasses of columns, one behind the other."""
    first = parts[0]
    whole: Columns = type(first)(*[np.concatenate([getattr(part, name) for part in parts]) for name in first.__slots__])
    return whole


def first_per(keys: Ints) -> Bools:
    """True at the first occurrence of every key; false for keys below 0, which stand for none."""
    which = (keys >= 0).nonzero()[0]
    order = which[keys[which].argsort(kind="stable")]
    ordered = keys[order]
    is_first = np.ones(len(order), np.bool_)
    is_first[1:] = ordered[1:] != ordered[:-1]
    first = np.zeros(len(keys), np.bool_)
    first[order[is_first]] = True
    return first


def last_known(position_is_set: Bools) -> Ints:
    """For every position: the nearest set position at or before it; −1 where none is."""
    filled: Ints = np.maximum.accumulate(np.where(position_is_set, np.arange(len(position_is_set)), -1))
    return filled


@lru_cache(1 << 10)
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
