"""The history seen from its records: one row for each record sent or read, with the outcome of its operation; and one
for each position that a consumer was assigned.

An operation is an ``invoke`` and a completion by the same process. Its outcome is that of the completion, or ``info``
where none was recorded. What the checks need to know of a *send* beyond its own row, whether it must have committed,
may depend on other partitions (one write of the same operation was read there), so it is settled here, once per run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.arrow.arrays import distinct, is_in
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.group_commits import Commits
from highwater_pipeline.tables.lookups import Lookups
from highwater_pipeline.tables.rows import COMMITS, LOOKUP
from highwater_pipeline.tables.schemas import HISTORY, OPERATIONS

OK: Final = 0
FAIL: Final = 1
INFO: Final = 2
OUTCOMES: Final = ("ok", "fail", "info")

MICRO_OPERATIONS: Final = HISTORY

_SHOWN: Final = 5
NEVER: Final = np.iinfo(np.int64).max

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]
Codes = npt.NDArray[np.int32]


@dataclass(frozen=True, slots=True)
class History:
    """A run's micro-operations in order of completion, and facts on the run as a whole.

    ``acknowledged``: records whose send completed ok. ``drained``: whether some poll began after the last send had been
    acknowledged, and completed ok; if none did, it is not known that a record stays unread. ``read``: records of
    polls that completed ok.
    """

    micro_operations: pa.Table
    operations: int
    acknowledged: int
    drained: bool
    read: int


def micro_operations(operations: pa.Table) -> History:
    """Flatten a table of operations (``schemas.OPERATIONS``) into :data:`MICRO_OPERATIONS`."""
    flattener = Flattener()
    parts = [flattener.add(operations), flattener.finish()]
    table = flattener.settled(in_order(pa.concat_tables(parts)))
    return History(table, flattener.operations, flattener.acknowledged, drained=flattener.drained, read=flattener.read)


def in_order(table: pa.Table) -> pa.Table:
    """The rows by their column ``row``. Those with the same number stay in their order."""
    rows = table["row"].to_numpy()
    if (rows[1:] >= rows[:-1]).all():
        return table
    return table.take(pa.array(np.argsort(rows, kind="stable")))


def start_rows(invoke_row: Ints, row: Ints) -> Ints:
    """The rows at which operations begin, by two columns of :data:`MICRO_OPERATIONS`."""
    began: Ints = np.where(invoke_row >= 0, invoke_row, row)
    return began


class Flattener:
    """Flattens a history that comes in parts: :meth:`add` takes each part, :meth:`finish` ends the history, and
    :meth:`settled` completes what these two returned.

    It keeps the open operations, and key and value of each record that was read or may have been written.
    """

    def __init__(self, path: str = "operations") -> None:
        """``path`` is what errors call the history."""
        self.operations = 0
        self.sent = 0
        self.acknowledged = 0
        self.read = 0
        self.commits: Final = Commits()
        self.lookups: Final = Lookups()
        self._path: Final = path
        self._rows = 0
        self._open: pa.Table = OPERATIONS.empty_table()
        self._open_rows: Ints = np.empty(0, np.int64)
        self._assigned: Final[dict[int, tuple[int, bool]]] = {}
        self._last_acknowledged = -1
        self._last_poll_began = -1
        self._keys: Final[dict[str, int]] = {}
        self._read: list[tuple[Codes, Ints]] = []
        self._uncertain: list[tuple[Ints, Codes, Ints]] = []
        self._seen: Ints = np.empty(0, np.int64)

    @property
    def drained(self) -> bool:
        """Whether some poll began after the last send had been acknowledged, and completed ok."""
        return self._last_poll_began > self._last_acknowledged

    def add(self, part: pa.Table) -> pa.Table:
        """The micro-operations of those operations that this part completes.

        Raises ``BadTableError`` as :func:`pair` does, and if a completion does not
        repeat what its invocation sent.
        """
        table = pa.concat_tables([self._open, part]).combine_chunks()
        rows = np.concatenate([self._open_rows, np.arange(self._rows, self._rows + part.num_rows)])
        is_invoke = pc.equal(table["type"], "invoke").to_numpy()
        invoke_of, is_open = pair(table["process"].to_numpy(), is_invoke, self._path, rows)
        self._rows += part.num_rows
        self._open, self._open_rows = table.filter(pa.array(is_open)), rows[is_open]
        return self._flatten(table, rows, np.flatnonzero(~is_invoke), invoke_of)

    def finish(self) -> pa.Table:
        """The micro-operations of the operations that nothing completes."""
        count = self._open.num_rows
        table = self._flatten(
            self._open.combine_chunks(), self._open_rows, np.arange(count), np.full(count, -1, np.int64)
        )
        if self._uncertain:
            row, key, value = (np.concatenate(columns) for columns in zip(*self._uncertain, strict=True))
            self._seen = distinct(row[self._was_read(key, value)])
        self._read, self._uncertain = [], []
        return table

    def _was_read(self, key: Codes, value: Ints) -> Bools:
        """Of each of some records, few: whether it was read. Another key may have the same values."""
        values = distinct(value)
        was_read = np.zeros(len(value), np.bool_)
        record = np.searchsorted(values, value) * len(self._keys) + key
        for read_key, read_value in self._read:
            found = is_in(read_value, values)
            read = np.searchsorted(values, read_value[found]) * len(self._keys) + read_key[found]
            was_read |= is_in(record, read)
        return was_read

    def settled(self, table: pa.Table) -> pa.Table:
        """Micro-operations with their ``must_commit``, which may depend on any later part: one send of the operation
        was read by a poll that completed ok."""
        if not len(self._seen):
            return table
        unknown = pc.and_(table["is_send"], pc.equal(table["outcome"], INFO)).to_numpy()
        seen = is_in(table["row"].to_numpy(), self._seen)
        must_commit = table["must_commit"].to_numpy() | (unknown & seen)
        at = table.schema.get_field_index("must_commit")
        return table.set_column(at, table.schema.field(at), pa.array(must_commit))

    def _flatten(self, table: pa.Table, rows: Ints, ends: Ints, invoke_of: Ints) -> pa.Table:
        """The micro-operations of the operations that end at the positions ``ends``. ``rows``: which rows of the whole
        history these are; ``invoke_of``: the position of each one's invocation (-1: it is one itself)."""
        count = table.num_rows
        process, time = table["process"].to_numpy(), table["time"].to_numpy()
        outcome = np.full(count, INFO, np.int8)
        outcome[pc.equal(table["type"], "ok").to_numpy()] = OK
        outcome[pc.equal(table["type"], "fail").to_numpy()] = FAIL

        values = table["value"].combine_chunks() if count else pa.array([], OPERATIONS.field("value").type)
        length = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
        # A failed or unknown completion need not repeat what was sent: then the invocation says it.
        says_nothing = (length[ends] == 0) & (outcome[ends] != OK) & (invoke_of[ends] >= 0)
        source = np.where(says_nothing, invoke_of[ends], ends)

        says_something = ends[(invoke_of[ends] >= 0) & ~says_nothing]
        self._ensure_repeated(values, rows, says_something, invoke_of[says_something])
        taken = values.take(pa.array(source, pa.int64()))
        parent = pc.list_parent_indices(taken).to_numpy()
        flat = pc.list_flatten(taken)
        op = flat.field("op")
        self._take_commits(flat, op, ends[parent], outcome, invoke_of, rows, time)
        self._take_lookups(flat, op, table, ends[parent], outcome, rows)
        wanted = pc.is_in(op, pa.array(["send", "poll", "assign"]))
        if not pc.all(wanted).as_py() and len(flat):
            parent = parent[wanted.to_numpy(zero_copy_only=False)]
            flat = flat.filter(wanted)
            op = flat.field("op")

        at = ends[parent]
        invoked = invoke_of[at]
        is_send = pc.equal(op, "send").to_numpy(zero_copy_only=False)
        is_poll = pc.equal(op, "poll").to_numpy(zero_copy_only=False)
        assignment, subscribed = self._assignments(table, process, outcome)
        value = pc.fill_null(flat.field("value"), 0).to_numpy(zero_copy_only=False)
        result = outcome[at]
        acknowledged = is_send & (result == OK)
        read = is_poll & (result == OK)
        uncertain = is_send & (result == INFO)
        self.operations += len(ends)
        self.sent += int(is_send.sum())
        self.acknowledged += int(acknowledged.sum())
        self.read += int(read.sum())
        self._last_acknowledged = max(self._last_acknowledged, int(rows[at][acknowledged].max(initial=-1)))
        if read.any() or uncertain.any():
            key = self._numbered(flat.field("key"))
            self._read.append((key[read], value[read]))
            if uncertain.any():
                self._uncertain.append((rows[at][uncertain], key[uncertain], value[uncertain]))
        polls = ends[pc.and_(pc.equal(table["f"], "poll"), pc.equal(table["type"], "ok")).to_numpy()[ends]]
        self._last_poll_began = max(self._last_poll_began, int(rows[invoke_of[polls]].max(initial=-1)))
        return pa.Table.from_arrays(
            [
                flat.field("key"),
                rows[at],
                np.where(invoked >= 0, rows[invoked], -1),
                np.where(invoked >= 0, time[invoked], time[at]),
                np.where(invoked >= 0, time[at], NEVER),
                table["index"].take(pa.array(at)),
                process[at],
                table["client"].take(pa.array(at)),
                result,
                is_send,
                is_poll,
                pc.fill_null(flat.field("offset"), -1).to_numpy(zero_copy_only=False),
                value,
                flat.field("topic_id"),
                pc.fill_null(table["attempts"], -1).take(pa.array(at)),
                assignment[at],
                subscribed[at],
                acknowledged,
                flat.field("altered"),
            ],
            schema=MICRO_OPERATIONS,
        )

    def _take_commits(
        self,
        flat: pa.StructArray,
        op: pa.Array,
        at: Ints,
        outcome: npt.NDArray[np.int8],
        invoke_of: Ints,
        rows: Ints,
        time: Ints,
    ) -> None:
        """Take in the commits and fetches of offsets among micro-operations; ``at``: the positions of their ends."""
        of_groups = pc.is_in(op, pa.array(COMMITS)).to_numpy(zero_copy_only=False)
        if not of_groups.any():
            return
        ended = at[of_groups]
        invoked = invoke_of[ended]
        is_fetch = pc.equal(op, "committed").to_numpy(zero_copy_only=False)[of_groups]
        began = np.where(invoked >= 0, rows[invoked], rows[ended])
        self.commits.add(flat.filter(pa.array(of_groups)), is_fetch, outcome[ended], began, rows[ended], time[ended])

    def _take_lookups(
        self, flat: pa.StructArray, op: pa.Array, table: pa.Table, at: Ints, outcome: npt.NDArray[np.int8], rows: Ints
    ) -> None:
        """Take in the look-ups by time stamp that completed ok; ``at``: the positions of their ends."""
        done = pc.equal(op, LOOKUP).to_numpy(zero_copy_only=False) & (outcome[at] == OK)
        if done.any():
            clients = table["client"].take(pa.array(at[done])).to_pylist()
            self.lookups.add(flat.filter(pa.array(done)), clients, rows[at[done]])

    def _numbered(self, keys: pa.Array) -> Codes:
        """Keys as numbers, the same for the whole history."""
        encoded = keys.dictionary_encode()
        numbers = [self._keys.setdefault(key, len(self._keys)) for key in encoded.dictionary.to_pylist()]
        of_rows: Codes = np.array(numbers, np.int32)[encoded.indices.to_numpy(zero_copy_only=False)]
        return of_rows

    def _ensure_repeated(self, values: pa.ListArray, rows: Ints, ends: Ints, begins: Ints) -> None:
        """Refuse completions that do not repeat the sends of their invocations, if these name some. A record of which
        no outcome is said would be missed by no check.

        ``ends``, ``begins``: positions of completions and of their invocations. Raises
        :class:`~highwater_pipeline.tables.files.BadTableError`.
        """
        items = pc.list_flatten(values)
        is_send = pc.equal(items.field("op"), "send").to_numpy(zero_copy_only=False)
        count = np.bincount(pc.list_parent_indices(values).to_numpy()[is_send], minlength=len(rows))
        ends, begins = (some[count[begins] > 0] for some in (ends, begins))
        wrong = count[ends] != count[begins]
        if not wrong.any() and len(ends):
            start = np.cumsum(count) - count
            of_sends = np.flatnonzero(is_send)
            said, sent = (of_sends[_ranges(start[which], count[which])] for which in (ends, begins))
            value = pc.fill_null(items.field("value"), 0).to_numpy(zero_copy_only=False)
            key = items.field("key").dictionary_encode().indices.to_numpy(zero_copy_only=False)
            differ = (value[said] != value[sent]) | (key[said] != key[sent])
            wrong = is_in(ends, np.repeat(ends, count[ends])[differ])
        if wrong.any():
            end, begin = int(ends[wrong][0]), int(begins[wrong][0])
            raise BadTableError(
                f"{self._path}:{int(rows[end]) + 1}: expected the outcome of all that the operation's invocation sent,"
                f" {_sends(values[begin].as_py())}, found {_sends(values[end].as_py())}"
            )

    def _assignments(self, table: pa.Table, process: Ints, outcome: npt.NDArray[np.int8]) -> tuple[Ints, Bools]:
        """For every position: how many assignments and subscriptions its process has made, up to and with it, and
        whether the last of them was a subscription."""
        subscribes = pc.equal(table["f"], "subscribe").to_numpy()
        moves = (pc.equal(table["f"], "assign").to_numpy() | subscribes) & (outcome == OK)
        count = np.zeros(len(process), np.int64)
        subscribed = np.zeros(len(process), np.bool_)
        if self._assigned:
            known = np.array(sorted(self._assigned))
            place = np.minimum(np.searchsorted(known, process), len(known) - 1)
            before = known[place] == process
            count[before] = np.array([self._assigned[one][0] for one in known.tolist()])[place[before]]
            subscribed[before] = np.array([self._assigned[one][1] for one in known.tolist()])[place[before]]
        if not moves.any():
            return count, subscribed
        order = np.argsort(process, kind="stable")
        begins = np.ones(len(order), np.bool_)
        begins[1:] = process[order][1:] != process[order][:-1]
        start = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
        counted = np.cumsum(moves[order])
        count[order] += counted - (counted[start] - moves[order][start])
        last = np.maximum.accumulate(np.where(moves[order], np.arange(len(order)), -1))
        subscribed[order] = np.where(last >= start, subscribes[order][last], subscribed[order])
        for at in np.flatnonzero(moves).tolist():
            self._assigned[int(process[at])] = int(count[at]), bool(subscribed[at])
        return count, subscribed


