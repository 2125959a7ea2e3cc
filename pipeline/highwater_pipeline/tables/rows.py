"""Rows of the tables as JSON Lines have them: one strict struct per table, and the way to Arrow and back.

A struct has the fields and their types. The ``complaint`` functions check, row by row, what a type cannot express:
which kinds of events need which fields, that a read record has an offset, that rows are in order. Rows hold no cycles,
so the garbage collector leaves them alone (``gc=False``): it would look at all rows again and again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import attrgetter
from typing import Any, Final, Generic, Literal, TypeVar, get_args

import msgspec
import pyarrow as pa

from highwater_pipeline.tables.recorded_events import event_classes
from highwater_pipeline.tables.schemas import FAULTS, MICRO_OPERATION, NODE_EVENT, OPERATIONS, REPLICA_LOG

OperationType = Literal["invoke", "ok", "fail", "info"]
OperationKind = Literal[
    "send", "poll", "txn", "assign", "subscribe", "crash", "commit", "committed", "lookup", "read", "write", "cas"
]
MicroKind = Literal["send", "poll", "assign", "commit", "committed", "lookup", "read", "write"]
Ended = Literal["end", "gap", "corrupt"]
OPERATION_TYPES: Final[tuple[str, ...]] = get_args(OperationType)
OPERATION_KINDS: Final[tuple[str, ...]] = get_args(OperationKind)
MICRO_KINDS: Final[tuple[str, ...]] = get_args(MicroKind)
ENDED: Final[tuple[str, ...]] = get_args(Ended)


class MicroOp(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One record sent or read, or one position assigned; see ``MICRO_OPERATION``."""

    op: MicroKind
    key: str
    offset: int | None = None
    value: int | None = None
    topic_id: str | None = None
    altered: str | None = None


class Operation(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One row of the history; see :data:`~highwater_pipeline.tables.schemas.OPERATIONS`."""

    index: int
    time: int
    process: int
    type: OperationType
    f: OperationKind
    value: list[MicroOp] | None = None
    client: str | None = None
    error: str | None = None
    run_id: str | None = None
    attempts: int | None = None


class NodeEventRow(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """One node event; see :data:`~highwater_pipeline.tables.schemas.NODE_EVENT`."""

    seq: int
    time_ns: int
    node_time_ns: int
    node: str
    incarnation: int
    kind: str
    run_id: str | None = None
    partition: str | None = None
    topic_id: str | None = None
    broker: int | None = None
    broker_epoch: int | None = None
    leader: int | None = None
    leader_epoch: int | None = None
    partition_epoch: int | None = None
    replicas: list[int] | None = None
    isr: list[int] | None = None
    isr_epochs: list[int] | None = None
    registered_epochs: list[int] | None = None
    offset: int | None = None
    end_offset: int | None = None
    epoch: int | None = None
    crc: int | None = None
    metadata_offset: int | None = None
    reason: str | None = None
    min_isr: int | None = None
    retention_ms: int | None = None
    retention_bytes: int | None = None
    age_ms: int | None = None
    size_left: int | None = None
    stack: str | None = None
    producer_id: int | None = None
    producer_epoch: int | None = None


class ReplicaRecord(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One record of one replica; see :data:`~highwater_pipeline.tables.schemas.REPLICA_LOG`."""

    broker: int
    partition: str
    topic_id: str
    offset: int
    leader_epoch: int
    producer_id: int
    sequence: int
    value: int | None
    crc: int
    run_id: str | None = None
    producer_epoch: int | None = None
    ended: Ended | None = None
    start_offset: int | None = None
    found: str | None = None
    altered: str | None = None


class FaultRow(msgspec.Struct, gc=False):
    """One injected fault; see ``FAULTS``. Other fields are kept in ``detail``."""

    kind: str
    id: str | int | None = None
    name: str | None = None
    targets: list[str] | None = None
    injected_ns: int | None = None
    healed_ns: int | None = None
    confirmed: bool | None = None
    healed: bool | None = None
    drawn: bool | None = None
    idle: bool | None = None
    run_id: str | None = None


Row = TypeVar("Row", Operation, NodeEventRow, ReplicaRecord, FaultRow)


@dataclass(frozen=True, slots=True)
class RowKind(Generic[Row]):
    """How one table is written as JSON Lines: its struct, its Arrow schema, and what else must hold.

    ``complaint(row, previous)`` returns the error of a row ("expected …, found …"), or None.
    ``rows_only`` are columns of the schema that are computed, not fields of the struct.
    """

    name: str
    row: type[Row]
    schema: pa.Schema
    complaint: Callable[[Row, Row | None], str | None]

    def to_table(self, rows: Sequence[Row], run_id: str, lines: Sequence[bytes] = ()) -> pa.Table:
        """Rows as an Arrow table of ``schema``; ``run_id`` stands where a row names none."""
        columns = [pa.array(_column(rows, field, run_id, lines), field.type) for field in self.schema]
        return pa.Table.from_arrays(columns, schema=self.schema)


def _column(rows: Sequence[Any], field: pa.Field, run_id: str, lines: Sequence[bytes]) -> Any:
    match field.name:
        case "run_id":
            return [row.run_id or run_id for row in rows]
        case "value" if field.type == OPERATIONS.field("value").type:
            return _micro_operations(rows)
        case "detail":
            return [line.decode() for line in lines]
        case "id":
            return [None if row.id is None else str(row.id) for row in rows]
        case name:
            return list(map(attrgetter(name), rows))


def _micro_operations(rows: Sequence[Operation]) -> pa.Array:
    """The nested column, built from its flat parts: ten times faster than from a list of dictionaries."""
    flat = [item for row in rows if row.value for item in row.value]
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + (len(row.value) if row.value else 0))
    items = pa.StructArray.from_arrays(
        [
            pa.array([item.op for item in flat], pa.string()),
            pa.array([item.key for item in flat], pa.string()),
            pa.array([item.offset for item in flat], pa.int64()),
            pa.array([item.value for item in flat], pa.int64()),
            pa.array([item.topic_id for item in flat], pa.string()),
            pa.array([item.altered for item in flat], pa.string()),
        ],
        fields=list(MICRO_OPERATION),
    )
    lists = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items)
    return lists.cast(OPERATIONS.field("value").type)


