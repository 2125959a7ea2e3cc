"""The history seen from its records: one row for each record sent or read, with the outcome of its operation; and one
for each position that a consumer was assigned.

An operation is an ``invoke`` and a completion by the same process. Its outcome is that of the completion, or ``info``
where none was recorded. What the checks need to know of a *send* beyond its own row, whether it must have committed,
may depend on other partitions (one write of the same operation was read there), so it is settled here, once per run.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.files import BadTable

OK: Final = 0
FAIL: Final = 1
INFO: Final = 2
OUTCOMES: Final = ("ok", "fail", "info")

MICRO_OPERATIONS: Final = pa.schema(
    [
        pa.field("partition", pa.string()),
        pa.field("row", pa.int64()),  # of the operation's last event in the table of operations
        pa.field("invoke_row", pa.int64()),  # of its invocation; -1: nothing completes it, and row is the invocation
        pa.field("invoke_time", pa.int64()),  # ns of run time
        pa.field("end_time", pa.int64()),  # ns of run time, of the last event; NEVER: nothing completes it
        pa.field("index", pa.int64()),  # the last event's index
        pa.field("process", pa.int64()),
        pa.field("client", pa.string()),
        pa.field("outcome", pa.int8()),  # OK, FAIL, INFO
        pa.field("is_send", pa.bool_()),
        pa.field("is_poll", pa.bool_()),  # neither: an assignment
        pa.field("offset", pa.int64()),  # -1: not known
        pa.field("value", pa.int64()),
        pa.field("topic_id", pa.string()),  # null: not known
        pa.field("attempts", pa.int64()),  # how often its operation was sent; -1: not known
        pa.field("assignment", pa.int64()),  # how often its process had been assigned or subscribed, itself included
        pa.field("subscribed", pa.bool_()),  # whether the last of these was a subscription
        pa.field("must_commit", pa.bool_()),  # a send that was acknowledged, or whose operation was seen
    ]
)

NEVER: Final = np.iinfo(np.int64).max

Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class History:
    """A run's micro-operations in order of completion, and what can be said of the run as a whole.

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
    operations = operations.combine_chunks()
    rows = operations.num_rows
    process = operations["process"].to_numpy()
    is_invoke = pc.equal(operations["type"], "invoke").to_numpy()
    invoke_of, is_open = pair(process, is_invoke)

    ends = np.flatnonzero(~is_invoke | is_open)
    outcome = np.full(rows, INFO, np.int8)
    outcome[pc.equal(operations["type"], "ok").to_numpy()] = OK
    outcome[pc.equal(operations["type"], "fail").to_numpy()] = FAIL

    values = operations["value"].combine_chunks() if rows else pa.array([], operations.schema.field("value").type)
    length = pc.fill_null(pc.list_value_length(values), 0).to_numpy(zero_copy_only=False)
    # A failed or unknown completion need not repeat what was sent: then the invocation says it.
    says_nothing = (length[ends] == 0) & (outcome[ends] != OK) & (invoke_of[ends] >= 0)
    source = np.where(says_nothing, invoke_of[ends], ends)

    taken = values.take(pa.array(source, pa.int64()))
    parent = pc.list_parent_indices(taken).to_numpy()
    flat = pc.list_flatten(taken)
    op = flat.field("op")
    wanted = pc.is_in(op, pa.array(["send", "poll", "assign"]))
    if not pc.all(wanted).as_py() and len(flat):
        parent = parent[wanted.to_numpy(zero_copy_only=False)]
        flat = flat.filter(wanted)
        op = flat.field("op")

    row = ends[parent]
    is_send = pc.equal(op, "send").to_numpy(zero_copy_only=False)
    is_poll = pc.equal(op, "poll").to_numpy(zero_copy_only=False)
    assignment, subscribed = _assignments(operations, process, outcome)
    time = operations["time"].to_numpy()
    value = pc.fill_null(flat.field("value"), 0).to_numpy(zero_copy_only=False)
    offset = pc.fill_null(flat.field("offset"), -1).to_numpy(zero_copy_only=False)
    result = outcome[row]
    acknowledged = is_send & (result == OK)
    table = pa.Table.from_arrays(
        [
            flat.field("key"),
            row,
            invoke_of[row],
            np.where(is_open[row], time[row], time[invoke_of[row]]),
            np.where(is_open[row], NEVER, time[row]),
            operations["index"].take(pa.array(row)),
            process[row],
            operations["client"].take(pa.array(row)),
            result,
            is_send,
            is_poll,
            offset,
            value,
            flat.field("topic_id"),
            pc.fill_null(operations["attempts"], -1).take(pa.array(row)),
            assignment[row],
            subscribed[row],
            acknowledged | (is_send & (result == INFO) & _seen(parent, is_send, is_poll, result, value)),
        ],
        schema=MICRO_OPERATIONS,
    )
    last_acknowledged = int(row[acknowledged].max()) if acknowledged.any() else -1
    polls_ok = pc.and_(pc.equal(operations["f"], "poll"), pc.equal(operations["type"], "ok")).to_numpy()
    began = np.where(invoke_of >= 0, invoke_of, np.arange(rows))[polls_ok]
    return History(
        table,
        operations=len(ends),
        acknowledged=int(acknowledged.sum()),
        drained=bool((began > last_acknowledged).any()),
        read=int((is_poll & (result == OK)).sum()),
    )


