"""Split a run into units: the tables of one partition of one run, which is what a check kernel gets.

Spark schedules units; in one process they are judged one after the other. Events that concern the whole cluster
(registrations, nodes starting and stopping) are in the unit of every partition, in their order.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.anomalies import NEEDED_EVENTS
from highwater_pipeline.arrow.arrays import Bools, Ints
from highwater_pipeline.arrow.view import View
from highwater_pipeline.partitions.evidence import Evidence
from highwater_pipeline.partitions.small_partitions import Grouped, Partitions
from highwater_pipeline.partitions.spool import Spool
from highwater_pipeline.tables.group_commits import CommitFindings
from highwater_pipeline.tables.lookups import LookupFindings
from highwater_pipeline.tables.micro_operations import MICRO_OPERATIONS, Flattener
from highwater_pipeline.tables.recorded_events import EVERY_KIND, RecordedEvents
from highwater_pipeline.tables.run_tables import RunParts, RunTables
from highwater_pipeline.tables.schemas import BY_PARTITION, NOT_STORED, ROW
from highwater_pipeline.tables.settings import UNKNOWN, Settings

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


MAX_ERRORS: Final = 5
_KINDS_OF_ERRORS: Final = 1000
"""Errors that are counted, at most: another client's may each have a text of its own."""

MAX_CRASHES: Final = 10
"""Examples kept of crashes, as of every anomaly."""


@dataclass(frozen=True, slots=True)
class RunFacts:
    """What is known of a run as a whole before any partition is looked at.

    ``read``: records of polls that completed ok. ``sent``: records of sends, whatever became of them; None: a store of
    an earlier version does not say. ``duplicates_sends``: whether a fault may have delivered sends twice.
    ``has_events`` and ``has_replica_log``: whether they were recorded at all. Counts are of operations and records.
    ``inconclusive_reasons``: sentences on uncertain faults and on missing logs.
    ``has_dump_marks``: whether the dumps say how reading each replica ended (older ones do not).
    ``crashes`` counts nodes that ended by an exception of their own, ``crash_examples`` has the first of them.
    ``recorded_events``: the kinds of node events that were recorded in full; None: the recording does not say, and then
    ``absent_events`` are those kinds of which it has none, so that it is not known whether they were recorded.
    ``why_not_recorded``: why other kinds than ``recorded_events`` were not. ``missing_events``: the kinds that were
    recorded in full, as the recording says, and of which events are missing (checks run without some of them, which are
    in ``absent_events`` then). ``producers_dumped``: False if records
    were dumped, and none has the id of a producer.
    """

    run_id: str
    operations: int
    acknowledged: int
    drained: bool
    has_events: bool
    has_replica_log: bool
    read: int = 0
    sent: int | None = None
    settings: Settings = UNKNOWN
    duplicates_sends: bool = False
    inconclusive_reasons: tuple[str, ...] = ()
    has_dump_marks: bool = False
    recorded_events: tuple[str, ...] | None = None
    absent_events: tuple[str, ...] = ()
    why_not_recorded: str = ""
    missing_events: tuple[str, ...] = ()
    producers_dumped: bool = True
    last_event_ns: int = 0
    """Run time of the last node event of all."""
    crashes: int = 0
    crash_examples: tuple[dict[str, Any], ...] = ()
    commits: CommitFindings | None = None
    """What was found of the offsets of groups; None: the history has no commit and no fetch of them."""
    lookups: LookupFindings | None = None
    """What was found of look-ups by time stamp; None: none completed ok."""
    send_errors: tuple[tuple[str, int], ...] = ()
    """How often operations that send ended with each error, the most frequent first, at most :data:`MAX_ERRORS`."""


@dataclass(frozen=True, slots=True)
class PartitionTables:
    """One partition of one run: ``history`` as ``micro_operations.MICRO_OPERATIONS``, ``events`` and ``replica_log``
    as their schemas with a column ``row`` (position in the run's table) added and those left out that no check reads;
    all in the run's order. ``is_only_topic``: no other topic had this name, as far as the tables show."""

    facts: RunFacts
    partition: str
    history: View
    events: View
    replica_log: View
    is_only_topic: bool = True


def alone(unit: PartitionTables) -> Partitions:
    """One unit as the only one of several partitions."""
    events = Grouped(unit.events, np.zeros(unit.events.num_rows, np.int64))
    is_own = unit.events.is_known("partition")
    history, replica_log = (
        Grouped(table, np.zeros(table.num_rows, np.int64)) for table in (unit.history, unit.replica_log)
    )
    return Partitions([unit.partition], history, events.where(is_own), unit.events.where(~is_own), replica_log)