# --- what types cannot say ------------------------------------------------------------------------------------------

COMMITS: Final = ("commit", "committed")
"""Operations on the offsets of groups, and their micro-operations: a commit, and a fetch of what is committed."""

LOOKUP: Final = "lookup"
"""An operation that asks for an offset by time stamp, and its micro-operation."""

REGISTER_OPERATIONS: Final[dict[str, tuple[str, ...]]] = {
    "read": ("read",),
    "write": ("write",),
    "cas": ("read", "write"),
}
"""Operations on registers, and the micro-operations of each. A ``cas`` reads what it expects and writes what is new."""


def _operation_complaint(row: Operation, previous: Operation | None) -> str | None:
    if previous is not None and row.index <= previous.index:
        return f"expected `index` above {previous.index}, found {row.index}"
    if row.f in REGISTER_OPERATIONS:
        return _register_complaint(row)
    if row.f in COMMITS:
        return _commit_complaint(row)
    if row.f == LOOKUP:
        return _lookup_complaint(row)
    for position, item in enumerate(row.value or ()):
        at = f"`value[{position}]`"
        if item.op in ("read", "write", LOOKUP, *COMMITS):
            return f"expected send, poll or assign in {at} of a {row.f}, found {item.op}"
        if item.op != "assign" and item.value is None:
            return f"expected a `value` in {at} of a {item.op}, found null"
        if item.op == "poll" and item.offset is None:
            return f"expected an `offset` in {at} of a poll, found null"
        if item.offset is not None and item.offset < 0:
            return f"expected `offset` of {at} to be null or at least 0, found {item.offset}"
    return None


def _commit_complaint(row: Operation) -> str | None:
    """What is wrong with a commit, or a fetch, of a group's offsets."""
    for position, item in enumerate(row.value or ()):
        at = f"`value[{position}]`"
        if item.op != row.f:
            return f"expected {row.f} in {at} of a {row.f}, found {item.op}"
        if "/" not in item.key:
            return f"expected GROUP/TOPIC-INDEX as `key` of {at}, found {item.key!r}"
        if item.value is not None:
            return f"expected `value` of {at} to be null, found {item.value}"
        if (item.offset is None and row.f == "commit") or (item.offset is not None and item.offset < 0):
            return f"expected `offset` of {at} to be at least 0, found {item.offset}"
    return None


def _lookup_complaint(row: Operation) -> str | None:
    """What is wrong with a look-up by time stamp."""
    for position, item in enumerate(row.value or ()):
        at = f"`value[{position}]`"
        if item.op != LOOKUP:
            return f"expected {LOOKUP} in {at} of a {LOOKUP}, found {item.op}"
        if item.value is None:
            return f"expected the time stamp as `value` of {at}, found null"
        if item.offset is not None and item.offset < 0:
            return f"expected `offset` of {at} to be null or at least 0, found {item.offset}"
    return None


