"""The tables of one run, as a run directory holds them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from highwater_pipeline.files import BadTable, read_jsonl, read_parquet
from highwater_pipeline.micro_operations import pair
from highwater_pipeline.rows import FAULT_ROWS, NODE_EVENT_ROWS, OPERATION_ROWS, REPLICA_LOG_ROWS, Row, RowKind
from highwater_pipeline.settings import UNKNOWN, Settings

OPERATIONS_FILE = "history/operations"
NODE_EVENTS_FILE = "events/nodes"
REPLICA_LOG_FILE = "dumps/replica_log"
FAULTS_FILE = "faults"
RECORDED_EVENTS_FILE = "events/recorded.json"
RUN_FILE = "run.json"


class RecordedEvents(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which ``kinds`` of node events were recorded in full, where not all were, and ``why`` the others were not (a
    clause: "Apache Kafka does not tell …")."""

    kinds: tuple[str, ...]
    why: str


class _Run(msgspec.Struct, frozen=True):
    """What checks read of ``run.json``: only the settings."""

    settings: Settings


@dataclass(frozen=True, slots=True)
class RunTables:
    """What was recorded of one run, as Arrow tables of ``highwater_pipeline.schemas``; None: not recorded at all,
    which is not the same as a table without rows."""

    run_id: str
    operations: pa.Table
    node_events: pa.Table | None = None
    replica_log: pa.Table | None = None
    faults: pa.Table | None = None
    recorded_events: RecordedEvents | None = None
    settings: Settings = UNKNOWN


def load_run(run_dir: Path | str, settings: Settings | None = None) -> RunTables:
    """Read a run directory: ``history/operations``, ``events/nodes``, ``dumps/replica_log`` and ``faults``, each as
    ``.jsonl`` or ``.parquet``, ``events/recorded.json``, and the settings in ``run.json`` (``settings`` where given).
    Only the history must be there; a file is taken for a history alone.

    Raises ``FileNotFoundError`` where it is not, :class:`~highwater_pipeline.files.BadTable` where a file is not
    strictly what it should be.
    """
    directory = Path(run_dir)
    if directory.is_file():
        return _load_history(directory, settings or UNKNOWN)
    run_id = directory.resolve().name
    operations = _read(directory, OPERATIONS_FILE, OPERATION_ROWS, run_id)
    if operations is None:
        raise FileNotFoundError(
            f"{directory}: expected a run directory with {OPERATIONS_FILE}.jsonl or .parquet, found neither"
        )
    if operations.num_rows:
        run_id = operations["run_id"][0].as_py()
    tables = RunTables(
        run_id,
        operations,
        _read(directory, NODE_EVENTS_FILE, NODE_EVENT_ROWS, run_id),
        _read(directory, REPLICA_LOG_FILE, REPLICA_LOG_ROWS, run_id),
        _read(directory, FAULTS_FILE, FAULT_ROWS, run_id),
        _recorded_events(directory / RECORDED_EVENTS_FILE),
        settings or _settings(directory / RUN_FILE),
    )
    for table in (tables.operations, tables.node_events, tables.replica_log, tables.faults):
        if table is not None:
            _one_run(directory, table, run_id)
    _possible(directory / OPERATIONS_FILE, operations)
    return tables


def _load_history(path: Path, settings: Settings) -> RunTables:
    parquet = path.suffix == ".parquet"
    operations = read_parquet(path, OPERATION_ROWS) if parquet else read_jsonl(path, OPERATION_ROWS, path.stem)
    run_id = operations["run_id"][0].as_py() if operations.num_rows else path.stem
    _one_run(path, operations, run_id)
    _possible(path, operations)
    return RunTables(run_id, operations, settings=settings)


def _recorded_events(path: Path) -> RecordedEvents | None:
    if not path.exists():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=RecordedEvents)
    except msgspec.DecodeError as error:
        raise BadTable(f"{path}: expected the kinds of events that were recorded, and why: {error}") from error


def _settings(path: Path) -> Settings:
    if not path.exists():
        return UNKNOWN
    try:
        return msgspec.json.decode(path.read_bytes(), type=_Run).settings
    except msgspec.DecodeError as error:
        raise BadTable(f"{path}: expected the run's `settings`: {error}") from error


def _read(directory: Path, name: str, kind: RowKind[Row], run_id: str) -> pa.Table | None:
    lines, parquet = directory / f"{name}.jsonl", directory / f"{name}.parquet"
    if lines.exists() and parquet.exists():
        raise BadTable(f"{directory}: expected {name} once, found it as .jsonl and as .parquet")
    if lines.exists():
        return read_jsonl(lines, kind, run_id)
    if parquet.exists():
        return read_parquet(parquet, kind)
    return None


def _one_run(path: Path, table: pa.Table, run_id: str) -> None:
    found = table["run_id"].unique().to_pylist()
    if found not in ([], [run_id]):
        raise BadTable(f"{path}: expected one run, {run_id}, found {', '.join(sorted(found))}")


def _possible(path: Path, operations: pa.Table) -> None:
    """Refuse a history that no single-threaded processes can have made."""
    pair(operations["process"].to_numpy(), pc.equal(operations["type"], "invoke").to_numpy(), str(path))