class SplitRun:
    """The units of a run, in the order of their names. ``others``: events of no partition, if they are kept apart."""

    def __init__(
        self, facts: RunFacts, history: Spool, events: Spool, replica_log: Spool, others: Spool | None = None
    ) -> None:
        self.facts: Final = facts
        self.others: Final = None if others is None else others.of("")
        self._spools: Final = (history, events, replica_log)
        self.names: Final = sorted({name for spool in self._spools for name in spool.partitions()})

    def __iter__(self) -> Iterator[PartitionTables]:
        return map(self.of, self.names)

    def of(self, partition: str) -> PartitionTables:
        history, events, replica_log = (spool.of(partition) for spool in self._spools)
        return PartitionTables(self.facts, partition, history, events, replica_log)

    def small(self, rows: int) -> Partitions | None:
        """Those that have at most ``rows`` rows of their own in each table; None: not all tables are in memory."""
        history, events, replica_log = self._spools
        if not all(spool.is_in_memory for spool in self._spools):
            return None
        large = {name for spool in self._spools for name, size in spool.sizes() if size > rows}
        names = [name for name in self.names if name not in large]
        return Partitions(
            names, history.of_each(names), events.of_each(names), events.shared(), replica_log.of_each(names)
        )


def split(run: RunTables | RunParts, *, apart: bool = False) -> tuple[RunFacts, SplitRun]:
    """A run's facts and its units in order of partition name; a run in which no partition occurs has no units.

    Of a run that is read part by part, no more is in memory than :class:`Splitter` keeps, which has ``apart`` too.
    """
    parts = run.parts() if isinstance(run, RunTables) else run
    splitter = Splitter(parts.history_name, apart=apart)
    for add, table in (
        (splitter.add_operations, parts.operations),
        (splitter.add_events, parts.node_events or ()),
        (splitter.add_replica_log, parts.replica_log or ()),
    ):
        for part in table:
            add(part)
    return splitter.finish(parts)


class Splitter:
    """Splits a run while it is recorded: takes in parts of its tables, those of one table in order, then
    :meth:`finish` gives what :func:`split` does.

    In memory is what up to four of :class:`~highwater_pipeline.partitions.spool.Spool` and one
    :class:`~highwater_pipeline.tables.micro_operations.Flattener` keep.
    """

    def __init__(self, history_name: str = "operations", *, apart: bool = False) -> None:
        """``history_name`` is what errors call the history. ``apart``: units have no events but their own, as in a
        store, and those of no partition are :attr:`SplitRun.others`."""
        self._flattener: Final = Flattener(history_name)
        self._history: Final = Spool(
            MICRO_OPERATIONS,
            complete=self._flattener.settled,
            completed="must_commit",
            completed_by=("row", "is_send", "outcome"),
        )
        self._errors: Final[Counter[str]] = Counter()
        self._events: Final = _Events(apart=apart)
        self._replica_log: Final = _ReplicaLog()

    def add_operations(self, part: pa.Table) -> None:
        """Take in operations. Raises ``BadTableError`` as ``Flattener.add`` does."""
        self._history.add(self._flattener.add(part))
        ended = part.filter(pc.and_(pc.is_in(part["f"], pa.array(("send", "txn"))), pc.is_valid(part["error"])))
        for error in ended["error"].to_pylist():
            if error in self._errors or len(self._errors) < _KINDS_OF_ERRORS:
                self._errors[error] += 1

    def add_events(self, part: pa.Table) -> None:
        self._events.add(part)

    def add_replica_log(self, part: pa.Table) -> None:
        """Take in records of replicas and marks."""
        self._replica_log.add(part)

    def finish(self, run: RunParts) -> tuple[RunFacts, SplitRun]:
        """Return the facts and the units. Of ``run`` only what is no large table is read, and which tables it has."""
        flattener, events, replica_log = self._flattener, self._events, self._replica_log
        self._history.add(flattener.finish())
        for spool in (self._history, events.spool, replica_log.spool, events.others):
            if spool is not None:
                spool.close()
        in_full, why, missing = _recorded_in_full(
            run.recorded_events,
            events,
            acknowledged=flattener.acknowledged > 0 and run.settings.acks != "0",
            acks_all=run.settings.acks == "all",
        )
        facts = RunFacts(
            run_id=run.run_id,
            operations=flattener.operations,
            acknowledged=flattener.acknowledged,
            drained=flattener.drained and not run.settings.final_reads_cut_short,
            has_events=events.rows > 0,
            has_replica_log=replica_log.rows > 0,
            has_dump_marks=replica_log.has_marks,
            read=flattener.read,
            sent=flattener.sent,
            settings=run.settings,
            duplicates_sends=run.faults is not None and duplicates_sends(run.faults),
            inconclusive_reasons=(
                *(inconclusive_reasons(run.faults) if run.faults is not None else ()),
                *_nothing_dumped(run, events, replica_log),
            ),
            recorded_events=in_full,
            absent_events=_absent(in_full, missing, events),
            why_not_recorded=why,
            missing_events=missing,
            producers_dumped=replica_log.has_producers or not replica_log.has_records,
            last_event_ns=events.last_ns,
            crashes=events.crashes,
            crash_examples=tuple(events.crash_examples),
            send_errors=tuple(self._errors.most_common(MAX_ERRORS)),
            commits=flattener.commits.findings(run.settings) if flattener.commits.operations else None,
            lookups=flattener.lookups.findings() if flattener.lookups.operations else None,
        )
        return facts, SplitRun(facts, self._history, events.spool, replica_log.spool, events.others)


