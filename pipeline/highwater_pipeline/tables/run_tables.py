"""The tables of one run, as a run directory holds them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Generic

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.tables.files import MOST_LINE, BadTableError, jsonl_parts, parquet_parts
from highwater_pipeline.tables.micro_operations import pair
from highwater_pipeline.tables.recorded_events import RecordedEvents
from highwater_pipeline.tables.recordings import (
    FAULTS_FILE,
    NODE_EVENTS_FILE,
    OPERATIONS_FILE,
    RECORDED_EVENTS_FILE,
    REPLICA_LOG_FILE,
    RUN_FILE,
    run_label,
)
from highwater_pipeline.tables.remote import AnyPath, located
from highwater_pipeline.tables.rows import FAULT_ROWS, NODE_EVENT_ROWS, OPERATION_ROWS, REPLICA_LOG_ROWS, Row, RowKind
from highwater_pipeline.tables.settings import ANY_NODE, ASSUMED_CLOCK_ERROR_NS, UNKNOWN, Settings

__all__ = ["RecordedEvents", "RunParts", "RunTables", "about_run", "in_memory", "load_run", "open_run"]


class _Run(msgspec.Struct, frozen=True):
    """What checks read of ``run.json``: the settings, where the run was, its key, and what determined it."""

    settings: Settings
    backend: str = ""
    run_id: str = msgspec.field(default="", name="runId")
    name: str = ""
    seed: int = 0
    switches: dict[str, str] = {}


class _RunId(msgspec.Struct, frozen=True):
    """What a line says of the run that it belongs to."""

    run_id: str | None = None


_SEVERAL_CLOCKS: Final = "kubernetes"
"""The backend whose nodes run on several machines."""


@dataclass(frozen=True, slots=True)
class RunParts:
    """What was recorded of one run, each table in parts that can be gone through once, in order; None: not recorded at
    all, which is not the same as a table without rows.

    A file is read when its table is gone through: ``BadTableError`` is raised then.
    Errors call the history ``history_name``. ``label``: what determined the run; empty: not known.
    """

    run_id: str
    operations: Iterable[pa.Table]
    node_events: Iterable[pa.Table] | None = None
    replica_log: Iterable[pa.Table] | None = None
    faults: pa.Table | None = None
    recorded_events: RecordedEvents | None = None
    settings: Settings = UNKNOWN
    history_name: str = "operations"
    label: str = ""


@dataclass(frozen=True, slots=True)
class RunTables:
    """What was recorded of one run, as Arrow tables of ``tables.schemas``; None: not recorded at all,
    which is not the same as a table without rows."""

    run_id: str
    operations: pa.Table
    node_events: pa.Table | None = None
    replica_log: pa.Table | None = None
    faults: pa.Table | None = None
    recorded_events: RecordedEvents | None = None
    settings: Settings = UNKNOWN

    def parts(self) -> RunParts:
        """The same, each table as one part."""
        return RunParts(
            self.run_id,
            [self.operations],
            None if self.node_events is None else [self.node_events],
            None if self.replica_log is None else [self.replica_log],
            self.faults,
            self.recorded_events,
            self.settings,
        )


def load_run(run_dir: AnyPath | str, settings: Settings | None = None) -> RunTables:
    """Read a run directory into memory, all at once; see :func:`open_run`, whose errors are raised here."""
    return in_memory(open_run(run_dir, settings))


def in_memory(run: RunParts) -> RunTables:
    """Read a run into memory, all at once. Raises :class:`~highwater_pipeline.tables.files.BadTableError`."""
    operations = _whole(run.operations, OPERATION_ROWS)
    tables = RunTables(
        run.run_id,
        operations,
        None if run.node_events is None else _whole(run.node_events, NODE_EVENT_ROWS),
        None if run.replica_log is None else _whole(run.replica_log, REPLICA_LOG_ROWS),
        run.faults,
        run.recorded_events,
        run.settings,
    )
    # Refuse a history that no single-threaded processes can have made.
    is_invoke = pc.equal(operations["type"], "invoke").to_numpy()
    pair(operations["process"].to_numpy(), is_invoke, run.history_name)
    return tables


def _whole(parts: Iterable[pa.Table], kind: RowKind[Row]) -> pa.Table:
    return pa.concat_tables([kind.schema.empty_table(), *parts]).combine_chunks()


def open_run(run_dir: AnyPath | str, settings: Settings | None = None) -> RunParts:
    """Open a run directory: ``history/operations``, ``events/nodes``, ``dumps/replica_log`` and ``faults``, each as
    ``.jsonl`` or ``.parquet``, ``events/recorded.json``, and the settings in ``run.json`` (``settings`` where given).
    Only the history must be there; a file is taken for a history alone.

    Raises ``FileNotFoundError`` where it is not, ``BadTableError`` where a file is not
    strictly what it should be.
    """
    directory = located(run_dir)
    if directory.is_file():
        file = _File(directory, OPERATION_ROWS)
        run_id = file.run_id() or directory.stem
        return RunParts(run_id, file.parts(run_id), settings=settings or UNKNOWN, history_name=str(directory))
    history = _find(directory, OPERATIONS_FILE, OPERATION_ROWS)
    if history is None:
        raise FileNotFoundError(
            f"{directory}: expected a run directory with {OPERATIONS_FILE}.jsonl or .parquet, found neither"
        )
    run = _run(directory / RUN_FILE)
    run_id = (run and run.run_id) or history.run_id() or directory.resolve().name
    events, replica_log, faults = (
        None if file is None else file.parts(run_id)
        for file in (
            _find(directory, NODE_EVENTS_FILE, NODE_EVENT_ROWS),
            _find(directory, REPLICA_LOG_FILE, REPLICA_LOG_ROWS),
            _find(directory, FAULTS_FILE, FAULT_ROWS),
        )
    )
    return RunParts(
        run_id,
        history.parts(run_id),
        events,
        replica_log,
        None if faults is None else _whole(faults, FAULT_ROWS),
        _recorded_events(directory / RECORDED_EVENTS_FILE),
        settings or _settings(run),
        str(directory / OPERATIONS_FILE),
        run_label(run.name, run.seed, run.switches) if run and run.name else "",
    )


def about_run(directory: AnyPath, run_id: str, settings: Settings) -> RunParts:
    """What a run directory says of a run beside its large tables, which are empty here.

    Raises :class:`~highwater_pipeline.tables.files.BadTableError` where a file is not strictly what it should be.
    """
    faults = _find(directory, FAULTS_FILE, FAULT_ROWS)
    return RunParts(
        run_id,
        (),
        (),
        (),
        None if faults is None else _whole(faults.parts(run_id), FAULT_ROWS),
        _recorded_events(directory / RECORDED_EVENTS_FILE),
        settings,
    )


@dataclass(frozen=True, slots=True)
class _File(Generic[Row]):
    """One table of a run."""

    path: AnyPath
    kind: RowKind[Row]

    def run_id(self) -> str | None:
        """The run that the first row names; None: none, or the row is bad, which reading the parts will tell."""
        if self.path.suffix == ".parquet":
            first = next((part for part in parquet_parts(self.path, self.kind) if part.num_rows), None)
            return None if first is None else first["run_id"][0].as_py()
        with self.path.open("rb") as file:
            try:
                return msgspec.json.decode(file.readline(MOST_LINE), type=_RunId).run_id
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                return None

    def parts(self, run_id: str) -> Iterator[pa.Table]:
        """The table, part by part. Raises :class:`~highwater_pipeline.tables.files.BadTableError`."""
        parquet = self.path.suffix == ".parquet"
        parts = parquet_parts(self.path, self.kind) if parquet else jsonl_parts(self.path, self.kind, run_id)
        for part in parts:
            if part["run_id"].null_count:
                at = part.schema.get_field_index("run_id")
                part = part.set_column(at, part.schema.field(at), pc.fill_null(part["run_id"], run_id))  # noqa: PLW2901
            found = part["run_id"].unique().to_pylist()
            if found not in ([], [run_id]):
                raise BadTableError(f"{self.path}: expected one run, {run_id}, found {', '.join(sorted(found))}")
            yield part


def _find(directory: AnyPath, name: str, kind: RowKind[Row]) -> _File[Row] | None:
    lines, parquet = directory / f"{name}.jsonl", directory / f"{name}.parquet"
    if lines.exists() and parquet.exists():
        raise BadTableError(f"{directory}: expected {name} once, found it as .jsonl and as .parquet")
    found = lines if lines.exists() else parquet if parquet.exists() else None
    if isinstance(found, Path) and not found.is_file():  # to open a named pipe may take for ever
        raise BadTableError(f"{found}: expected a file, found something else of that name")
    return None if found is None else _File(found, kind)


def _recorded_events(path: AnyPath) -> RecordedEvents | None:
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=RecordedEvents)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadTableError(f"{path}: expected the kinds of events that were recorded, and why: {error}") from error


def _run(path: AnyPath) -> _Run | None:
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Run)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadTableError(f"{path}: expected the run's `settings`: {error}") from error


def _settings(run: _Run | None) -> Settings:
    if run is None:
        return UNKNOWN
    if run.settings.clock_errors_ns is None and run.backend == _SEVERAL_CLOCKS:
        return msgspec.structs.replace(run.settings, clock_errors_ns={ANY_NODE: ASSUMED_CLOCK_ERROR_NS})
    return run.settings
