"""What clients can see: lost-write, duplicate, inconsistent-offsets, aborted-read, unseen (Jepsen's definitions).

The *version order* of a partition maps offsets to the values seen at them, by every poll, and by every send that must
have committed (acknowledged, or unknown with a write of the same operation read by an ok poll). A value's *index* is
the dense rank of its offset; where a value stands at several offsets it has a first and a last index.

* ``inconsistent-offsets``: an offset has two or more values.
* ``duplicate``: a value has two or more offsets.
* ``lost-write``: let ``bound`` be the highest first index among values read ok; a value whose last index is not above
  ``bound`` and whose writer must have committed was read ok by nobody.
* ``aborted-read``: a value was read ok although (every) writer of it failed.
* ``unseen``: an acknowledged value was read ok by nobody by the end, final reads included.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from highwater_pipeline.checks.columns import SHOWN, Bools, Ints, bools, distinct, finding, ints, listing, rows_of, who
from highwater_pipeline.judgement import Example, Finding
from highwater_pipeline.micro_operations import FAIL, OK
from highwater_pipeline.units import Unit


def client_anomalies(unit: Unit) -> dict[str, Finding]:
    """All five checks on one partition's history; they share the version order, which is most of the work."""
    if unit.history.num_rows == 0:
        return {}
    seen = _Seen.of(unit.partition, unit.history)
    order = _VersionOrder.of(seen)
    read = distinct(seen.value[seen.read_ok])
    return {
        "lost-write": _lost_write(seen, order, read),
        "duplicate": _duplicate(seen, order),
        "inconsistent-offsets": _inconsistent_offsets(seen, order),
        "aborted-read": _aborted_read(seen, read),
        "unseen": _unseen(seen, read) if unit.facts.drained else finding(0, ()),
    }


@dataclass(frozen=True, slots=True)
class _Seen:
    """The columns of a history. ``known``: rows that say which value stands at an offset."""

    partition: str
    table: pa.Table
    value: Ints
    offset: Ints
    is_send: Bools
    acknowledged: Bools
    failed: Bools
    read_ok: Bools
    must_commit: Bools
    known: Bools

    @classmethod
    def of(cls, partition: str, history: pa.Table) -> _Seen:
        is_send, outcome, offset = bools(history, "is_send"), ints(history, "outcome"), ints(history, "offset")
        must_commit = bools(history, "must_commit")
        return cls(
            partition,
            history,
            value=ints(history, "value", 0),
            offset=offset,
            is_send=is_send,
            acknowledged=is_send & (outcome == OK),
            failed=is_send & (outcome == FAIL),
            read_ok=~is_send & (outcome == OK),
            must_commit=must_commit,
            known=(offset >= 0) & (~is_send | must_commit),
        )

    def first(self, where: Bools) -> int:
        """The first micro-operation that ``where`` holds for; −1 if none does."""
        position = int(np.argmax(where))
        return position if where[position] else -1

    def row(self, position: int) -> int:
        """The row of its completion in the table of operations."""
        return int(self.table["row"][position].as_py()) if position >= 0 else -1

    def who(self, position: int) -> str:
        """``producer-0 (operation 17)``."""
        return who(self.table.slice(position, 1).to_pylist()[0])


@dataclass(frozen=True, slots=True)
class _VersionOrder:
    """Distinct (offset, value) pairs by offset; ``index`` is the dense rank of ``offset``. ``values`` are the distinct
    values in ascending order with their ``first`` and ``last`` index and how many offsets they have (``places``)."""

    offset: Ints
    value: Ints
    index: Ints
    values: Ints
    first: Ints
    last: Ints
    places: Ints

    @classmethod
    def of(cls, seen: _Seen) -> _VersionOrder:
        offset, value = seen.offset[seen.known], seen.value[seen.known]
        order = np.lexsort((value, offset))
        offset, value = offset[order], value[order]
        fresh = np.ones(len(offset), np.bool_)
        fresh[1:] = (offset[1:] != offset[:-1]) | (value[1:] != value[:-1])
        offset, value = offset[fresh], value[fresh]
        rises = np.zeros(len(offset), np.int64)
        rises[1:] = offset[1:] != offset[:-1]
        index = np.cumsum(rises)
        by_value = np.argsort(value, kind="stable")  # stable: within a value, indices still ascend
        values, starts, places = np.unique(value[by_value], return_index=True, return_counts=True)
        ascending = index[by_value]
        return cls(offset, value, index, values, ascending[starts], ascending[starts + places - 1], places)

    def has(self, values: Ints) -> tuple[Ints, Bools]:
        """For every value: its position in ``values`` (any, if it has none), and whether it has one."""
        if not len(self.values):
            return np.zeros(len(values), np.int64), np.zeros(len(values), np.bool_)
        at = np.minimum(np.searchsorted(self.values, values), len(self.values) - 1)
        return at, self.values[at] == values