def unit_of(facts: RunFacts, partition: str, parts: Iterable[tuple[str, pa.Table]]) -> PartitionTables:
    """A unit from parts of its tables, each with its table's name. Parts of one table come in order.

    Large tables go to a temporary file, as in :func:`split`.
    """
    spools = {
        name: Spool(schema, is_shared=_is_of_cluster if name == "events" else None)
        for name, schema in BY_PARTITION.items()
    }
    for name, part in parts:
        spools[name].add(part)
    for spool in spools.values():
        spool.close()
    history, events, replica_log = (spools[name].of(partition) for name in BY_PARTITION)
    return PartitionTables(facts, partition, history, events, replica_log)


class _Events:
    """All events, taken in, and what facts need to know of them. ``apart`` as in :class:`Splitter`."""

    def __init__(self, *, apart: bool) -> None:
        self.rows = 0
        self.last_ns = 0
        self.counts: Counter[str] = Counter()
        self.crashes = 0
        self.crash_examples: list[dict[str, Any]] = []
        self.deleted = False
        self.evidence: Final = Evidence()
        self.spool = Spool(BY_PARTITION["events"], is_shared=None if apart else _is_of_cluster)
        self.others = Spool(BY_PARTITION["events"]) if apart else None

    def add(self, part: pa.Table) -> None:
        kind = part["kind"]
        self.last_ns = max(self.last_ns, int(pc.max(part["time_ns"]).as_py() or 0))
        self.counts.update(counts_of_kinds(part))
        self.evidence.add(part)
        deleted = pc.and_(pc.equal(kind, "partition-changed"), pc.equal(part["reason"], "deleted"))
        self.deleted |= bool(pc.any(deleted).as_py())
        crashed = np.flatnonzero(pc.equal(kind, "node-crashed").to_numpy())
        self.crashes += len(crashed)
        shown = crashed[: MAX_CRASHES - len(self.crash_examples)]
        self.crash_examples += _crashes(part, shown, first_row=self.rows)
        numbered = _numbered(part, first_row=self.rows)
        at = numbered.schema.get_field_index("partition")
        field, names = numbered.schema.field(at), numbered["partition"]
        is_none = pc.fill_null(pc.equal(names, ""), True)
        self.spool.add(numbered.set_column(at, field, pc.if_else(is_none, pa.scalar(None, pa.string()), names)))
        if self.others is not None:
            rest = numbered.filter(is_none)
            self.others.add(rest.set_column(at, field, pa.array([""] * rest.num_rows, pa.string())))
        self.rows += part.num_rows

    def absent(self) -> tuple[str, ...]:
        """The kinds that checks read and of which there are no events."""
        return tuple(sorted({kind for kinds in NEEDED_EVENTS.values() for kind in kinds} - self.counts.keys()))


def counts_of_kinds(events: pa.Table) -> dict[str, int]:
    """How many events of each kind there are."""
    counted = pc.value_counts(events["kind"].combine_chunks())
    return dict(zip(counted.field("values").to_pylist(), counted.field("counts").to_pylist(), strict=True))


_ONLY_PROVE: Final = ("write-acknowledged",)
"""Kinds without which less is found, and nothing that was not: a check runs though they are missing."""


def _absent(in_full: tuple[str, ...] | None, missing: tuple[str, ...], events: _Events) -> tuple[str, ...]:
    """The kinds of which there are no events, though there may have been some, and without which checks run."""
    if in_full is None:
        return events.absent() if events.rows else ()
    return tuple(kind for kind in _ONLY_PROVE if kind in missing and kind in in_full)


