"""What one check kernel sees: the tables of one partition of one run. Splitting a run into such units, and no more.

Units are what Spark schedules, and what a simulator's worker goes through one after the other. Events that concern a
whole cluster (registrations, nodes starting and stopping) go into the unit of every partition, in their place in the
order of things.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.micro_operations import History, Ints, micro_operations
from highwater_pipeline.schemas import NODE_EVENT, REPLICA_LOG
from highwater_pipeline.settings import UNKNOWN, Settings
from highwater_pipeline.tables import RunTables
from highwater_pipeline.view import Columns, View

CLUSTER_EVENTS: Final = (
    "broker-registered",
    "broker-registration-changed",
    "broker-state",
    "node-started",
    "node-stopped",
)


class _Parameters(msgspec.Struct):
    rpc: str | None = None


class _Line(msgspec.Struct):
    """What is read of a line of ``faults.jsonl``."""

    parameters: _Parameters


MAX_CRASHES: Final = 10
"""Examples kept of crashes, as of every anomaly."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run as a whole before any partition is looked at.

    ``read``: records of polls that completed ok. ``duplicates_sends``: whether a fault may have delivered sends twice.
    ``has_events`` and ``has_replica_log``: whether they were recorded at all. Counts are of operations and records.
    ``inconclusive_reasons``: sentences on uncertain faults and on logs that must have been there. What such a run
    withstood is not known.
    ``has_dump_marks``: whether the dumps say how reading each replica ended (older ones do not).
    ``crashes`` counts nodes that ended by an exception of their own, ``crash_examples`` tells of the first of them.
    ``recorded_events``: the kinds of node events that were recorded in full, None for all; ``why_not_recorded``: why
    the others were not.
    """

    run_id: str
    operations: int
    acknowledged: int
    drained: bool
    has_events: bool
    has_replica_log: bool
    read: int = 0
    settings: Settings = UNKNOWN
    duplicates_sends: bool = False
    inconclusive_reasons: tuple[str, ...] = ()
    has_dump_marks: bool = False
    recorded_events: tuple[str, ...] | None = None
    why_not_recorded: str = ""
    last_event_ns: int = 0
    """Run time of the last node event of all."""
    crashes: int = 0
    crash_examples: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class Unit:
    """One partition of one run: ``history`` as ``micro_operations.MICRO_OPERATIONS``, ``events`` and ``replica_log``
    as their schemas with a column ``row`` (position in the run's table) added and those left out that no check reads;
    all in the run's order."""

    facts: RunFacts
    partition: str
    history: View
    events: View
    replica_log: View


def split(tables: RunTables) -> tuple[RunFacts, Iterator[Unit]]:
    """A run's facts and its units in order of partition name; a run in which no partition occurs has no units."""
    history: History = micro_operations(tables.operations)
    crashed = crashes(tables.node_events)
    facts = RunFacts(
        run_id=tables.run_id,
        operations=history.operations,
        acknowledged=history.acknowledged,
        drained=history.drained and not tables.settings.final_reads_cut_short,
        has_events=tables.node_events is not None and tables.node_events.num_rows > 0,
        has_replica_log=tables.replica_log is not None and tables.replica_log.num_rows > 0,
        has_dump_marks=_has_marks(tables.replica_log),
        read=history.read,
        settings=tables.settings,
        duplicates_sends=tables.faults is not None and duplicates_sends(tables.faults),
        inconclusive_reasons=(
            *(inconclusive_reasons(tables.faults) if tables.faults is not None else ()),
            *_nothing_dumped(tables),
        ),
        recorded_events=None if tables.recorded_events is None else tables.recorded_events.kinds,
        why_not_recorded="" if tables.recorded_events is None else tables.recorded_events.why,
        last_event_ns=_last_ns(tables.node_events),
        crashes=len(crashed),
        crash_examples=tuple(crashed[:MAX_CRASHES]),
    )
    return facts, _units(facts, history.micro_operations, tables)


def _last_ns(events: pa.Table | None) -> int:
    return int(pc.max(events["time_ns"]).as_py() or 0) if events is not None else 0


def crashes(events: pa.Table | None) -> list[dict[str, Any]]:
    """An example of ``node-crash`` for each node that ended by an exception of its own, in the order of events."""
    if events is None:
        return []
    rows = np.flatnonzero(pc.equal(events["kind"], "node-crashed").to_numpy())
    wanted = events.select(["node", "incarnation", "time_ns", "reason", "stack"]).take(pa.array(rows, pa.int64()))
    return [
        {
            "node": row["node"],
            "incarnation": row["incarnation"],
            "time_ns": row["time_ns"],
            "story": f"{row['node']} (incarnation {row['incarnation']}) crashed at {row['time_ns'] / 1e9:.3f} s:"
            f" {row['reason'].rstrip('.')}.",
            "stack": row["stack"],
            "rows": [{"table": "node_event", "index": int(index)}],
        }
        for index, row in zip(rows, wanted.to_pylist(), strict=True)
    ]


def inconclusive_reasons(faults: pa.Table) -> Iterator[str]:
    """Yield a sentence for each fault that may not have taken effect or may not be gone.

    One that was drawn at random and met nothing to act upon has done nothing, and nothing depends on it.
    """
    for fault in faults.select(["id", "name", "kind", "confirmed", "healed", "drawn", "idle"]).to_pylist():
        title = f"fault {fault['id'] or ''} ({fault['name'] or fault['kind']})".replace("  ", " ")
        if not fault["confirmed"] and not (fault["drawn"] and fault["idle"]):
            yield f"{title} is not confirmed to have taken hold"
        elif not fault["healed"]:
            yield f"{title} is not confirmed to be gone"


def _nothing_dumped(tables: RunTables) -> Iterator[str]:
    """A sentence if the dump has nothing at all, though there must have been logs: all may be gone."""
    events = tables.node_events
    if tables.replica_log is None or tables.replica_log.num_rows or events is None or tables.recorded_events:
        return
    deleted = pc.and_(pc.equal(events["kind"], "partition-changed"), pc.equal(events["reason"], "deleted"))
    if pc.any(pc.equal(events["kind"], "high-watermark")).as_py() and not pc.any(deleted).as_py():
        yield "no replica's log was found when the logs were dumped, though records had passed the high watermark"


def duplicates_sends(faults: pa.Table) -> bool:
    """Whether a fault may have delivered what clients sent twice: one that doubles messages, has caught some, and of
    which it is not known that they were those of another RPC."""
    doubling = faults.filter(pc.equal(faults["kind"], "duplicate")).select(["idle", "detail"]).to_pylist()
    return any(not fault["idle"] and _rpc(fault["detail"]) in (None, "Produce") for fault in doubling)


def _rpc(detail: str) -> str | None:
    """The RPC that a fault's line names among its parameters; None: none."""
    try:
        return msgspec.json.decode(detail, type=_Line).parameters.rpc
    except msgspec.DecodeError:
        return None


def _has_marks(replica_log: pa.Table | None) -> bool:
    return replica_log is not None and replica_log["ended"].null_count < replica_log.num_rows


def _units(facts: RunFacts, history: pa.Table, tables: RunTables) -> Iterator[Unit]:
    events = _numbered(tables.node_events, NODE_EVENT)
    replica_log = _numbered(tables.replica_log, REPLICA_LOG)
    of_cluster = pc.is_in(events["kind"], pa.array(CLUSTER_EVENTS)).to_numpy()
    by_history = _Grouped(history)
    by_events = _Grouped(events, shared=np.flatnonzero(of_cluster))
    by_log = _Grouped(replica_log)
    for partition in sorted({*by_history.codes, *by_events.codes, *by_log.codes}):
        yield Unit(facts, partition, by_history.of(partition), by_events.of(partition), by_log.of(partition))


_UNREAD: Final = ("run_id", "node_time_ns", "stack")
"""Columns that no check reads: not worth copying for every partition."""


def _numbered(table: pa.Table | None, schema: pa.Schema) -> pa.Table:
    table = schema.empty_table() if table is None else table
    table = table.drop_columns([name for name in _UNREAD if name in schema.names])
    return table.append_column("row", pa.array(np.arange(table.num_rows, dtype=np.int64)))


class _Grouped:
    """A table by its column ``partition``, each group in the table's order; ``shared`` rows belong to every group."""

    def __init__(self, table: pa.Table, shared: Ints | None = None) -> None:
        self._columns = Columns(table)
        self._shared = np.empty(0, np.int64) if shared is None else shared
        codes, names = self._columns.codes("partition")
        self._order = np.argsort(codes, kind="stable")
        self._starts = np.searchsorted(codes[self._order], np.arange(len(names) + 1))
        self.codes: dict[str, int] = {name: code for code, name in enumerate(names)}

    def of(self, partition: str) -> View:
        code = self.codes.get(partition)
        rows = self._order[:0] if code is None else self._order[self._starts[code] : self._starts[code + 1]]
        if len(self._shared):
            rows = np.sort(np.concatenate([rows, self._shared]))
        return View(self._columns, rows)