def _lost_write(seen: _Seen, order: _VersionOrder, read: Ints) -> Finding:
    at, known = order.has(read)
    if not known.any():
        return finding(0, ())
    firsts = order.first[at[known]]
    bound = int(firsts.max())
    written = distinct(seen.value[seen.must_commit])
    at, has_place = order.has(written)
    lost = written[has_place & (order.last[at] <= bound) & ~_is_in(written, read)]
    return finding(len(lost), _lost_examples(seen, order, lost, int(read[known][firsts.argmax()])))


def _lost_examples(seen: _Seen, order: _VersionOrder, lost: Ints, read_last: int) -> Iterator[Example]:
    reader = seen.first(seen.read_ok & (seen.value == read_last))
    read_to = int(seen.offset[reader])
    for value in lost:
        writer = seen.first(seen.must_commit & (seen.value == value))
        offset = int(order.offset[order.value == value][-1])
        acknowledged = "acknowledged to" if seen.acknowledged[writer] else "committed (in part seen) by"
        yield {
            "partition": seen.partition,
            "value": int(value),
            "offset": offset,
            "read_past": read_to,
            "rows": rows_of("operations", [seen.row(writer), seen.row(reader)]),
            "story": (
                f"Value {value}, {acknowledged} {seen.who(writer)} at offset {offset} of {seen.partition},"
                f" was read by nobody, though {seen.who(reader)} read on to offset {read_to}."
            ),
        }


def _duplicate(seen: _Seen, order: _VersionOrder) -> Finding:
    doubled = order.values[order.places > 1]

    def examples() -> Iterator[Example]:
        for value in doubled:
            offsets = order.offset[order.value == value]
            witnesses = [seen.first(seen.known & (seen.value == value) & (seen.offset == at)) for at in offsets[:SHOWN]]
            yield {
                "partition": seen.partition,
                "value": int(value),
                "offsets": [int(offset) for offset in offsets[:SHOWN]],
                "rows": rows_of("operations", map(seen.row, witnesses)),
                "story": (
                    f"Value {value} stands at {len(offsets)} offsets of {seen.partition}: "
                    + listing([f"{o} by {seen.who(w)}" for o, w in zip(offsets, witnesses, strict=False)])
                    + "."
                ),
            }

    return finding(len(doubled), examples())


def _inconsistent_offsets(seen: _Seen, order: _VersionOrder) -> Finding:
    offsets, starts, counts = np.unique(order.offset, return_index=True, return_counts=True)
    several = np.flatnonzero(counts > 1)

    def examples() -> Iterator[Example]:
        for group in several:
            offset = int(offsets[group])
            values = order.value[starts[group] : starts[group] + counts[group]]
            witnesses = [seen.first(seen.known & (seen.offset == offset) & (seen.value == v)) for v in values[:SHOWN]]
            yield {
                "partition": seen.partition,
                "offset": offset,
                "values": [int(value) for value in values[:SHOWN]],
                "rows": rows_of("operations", map(seen.row, witnesses)),
                "story": (
                    f"Offset {offset} of {seen.partition} has {len(values)} values: "
                    + listing([f"{v} by {seen.who(w)}" for v, w in zip(values, witnesses, strict=False)])
                    + "."
                ),
            }

    return finding(len(several), examples())


def _aborted_read(seen: _Seen, read: Ints) -> Finding:
    failed = distinct(seen.value[seen.failed])
    suspect = failed[_is_in(failed, read)]
    aborted = suspect[~np.isin(suspect, seen.value[seen.is_send & ~seen.failed])] if len(suspect) else suspect

    def examples() -> Iterator[Example]:
        for value in aborted:
            writer = seen.first(seen.failed & (seen.value == value))
            reader = seen.first(seen.read_ok & (seen.value == value))
            offset = int(seen.offset[reader])
            yield {
                "partition": seen.partition,
                "value": int(value),
                "offset": offset,
                "rows": rows_of("operations", [seen.row(writer), seen.row(reader)]),
                "story": (
                    f"Value {value} was read at offset {offset} of {seen.partition} by {seen.who(reader)},"
                    f" although {seen.who(writer)} was told that it had not been written."
                ),
            }

    return finding(len(aborted), examples())


def _unseen(seen: _Seen, read: Ints) -> Finding:
    acknowledged = distinct(seen.value[seen.acknowledged])
    unseen = acknowledged[~_is_in(acknowledged, read)]

    def examples() -> Iterator[Example]:
        for value in unseen:
            writer = seen.first(seen.acknowledged & (seen.value == value))
            offset = int(seen.offset[writer])
            where = f" at offset {offset}" if offset >= 0 else ""
            yield {
                "partition": seen.partition,
                "value": int(value),
                "offset": offset if offset >= 0 else None,
                "rows": rows_of("operations", [seen.row(writer)]),
                "story": (
                    f"Value {value}, acknowledged to {seen.who(writer)}{where} of {seen.partition},"
                    " had been read by nobody when the final reads were through."
                ),
            }

    return finding(len(unseen), examples())


def _is_in(values: Ints, among: Ints) -> Bools:
    """Which of ``values`` are in ``among``; ``among`` ascends."""
    if not len(among):
        return np.zeros(len(values), np.bool_)
    found: Bools = among[np.minimum(np.searchsorted(among, values), len(among) - 1)] == values
    return found
