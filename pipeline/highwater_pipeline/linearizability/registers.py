"""Operations on registers, key by key: from the table of operations to the numbers that a decision needs.

A history is linearizable if and only if the history of each of its keys is (Herlihy and Wing's locality, Lowe's
P-compositionality), so a key is the unit of work. Times are positions in the table of operations: what counts is only
which operation completed before which was invoked.

An operation that failed did not happen. One whose outcome is unknown may take effect at any time after its invocation,
or never: its completion lies after everything else. Two kinds of those can be left out without changing the answer:

* an unknown read, from which no client learned anything;
* an unknown write or cas whose new value no operation must have observed. Nothing that is known to have happened needs
  it, and where it stands in a linearization, taking it out leaves one: whatever comes next overwrites it. Observers of
  a value are acknowledged reads, acknowledged cas that expect it, and unknown cas that expect it and are themselves
  kept.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.arrow.arrays import distinct
from highwater_pipeline.tables.micro_operations import FAIL, INFO, OK, pair
from highwater_pipeline.tables.rows import REGISTER_OPERATIONS

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

READ: Final = 0
WRITE: Final = 1
CAS: Final = 2
KINDS: Final = tuple(REGISTER_OPERATIONS)

UNSET: Final = 0
"""The number that stands for the value of a register that was never written."""

NEVER: Final = 1 << 60
"""The completion of an operation whose outcome is unknown: after everything."""

REGISTER_HISTORY: Final = pa.schema(
    [
        pa.field("key", pa.string()),
        pa.field("row", pa.int64()),  # of the operation's last event in the table of operations
        pa.field("invoke_row", pa.int64()),  # of its invocation
        pa.field("index", pa.int64()),  # the last event's index
        pa.field("process", pa.int64()),
        pa.field("client", pa.string()),
        pa.field("outcome", pa.int8()),  # micro_operations.OK, FAIL, INFO
        pa.field("kind", pa.int8()),  # READ, WRITE, CAS
        pa.field("value", pa.int64()),  # read or written; null: unset
        pa.field("expected", pa.int64()),  # by a cas; null: unset
    ]
)


def register_history(operations: pa.Table) -> pa.Table:
    """The operations on registers of a table of operations (``schemas.OPERATIONS``), as :data:`REGISTER_HISTORY` in
    order of their last events; what else the history holds is left out."""
    operations = operations.combine_chunks()
    if operations.num_rows == 0:
        return REGISTER_HISTORY.empty_table()
    is_invoke = pc.equal(operations["type"], "invoke").to_numpy()
    invoke_of, is_open = pair(operations["process"].to_numpy(), is_invoke)
    outcome = np.full(operations.num_rows, INFO, np.int8)
    outcome[pc.equal(operations["type"], "ok").to_numpy()] = OK
    outcome[pc.equal(operations["type"], "fail").to_numpy()] = FAIL
    kind = pc.fill_null(pc.index_in(operations["f"], pa.array(KINDS)), -1).to_numpy().astype(np.int8)

    ends = np.flatnonzero((~is_invoke | is_open) & (kind >= 0))
    values = operations["value"].combine_chunks()
    length = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    # A failed or unknown completion need not repeat what it was: then the invocation says it.
    source = np.where((length[ends] == 0) & (invoke_of[ends] >= 0), invoke_of[ends], ends)
    nonempty = length[source] > 0
    ends, source = ends[nonempty], source[nonempty]
    # What nothing completes begins at its invocation like all others; it never ends.
    invoked = np.where(invoke_of[ends] >= 0, invoke_of[ends], ends)
    flat = pc.list_flatten(values.take(pa.array(source, pa.int64())))
    after = np.cumsum(length[source])
    last = pa.array(after - 1, pa.int64())
    first = pa.array(after - length[source], pa.int64())
    is_cas = pa.array(kind[ends] == CAS)
    return pa.Table.from_arrays(
        [
            flat.field("key").take(first),
            pa.array(ends),
            pa.array(invoked, pa.int64()),
            operations["index"].take(pa.array(ends)),
            operations["process"].take(pa.array(ends)),
            operations["client"].take(pa.array(ends)),
            pa.array(outcome[ends]),
            pa.array(kind[ends]),
            flat.field("value").take(last),
            pc.if_else(is_cas, flat.field("value").take(first), pa.scalar(None, pa.int64())),
        ],
        schema=REGISTER_HISTORY,
    ).combine_chunks()


def by_key(history: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """The keys of a :data:`REGISTER_HISTORY` in order of their names, each with its rows in order."""
    encoded = pc.dictionary_encode(history["key"]).combine_chunks()
    codes = encoded.indices.to_numpy()
    order = np.argsort(codes, kind="stable")
    starts = np.searchsorted(codes[order], np.arange(len(encoded.dictionary) + 1))
    for name, code in sorted((name, code) for code, name in enumerate(encoded.dictionary.to_pylist())):
        yield name, history.take(pa.array(order[starts[code] : starts[code + 1]]))


@dataclass(frozen=True, slots=True)
class Register:
    """One key's operations that count, as columns. ``value`` and ``expected`` are small numbers (:data:`UNSET`: never
    written; ``expected`` of what is no cas: −1); ``invoked`` and ``completed`` are positions in time, ``completed``
    :data:`NEVER` where the outcome is unknown; ``row`` is the row of the key's table."""

    kind: Ints
    value: Ints
    expected: Ints
    invoked: Ints
    completed: Ints
    row: Ints

    @property
    def size(self) -> int:
        """How many operations there are."""
        return len(self.kind)

    @property
    def known(self) -> Bools:
        """Which operations are known to have taken effect."""
        return self.completed < NEVER

    def take(self, which: Ints | Bools) -> Register:
        """Return those of the operations that a mask selects."""
        return Register(*(getattr(self, name)[which] for name in self.__slots__))

    def until(self, position: int) -> Register:
        """What had been recorded at a position in time (inclusive): later completions are not known yet."""
        begun = self.take(self.invoked <= position)
        completed = np.where(begun.completed <= position, begun.completed, NEVER)
        return replace(begun, completed=completed).reduced()

    def reduced(self) -> Register:
        """Without the operations of unknown outcome that nothing depends on; see above."""
        known = self.known
        if known.all():
            return self
        observed = np.zeros(int(self.value.max(initial=0)) + 1, np.bool_)
        reads = self.value[known & (self.kind == READ)]
        expects = self.expected[known & (self.kind == CAS)]
        for seen in (reads, expects):
            observed[seen[seen < len(observed)]] = True
        waiting: dict[int, list[int]] = defaultdict(list)
        for at in np.flatnonzero(~known & (self.kind == CAS)).tolist():
            waiting[int(self.value[at])].append(int(self.expected[at]))
        todo = [value for value in sorted(waiting) if observed[value]]
        while todo:
            for expected in waiting.pop(todo.pop(), ()):
                if expected < len(observed) and not observed[expected]:
                    observed[expected] = True
                    todo.append(expected)
        return self.take(known | ((self.kind != READ) & observed[self.value]))