def pair(process: Ints, is_invoke: Bools, path: str = "operations") -> tuple[Ints, Bools]:
    """For every row: the row of its invocation (-1: it is one itself), and whether it is an invocation that nothing
    completes. A completion belongs to the row of its process right before it.

    Raises :class:`~highwater_pipeline.files.BadTable` for a history that no single-threaded processes can have made: a
    process invokes while its last operation is open, or completes what it has not invoked. ``path`` is what the error
    calls the table.
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
        raise BadTable(f"{path}:{row + 1}: expected {found}")
    invoke_of = np.full(rows, -1, np.int64)
    completes = np.flatnonzero(after_invoke)
    invoke_of[order[completes]] = order[completes - 1]
    is_open = is_invoke.copy()
    is_open[order[completes - 1]] = False
    return invoke_of, is_open


def _assignments(operations: pa.Table, process: Ints, outcome: npt.NDArray[np.int8]) -> tuple[Ints, Bools]:
    """For every row: how many assignments and subscriptions its process has made, up to and with it, and whether the
    last of them was a subscription."""
    subscribes = pc.equal(operations["f"], "subscribe").to_numpy()
    moves = (pc.equal(operations["f"], "assign").to_numpy() | subscribes) & (outcome == OK)
    count = np.zeros(len(process), np.int64)
    subscribed = np.zeros(len(process), np.bool_)
    if not moves.any():
        return count, subscribed
    order = np.argsort(process, kind="stable")
    begins = np.ones(len(order), np.bool_)
    begins[1:] = process[order][1:] != process[order][:-1]
    start = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    counted = np.cumsum(moves[order])
    before = counted[start] - moves[order][start]
    count[order] = counted - before
    last = np.maximum.accumulate(np.where(moves[order], np.arange(len(order)), -1))
    subscribed[order] = (last >= start) & subscribes[order][last]
    return count, subscribed


def _seen(parent: Ints, is_send: Bools, is_poll: Bools, outcome: npt.NDArray[np.int8], value: Ints) -> Bools:
    """For every micro-operation: whether some send of its operation was read by a poll that completed ok."""
    doubtful = is_send & (outcome == INFO)
    if not doubtful.any():
        return np.zeros(len(parent), np.bool_)
    read = np.unique(value[is_poll & (outcome == OK)])
    seen = doubtful.copy()
    seen[doubtful] = np.isin(value[doubtful], read)
    operation_seen = np.zeros(int(parent.max()) + 1, np.bool_)
    operation_seen[parent[seen]] = True
    return operation_seen[parent]