def _recorded_in_full(
    declared: RecordedEvents | None, events: _Events, *, acknowledged: bool, acks_all: bool
) -> tuple[tuple[str, ...] | None, str, tuple[str, ...]]:
    """The kinds of events that were recorded in full, None if nothing says which; why others were not; and of which
    events are missing, though the recording says that it has them all."""
    if declared is None:
        return None, "", ()
    whys = [declared.why] if declared.why else []
    counts = events.counts if declared.counts is None else declared.counts
    lacking = [kind for kind in declared.kinds if events.counts[kind] != counts.get(kind, 0)]
    if lacking:
        there = [f"{events.counts[kind]} of {counts.get(kind, 0)} events of the kind {kind}" for kind in lacking]
        whys.append(f"the node events are not those that were recorded: there are {', '.join(there)}")
    # With every kind declared, ``why`` is about events of these that are left out on purpose.
    leaves_out = bool(declared.why) and {*EVERY_KIND.kinds} <= {*declared.kinds}
    owed = {} if leaves_out else events.evidence.missing(acknowledged=acknowledged, acks_all=acks_all)
    owed = {kind: why for kind, why in owed.items() if kind in declared.kinds and kind not in lacking}
    for kind, why in owed.items():
        whys.append(
            f"there are {'no' if not events.counts[kind] else 'not all'} events of the kind {kind}, though {why}"
        )
    away = {*lacking, *owed} - (set() if events.evidence.is_older() else {*_ONLY_PROVE} - {*lacking})
    if events.evidence.is_older():
        owed.pop("write-acknowledged", None)  # the leaders may have reported it before the run
    kinds = tuple(kind for kind in declared.kinds if kind not in away)
    return kinds, "; ".join(whys), (*lacking, *owed)


class _ReplicaLog:
    """The dumps of all logs, taken in, and what facts need to know of them."""

    def __init__(self) -> None:
        self.rows = 0
        self.has_marks = False
        self.has_records = False
        self.has_producers = False
        self.spool = Spool(BY_PARTITION["replica_log"])

    def add(self, part: pa.Table) -> None:
        self.has_marks |= part["ended"].null_count < part.num_rows
        self.has_records |= part["ended"].null_count > 0
        self.has_producers |= bool(pc.any(pc.greater_equal(part["producer_id"], 0)).as_py())
        self.spool.add(_numbered(part, first_row=self.rows))
        self.rows += part.num_rows


def _is_of_cluster(events: pa.Table) -> Bools:
    """Which events belong to every partition. One that names a partition belongs to that alone, and is there once."""
    is_its_kind = pc.is_in(events["kind"], pa.array(CLUSTER_EVENTS))
    of_cluster: Bools = pc.and_(is_its_kind, pc.is_null(events["partition"])).to_numpy()
    return of_cluster


def _crashes(events: pa.Table, rows: Ints, first_row: int) -> list[dict[str, Any]]:
    """An example of ``node-crash`` for each of some rows: a node that ended by an exception of its own."""
    crashed = events.select(["node", "incarnation", "time_ns", "reason", "stack"]).take(pa.array(rows, pa.int64()))
    return [
        {
            "node": row["node"],
            "incarnation": row["incarnation"],
            "time_ns": row["time_ns"],
            "story": f"{row['node']} (incarnation {row['incarnation']}) crashed at {row['time_ns'] / 1e9:.3f} s:"
            f" {row['reason'].rstrip('.')}.",
            "stack": row["stack"],
            "rows": [{"table": "node_event", "index": first_row + int(index)}],
        }
        for index, row in zip(rows, crashed.to_pylist(), strict=True)
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


def _nothing_dumped(run: RunParts, events: _Events, replica_log: _ReplicaLog) -> Iterator[str]:
    """A sentence if the dump has nothing at all, though there must have been logs: all may be gone."""
    declared = run.recorded_events
    tells_all = declared is None or "high-watermark" in declared.kinds
    if run.replica_log is None or replica_log.rows or run.node_events is None or not tells_all:
        return
    if events.counts["high-watermark"] and not events.deleted:
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


def _numbered(table: pa.Table, *, first_row: int) -> pa.Table:
    table = table.drop_columns([name for name in NOT_STORED if name in table.schema.names])
    return table.append_column(ROW, pa.array(np.arange(first_row, first_row + table.num_rows, dtype=np.int64)))