def _ranges(start: Ints, length: Ints) -> Ints:
    """The numbers of ranges, one range behind the other."""
    within = np.arange(int(length.sum())) - np.repeat(np.cumsum(length) - length, length)
    numbers: Ints = np.repeat(start, length) + within
    return numbers


def _sends(items: list[dict[str, Any]] | None) -> str:
    """Some of the sends of an operation, for people."""
    sends = [f"{item['value']} to {item['key']}" for item in items or () if item["op"] == "send"]
    return ", ".join(sends[:_SHOWN]) + (", …" if len(sends) > _SHOWN else "") or "no send"


def pair(process: Ints, is_invoke: Bools, path: str = "operations", numbers: Ints | None = None) -> tuple[Ints, Bools]:
    """For every row: the row of its invocation (-1: it is one itself), and whether it is an invocation that nothing
    completes. A completion belongs to the row of its process right before it.

    Raises ``BadTableError`` for a history that no single-threaded processes can have
    made: a process invokes while its last operation is open, or completes what it has not invoked. ``path`` is what the
        error
    calls the table, ``numbers`` are those of its rows in there.
    """
    rows = len(process)
    order = np.argsort(process, kind="stable")
    begins = np.ones(rows, np.bool_)
    begins[1:] = process[order][1:] != process[order][:-1]
    invokes = is_invoke[order]
    after_invoke = np.zeros(rows, np.bool_)
    after_invoke[1:] = invokes[:-1] & ~begins[1:]
    impossible = order[invokes == after_invoke]
    if len(impossible):
        row = int(impossible.min())
        who = f"process {int(process[row])}"
        found = f"{who} to complete its open operation first, found another invocation"
        if not is_invoke[row]:
            found = f"{who} to have an open operation, found a completion of none"
        raise BadTableError(f"{path}:{(row if numbers is None else int(numbers[row])) + 1}: expected {found}")
    invoke_of = np.full(rows, -1, np.int64)
    completes = np.flatnonzero(after_invoke)
    invoke_of[order[completes]] = order[completes - 1]
    is_open = is_invoke.copy()
    is_open[order[completes - 1]] = False
    return invoke_of, is_open