def _register_complaint(row: Operation) -> str | None:
    """What is wrong with an operation on a register. One that failed or is unknown need not repeat what it was."""
    expected, found = REGISTER_OPERATIONS[row.f], tuple(item.op for item in row.value or ())
    if found != expected and (found or row.type in ("invoke", "ok")):
        return f"expected `value` of a {row.f} to be [{', '.join(expected)}], found [{', '.join(found)}]"
    for position, item in enumerate(row.value or ()):
        at = f"`value[{position}]`"
        if item.offset is not None:
            return f"expected `offset` of {at} of a {row.f} to be null, found {item.offset}"
        if item.op == "write" and item.value is None:
            return f"expected a `value` in {at} of a {row.f}, found null"
    if row.value and row.value[0].key != row.value[-1].key:
        return f"expected one key in a {row.f}, found {row.value[0].key!r} and {row.value[-1].key!r}"
    return None


BATCHES: Final = ("log-appended", "batch-committed")
MOST_RECORDS: Final = 1 << 24
"""In one event: checks look at them record by record."""


_BROKER: Final = re.compile(r"broker-[0-9]{1,9}")


@lru_cache(maxsize=1024)
def is_node(name: str) -> bool:
    """Whether it may be the name of a node: that of a broker has its id. In the simulator clients are nodes too."""
    return not name.startswith("broker-") or _BROKER.fullmatch(name) is not None


def _event_complaint(row: NodeEventRow, previous: NodeEventRow | None) -> str | None:
    if previous is not None and row.seq <= previous.seq:
        return f"expected `seq` above {previous.seq}, found {row.seq}"
    if not is_node(row.node):
        return f"expected the `node` of a broker to be broker-NUMBER, found {row.node!r}"
    required = EVENT_FIELDS.get(row.kind)
    if required is None:
        return f"expected `kind` to be one of {', '.join(sorted(EVENT_FIELDS))}, found {row.kind!r}"
    for name in required:
        if getattr(row, name) is None:
            return f"expected a {row.kind} event to have `{name}`, found none"
    if row.isr_epochs is not None or row.registered_epochs is not None:
        members = len(row.isr or ())
        for name, epochs in (("isr_epochs", row.isr_epochs), ("registered_epochs", row.registered_epochs)):
            if epochs is not None and len(epochs) != members:
                return f"expected `{name}` to have one epoch for each of the {members} in `isr`, found {len(epochs)}"
    records = (row.end_offset or 0) - (row.offset or 0)
    if row.kind in BATCHES and not 0 <= records <= MOST_RECORDS:
        return (
            f"expected a {row.kind} event of 0 to {MOST_RECORDS} records, found `offset` {row.offset} and"
            f" `end_offset` {row.end_offset}"
        )
    return None


def _record_complaint(row: ReplicaRecord, previous: ReplicaRecord | None) -> str | None:
    del previous
    if row.offset < 0:
        return f"expected `offset` to be at least 0, found {row.offset}"
    if row.ended == "end" and row.start_offset is None:
        return "expected the mark `end` of a replica to have a `start_offset`, found none"
    return None


def _fault_complaint(row: FaultRow, previous: FaultRow | None) -> str | None:
    del row, previous
    return None


EVENT_FIELDS: Final[dict[str, tuple[str, ...]]] = {
    str(event.__struct_config__.tag): tuple(field.name for field in msgspec.structs.fields(event) if field.required)
    for event in event_classes()
}
"""Required fields of each kind of event, as ``highwater_runtime.ports.trace`` defines it."""

EVENT_ORDER: Final[dict[str, tuple[str, ...]]] = {
    str(event.__struct_config__.tag): tuple(field.name for field in msgspec.structs.fields(event))
    for event in event_classes()
}
"""All fields of each kind of event, in the order in which nodes write them."""

OPERATION_ROWS: Final = RowKind("operations", Operation, OPERATIONS, _operation_complaint)
NODE_EVENT_ROWS: Final = RowKind("node_event", NodeEventRow, NODE_EVENT, _event_complaint)
REPLICA_LOG_ROWS: Final = RowKind("replica_log", ReplicaRecord, REPLICA_LOG, _record_complaint)
FAULT_ROWS: Final = RowKind("faults", FaultRow, FAULTS, _fault_complaint)
