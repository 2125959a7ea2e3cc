"""Judges runs on Spark: the same kernels, scheduled over (run, partition).

First every run is read and split where a task finds it (``mapInArrow`` over run directories); units travel as chunks of
Arrow data, sorted by run and partition; then each unit is put together again, chunk by chunk, and its kernels run.
(``applyInArrow`` would hold all chunks of a unit in one Arrow vector, which ends at 2 GiB.) The driver sees findings,
which are few, and merges them exactly as the process does that judges alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, groupby
from operator import itemgetter
from typing import Any, Final

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from highwater_pipeline.arrow.view import View
from highwater_pipeline.checks import check_partition
from highwater_pipeline.partitions.partition_tables import RunFacts, split, unit_of
from highwater_pipeline.partitions.store import StoredRun, StoredUnit, open_stored_run, read_unit, stored_runs
from highwater_pipeline.spark.session import open_session
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.remote import AnyPath, located
from highwater_pipeline.tables.run_tables import open_run
from highwater_pipeline.tables.settings import Settings
from highwater_pipeline.verdict import PartitionFindings, RunVerdict, merge, selected

CHUNK_ROWS: Final = 1 << 16
"""Rows of a table that travel as one binary value, so that no value comes near the 2 GB that one may have."""

CHUNKS_PER_BATCH: Final = 16
"""Chunks that travel as one Arrow vector, for the same reason."""

_BATCH_SIZE: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"

TASKS_PER_CORE: Final = 4

_OPENED_AT_ONCE: Final = 16
"""Runs of a store that the driver opens side by side: in an object store each takes a round trip."""

_CHUNKS: Final = "run int, partition string, part string, number int, facts binary, payload binary"
_CHUNK_SCHEMA: Final = pa.schema(
    [
        ("run", pa.int32()),
        ("partition", pa.string()),  # null: of the run as a whole
        ("part", pa.string()),  # history, events, replica_log; run (nothing but facts); error (payload: why)
        ("number", pa.int32()),
        ("facts", pa.binary()),
        ("payload", pa.binary()),
    ]
)
_FINDINGS: Final = "run int, part string, facts binary, payload binary"
_FINDINGS_SCHEMA: Final = pa.schema(
    [("run", pa.int32()), ("part", pa.string()), ("facts", pa.binary()), ("payload", pa.binary())]
)
_TABLES: Final = ("history", "events", "replica_log")


def check_on_spark(
    run_dir: AnyPath | str,
    master: str | None = None,
    checks: Sequence[str] | None = None,
    settings: Settings | None = None,
) -> RunVerdict:
    """Judge a run directory in a Spark session of its own; see :func:`spark_checker` and
    :func:`~highwater_pipeline.spark.session.open_session` for what may be raised."""
    with open_session(master) as spark:
        return spark_checker(spark, [run_dir], checks, settings)[0]


def spark_checker(
    spark: SparkSession,
    run_dirs: Sequence[AnyPath | str],
    checks: Sequence[str] | None = None,
    settings: Settings | None = None,
) -> list[RunVerdict]:
    """The verdicts of runs, in the order of ``run_dirs``, equal to those of ``check_run``. ``settings``: of all of
    them; None: each run's own.

    Raises ``BadTableError`` for a run directory that cannot be read, and ``ValueError``
    for a name in ``checks`` that is not a check's.
    """
    names = selected(checks)
    paths = [str(located(run_dir).absolute()) for run_dir in run_dirs]
    tasks = max(1, min(len(paths), spark.sparkContext.defaultParallelism * TASKS_PER_CORE))
    chunks = spark.range(0, len(paths), 1, tasks).mapInArrow(_loader(paths, settings), _CHUNKS)
    by_unit = chunks.repartition("run", "partition").sortWithinPartitions("run", "partition", "part", "number")
    before = str(spark.conf.get(_BATCH_SIZE))
    spark.conf.set(_BATCH_SIZE, CHUNKS_PER_BATCH)
    try:
        found = by_unit.mapInArrow(_checker(names), _FINDINGS).collect()
    finally:
        spark.conf.set(_BATCH_SIZE, before)
    return _merged(len(paths), found, checks)


def check_stored_on_spark(run: StoredRun, master: str | None = None) -> RunVerdict:
    """Judge a run of a store in a Spark session of its own; see :func:`spark_check_stored`."""
    with open_session(master) as spark:
        return spark_check_stored(spark, [run])[0]


def spark_check_store(spark: SparkSession, store: AnyPath | str) -> list[RunVerdict]:
    """The verdicts of all runs of a store (``partitions.store``), in order of their directories' names; see
    :func:`spark_check_stored`."""
    return spark_check_stored(spark, stored_runs(located(store).absolute()))


def spark_check_stored_at(directories: Sequence[AnyPath]) -> list[RunVerdict]:
    """The verdicts of runs of a store by their directories, in the session that is active.

    Raises :class:`~highwater_pipeline.tables.files.BadTableError` as :func:`spark_check_stored` does.
    """
    with open_session() as spark, ThreadPoolExecutor(_OPENED_AT_ONCE) as threads:
        return spark_check_stored(spark, list(threads.map(open_stored_run, directories)))


def spark_check_stored(spark: SparkSession, runs: Sequence[StoredRun]) -> list[RunVerdict]:
    """The verdicts of runs of a store, each by the checks that it was stored with.

    Each task reads the files of its own units, so that nothing is shuffled. The store must be readable from every
    executor under the same path. Raises :class:`~highwater_pipeline.tables.files.BadTableError` as
    :func:`~highwater_pipeline.in_process.check_stored` does.
    """
    units = [(number, unit) for number, run in enumerate(runs) for unit in run.units]
    tasks = max(1, min(len(units), spark.sparkContext.defaultParallelism * TASKS_PER_CORE))
    rows = spark.range(0, len(units), 1, tasks)
    about = [(run.facts, run.checks) for run in runs]
    found = rows.mapInArrow(_store_checker(units, about), _FINDINGS).collect()
    _raise_first_error(found)
    judged = _units_by_run(found)
    return [merge(run.facts, judged.get(number, ()), run.checks) for number, run in enumerate(runs)]


def _raise_first_error(found: Sequence[Any]) -> None:
    errors = {row.run: bytes(row.payload).decode() for row in found if row.part == "error"}
    if errors:
        raise BadTableError(errors[min(errors)])


def _units_by_run(found: Sequence[Any]) -> dict[int, list[PartitionFindings]]:
    units: dict[int, list[PartitionFindings]] = {}
    for row in found:
        units.setdefault(row.run, []).append(msgspec.json.decode(row.payload, type=PartitionFindings))
    return units


def _merged(runs: int, found: Sequence[Any], checks: Sequence[str] | None) -> list[RunVerdict]:
    _raise_first_error(found)
    facts = {row.run: msgspec.json.decode(row.facts, type=RunFacts) for row in found if row.part == "run"}
    units = _units_by_run([row for row in found if row.part == "findings"])
    return [merge(facts[number], units.get(number, ()), checks) for number in range(runs)]


# --- in the tasks ---------------------------------------------------------------------------------------------------


def _loader(
    paths: Sequence[str], settings: Settings | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def load(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for run in batch["id"].to_pylist():
                yield from _chunks_of_run(run, paths[run], settings)

    return load


def _chunks_of_run(run: int, path: str, settings: Settings | None) -> Iterator[pa.RecordBatch]:
    try:
        facts, units = split(open_run(path, settings))
    except (BadTableError, OSError) as error:
        yield _chunk(run, None, "error", 0, b"", str(error).encode())
        return
    facts_json = msgspec.json.encode(facts)
    yield _chunk(run, None, "run", 0, facts_json, b"")
    for unit in units:
        for part in _TABLES:
            view: View = getattr(unit, part)
            for number, start in enumerate(range(0, max(view.num_rows, 1), CHUNK_ROWS)):
                payload = _to_ipc(view.slice(start, CHUNK_ROWS).to_arrow())
                yield _chunk(run, unit.partition, part, number, facts_json, payload)


def _chunk(run: int, partition: str | None, part: str, number: int, facts: bytes, payload: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist(
        [{"run": run, "partition": partition, "part": part, "number": number, "facts": facts, "payload": payload}],
        schema=_CHUNK_SCHEMA,
    )


def _checker(names: Sequence[str]) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def check(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in batches for row in batch.to_pylist())
        for (run, partition), chunks in groupby(rows, key=itemgetter("run", "partition")):
            if partition is None:  # of the run as a whole
                found = [{name: row[name] for name in _FINDINGS_SCHEMA.names} for row in chunks]
            else:
                found = [_check_chunks(run, partition, chunks, names)]
            yield pa.RecordBatch.from_pylist(found, schema=_FINDINGS_SCHEMA)

    return check


def _check_chunks(run: int, partition: str, chunks: Iterator[dict[str, Any]], names: Sequence[str]) -> dict[str, Any]:
    """The findings on one unit, of which all chunks come, those of each table in order."""
    first = next(chunks)
    facts_json = first["facts"]
    parts = ((row["part"], _from_ipc(row["payload"])) for row in chain([first], chunks))
    unit = unit_of(msgspec.json.decode(facts_json, type=RunFacts), partition, parts)
    return {
        "run": run,
        "part": "findings",
        "facts": facts_json,
        "payload": msgspec.json.encode(check_partition(unit, names)),
    }


def _store_checker(
    units: Sequence[tuple[int, StoredUnit]], about: Sequence[tuple[RunFacts, tuple[str, ...] | None]]
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def check(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch["id"].to_pylist():
                run, unit = units[number]
                facts, checks = about[run]
                try:
                    part, payload = "findings", msgspec.json.encode(check_partition(read_unit(facts, unit), checks))
                except BadTableError as error:
                    part, payload = "error", str(error).encode()
                row = {"run": run, "part": part, "facts": b"", "payload": payload}
                yield pa.RecordBatch.from_pylist([row], schema=_FINDINGS_SCHEMA)

    return check


def _to_ipc(table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.ipc.new_stream(sink, table.schema, options=options) as writer:
        writer.write_table(table)
    written: bytes = sink.getvalue().to_pybytes()
    return written


def _from_ipc(data: bytes) -> pa.Table:
    with pa.ipc.open_stream(data) as reader:
        return reader.read_all()