def register_of(table: pa.Table) -> Register:
    """The operations of one key's rows of :data:`REGISTER_HISTORY` that can matter."""
    outcome, kind = table["outcome"].to_numpy(), table["kind"].to_numpy().astype(np.int64)
    numbers = _Numbers(table)
    value, expected = numbers.of("value"), numbers.of("expected")
    expected[kind != CAS] = -1
    # A cas that writes what it expects changes nothing: it is a read that says so, and where unknown it says nothing.
    kind = np.where((kind == CAS) & (value == expected), READ, kind)
    expected[kind == READ] = -1
    completed = np.where(outcome == OK, table["row"].to_numpy(), NEVER)
    row = np.arange(table.num_rows, dtype=np.int64)
    every = Register(kind, value, expected, table["invoke_row"].to_numpy(), completed, row)
    return every.take(outcome != FAIL).reduced()


class _Numbers:
    """Values as numbers from 1 in ascending order; null is :data:`UNSET`."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        columns = [table[name].drop_null().to_numpy() for name in ("value", "expected")]
        self._values = distinct(np.concatenate(columns))

    def of(self, name: str) -> Ints:
        column = self._table[name]
        there = column.is_valid().to_numpy()
        numbers = np.full(len(column), UNSET, np.int64)
        numbers[there] = np.searchsorted(self._values, column.drop_null().to_numpy()) + 1
        return numbers
