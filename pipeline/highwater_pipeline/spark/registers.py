"""Judges registers on Spark: the kernel of ``highwater_pipeline.linearizability``, one key a group.

One task reads the history and takes the operations on registers out of it; they are grouped by key, and each group is
decided where it lands (``applyInArrow``). The driver sees one verdict per key, and merges them exactly as the process
does that judges alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from highwater_pipeline.in_process import check_both
from highwater_pipeline.linearizability import KeyVerdict, Limits, check_key
from highwater_pipeline.linearizability.check import RegisterFacts, facts_of, merge_keys
from highwater_pipeline.linearizability.registers import REGISTER_HISTORY, register_history
from highwater_pipeline.spark.check import spark_checker
from highwater_pipeline.spark.session import open_session
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.remote import AnyPath, located
from highwater_pipeline.tables.run_tables import load_run
from highwater_pipeline.verdict import RunVerdict

_BATCH_ROWS: Final = 1 << 16
_SQL_TYPES: Final = {"string": "string", "int64": "bigint", "int8": "tinyint"}
_ROWS: Final = (
    ", ".join(f"`{field.name}` {_SQL_TYPES[str(field.type)]}" for field in REGISTER_HISTORY) + ", payload binary"
)
_ROWS_SCHEMA: Final = REGISTER_HISTORY.append(pa.field("payload", pa.binary()))
_FINDINGS: Final = "part string, payload binary"
_FINDINGS_SCHEMA: Final = pa.schema([("part", pa.string()), ("payload", pa.binary())])


def check_registers_on_spark(
    path: AnyPath | str, master: str | None = None, limits: Limits | None = None
) -> RunVerdict:
    """Judge the registers of a run directory, or of an operations file, in a Spark session of its own; see
    :func:`spark_check_registers` and :func:`~highwater_pipeline.spark.session.open_session` for what may be raised."""
    with open_session(master) as spark:
        return spark_check_registers(spark, path, limits)


def check_log_and_registers_on_spark(
    run_dir: AnyPath | str, master: str | None = None, checks: Sequence[str] | None = None
) -> RunVerdict:
    """Judge a run directory whose workload operated on registers too, in a Spark session of its own: equal to
    :func:`~highwater_pipeline.in_process.check_log_and_registers`."""
    with open_session(master) as spark:
        registers = spark_check_registers(spark, run_dir)
        return check_both(
            registers.run_id, checks, lambda of_log: spark_checker(spark, [run_dir], of_log)[0], lambda: registers
        )


def spark_check_registers(spark: SparkSession, path: AnyPath | str, limits: Limits | None = None) -> RunVerdict:
    """The verdict of a run's registers, equal to that of ``check_registers``.

    Raises :class:`~highwater_pipeline.tables.files.BadTableError` for a history that cannot be read.
    """
    rows = spark.range(0, 1, 1, 1).mapInArrow(_loader(str(located(path).absolute())), _ROWS)
    found = rows.groupBy("key").applyInArrow(_checker(limits or Limits()), _FINDINGS).collect()
    errors = [bytes(row.payload).decode() for row in found if row.part == "error"]
    if errors:
        raise BadTableError(errors[0])
    (facts,) = (msgspec.json.decode(row.payload, type=RegisterFacts) for row in found if row.part == "facts")
    return merge_keys(
        facts, [msgspec.json.decode(row.payload, type=KeyVerdict) for row in found if row.part == "verdict"]
    )


# --- in the tasks ---------------------------------------------------------------------------------------------------


def _loader(path: str) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def load(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for _ in range(batch.num_rows):
                yield from _rows_of_run(path)

    return load


def _rows_of_run(path: str) -> Iterator[pa.RecordBatch]:
    """The operations on registers; and, with a null key, the facts of the run, or why it cannot be read."""
    try:
        tables = load_run(path)
    except (BadTableError, OSError) as error:
        yield _without_key("error", str(error).encode())
        return
    yield _without_key("facts", msgspec.json.encode(facts_of(tables)))
    history = register_history(tables.operations)
    payload = pa.nulls(history.num_rows, pa.binary())
    yield from history.append_column(_ROWS_SCHEMA.field("payload"), payload).to_batches(_BATCH_ROWS)


def _without_key(part: str, payload: bytes) -> pa.RecordBatch:
    return pa.RecordBatch.from_pylist([{"client": part, "payload": payload}], schema=_ROWS_SCHEMA)


def _checker(limits: Limits) -> Callable[[pa.Table], pa.Table]:
    def check(rows: pa.Table) -> pa.Table:
        key = rows["key"][0].as_py()
        if key is None:
            findings = [{"part": row["client"], "payload": row["payload"]} for row in rows.to_pylist()]
            return pa.Table.from_pylist(findings, schema=_FINDINGS_SCHEMA)
        # A shuffle keeps no order; the order of rows is the order in which things happened.
        table = rows.select(REGISTER_HISTORY.names).sort_by("row").combine_chunks()
        verdict = msgspec.json.encode(check_key(key, table, limits))
        return pa.Table.from_pylist([{"part": "verdict", "payload": verdict}], schema=_FINDINGS_SCHEMA)

    return check
