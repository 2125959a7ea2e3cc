"""How fast histories are judged: kernels in this process, and the same kernels on Spark, in one run on one machine.

    python -m highwater_lab.benchmarks.pipeline [--operations 100000 1000000] [--master 'local[*]']

Histories are synthetic and clean: per ten records sent one poll that reads them, eight partitions, one batch committed
per ten records, three replicas' dumps. What is timed, each as seconds and operations per second:

in process     ``check_run`` on tables in memory
spark, store   Spark over a store of units (split on disk beforehand): no shuffle
spark, run     Spark over a run directory of Parquet files: read by one task, units shuffled
from files     ``load_run`` of the Parquet files, then ``check_run``

The cold start is timed apart: from nothing to the first verdict of a history of two lines. Times on a shared machine
swing; compare the ratios of one run.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from highwater_pipeline import RunTables, RunVerdict, check_run, load_run
from highwater_pipeline.files import write_parquet
from highwater_pipeline.schemas import MICRO_OPERATION, NODE_EVENT, OPERATIONS, REPLICA_LOG
from highwater_pipeline.settings import STRICTEST
from highwater_pipeline.spark import open_session, spark_check_store, spark_checker
from highwater_pipeline.store import write_units

PARTITIONS = 8
BATCH = 10
REPLICAS = 3


def synthetic(operations: int) -> RunTables:
    """A clean run of about that many operations; every table as a real run has it."""
    sends = operations * BATCH // (BATCH + 1) // (BATCH * PARTITIONS) * (BATCH * PARTITIONS)
    batches = sends // BATCH
    partition = np.arange(batches) % PARTITIONS
    start = np.arange(batches) // PARTITIONS * BATCH
    value = np.arange(1, sends + 1)
    offset = np.repeat(start, BATCH) + np.tile(np.arange(BATCH), batches)
    return RunTables(
        f"synthetic-{operations}",
        _operations(batches, np.repeat(partition, BATCH), offset, value),
        _events(batches, partition, start),
        _dumps(np.repeat(partition, BATCH), offset, value),
        settings=STRICTEST,
    )


def _words(which: np.ndarray, *words: str) -> pa.Array:
    """A string column: words by their places."""
    return pa.array(words).take(pa.array(which.astype(np.int64)))


def _names(partition: np.ndarray) -> pa.Array:
    return _words(partition, *(f"orders-{number}" for number in range(PARTITIONS)))


def _operations(batches: int, partition: np.ndarray, offset: np.ndarray, value: np.ndarray) -> pa.Table:
    """Per batch: ten sends (invoke, ok), one poll (invoke, ok) of the ten."""
    rows_per_batch = 2 * BATCH + 2
    rows = batches * rows_per_batch
    place = np.arange(rows) % rows_per_batch
    is_poll, is_ok = place >= 2 * BATCH, place % 2 == 1
    lengths = np.where(is_poll, np.where(is_ok, BATCH, 0), 1)
    # Which record each micro-operation is about: each of a batch's ten twice (invoke, ok), then all ten once (poll).
    in_batch = np.concatenate([np.repeat(np.arange(BATCH), 2), np.arange(BATCH)])
    record = np.repeat(np.arange(batches) * BATCH, len(in_batch)) + np.tile(in_batch, batches)
    known = np.tile(np.concatenate([np.tile([False, True], BATCH), np.ones(BATCH, bool)]), batches)
    is_poll_item = np.tile(np.arange(len(in_batch)) >= 2 * BATCH, batches)
    op = _words(is_poll_item, "send", "poll")
    # Polls say the topic's id, as a client's do that fetches by id.
    topic_id = pa.array(["0" * 32]).take(pa.array(np.zeros(len(record), np.int64), mask=~is_poll_item))
    items = pa.StructArray.from_arrays(
        [op, _names(partition[record]), pa.array(offset[record], mask=~known), pa.array(value[record]), topic_id],
        fields=list(MICRO_OPERATION),
    )
    ends = np.concatenate([[0], np.cumsum(lengths)])
    index = np.arange(rows)
    columns = {
        "run_id": _words(np.zeros(rows), "run"),
        "index": pa.array(index),
        "time": pa.array(index * 1000),
        "process": pa.array(np.where(is_poll, 100, place // 2)),
        "type": _words(is_ok, "invoke", "ok"),
        "f": _words(is_poll, "send", "poll"),
        "value": pa.ListArray.from_arrays(pa.array(ends, pa.int32()), items).cast(OPERATIONS.field("value").type),
    }
    return _table(columns, rows, OPERATIONS)


def _events(batches: int, partition: np.ndarray, start: np.ndarray) -> pa.Table:
    """Per batch: appended by leader and followers, committed, HW moved."""
    kinds = ["log-appended"] * REPLICAS + ["batch-committed", "high-watermark"]
    per_batch = len(kinds)
    rows = batches * per_batch
    place = np.arange(rows) % per_batch
    first, end = np.repeat(start, per_batch), np.repeat(start + BATCH, per_batch)
    columns = {
        "run_id": _words(np.zeros(rows), "run"),
        "seq": pa.array(np.arange(rows)),
        "time_ns": pa.array(np.arange(rows) * 1000),
        "node_time_ns": pa.array(np.arange(rows) * 1000),
        "node": _words(np.where(place < REPLICAS, place, 0), *(f"broker-{number}" for number in range(REPLICAS))),
        "incarnation": pa.array(np.ones(rows, np.int64)),
        "kind": _words(place, *kinds),
        "partition": _names(np.repeat(partition, per_batch)),
        "leader_epoch": pa.array(np.zeros(rows, np.int64)),
        "offset": pa.array(np.where(place == REPLICAS + 1, end, first)),
        "end_offset": pa.array(end),
        "epoch": pa.array(np.zeros(rows, np.int64)),
        "crc": pa.array(first + 1),
        "reason": _words(np.minimum(place, 1), "leader", "follower"),
    }
    return _table(columns, rows, NODE_EVENT)


def _dumps(partition: np.ndarray, offset: np.ndarray, value: np.ndarray) -> pa.Table:
    records = len(offset)
    rows = records * REPLICAS
    columns = {
        "run_id": _words(np.zeros(rows), "run"),
        "broker": pa.array(np.repeat(np.arange(REPLICAS), records)),
        "partition": _names(np.tile(partition, REPLICAS)),
        "topic_id": _words(np.zeros(rows), "0" * 32),
        "offset": pa.array(np.tile(offset, REPLICAS)),
        "leader_epoch": pa.array(np.zeros(rows, np.int64)),
        "producer_id": pa.array(np.full(rows, -1)),
        "sequence": pa.array(np.full(rows, -1)),
        "value": pa.array(np.tile(value, REPLICAS)),
        "crc": pa.array(np.tile(offset // BATCH * BATCH + 1, REPLICAS)),
    }
    return _table(columns, rows, REPLICA_LOG)


def _table(columns: dict[str, pa.Array], rows: int, schema: pa.Schema) -> pa.Table:
    arrays = [columns[field.name] if field.name in columns else pa.nulls(rows, field.type) for field in schema]
    typed = [array.cast(field.type) for array, field in zip(arrays, schema, strict=True)]
    return pa.Table.from_arrays(typed, schema=schema)


# --- measuring ------------------------------------------------------------------------------------------------------


def _timed(what: str, operations: int, judge: Callable[[], RunVerdict], reference: float | None = None) -> float:
    began = time.perf_counter()
    run_verdict = judge()
    seconds = time.perf_counter() - began
    assert run_verdict.verdict == "pass", run_verdict.reasons
    ratio = "" if reference is None else f"{seconds / reference:8.2f}x"
    print(f"  {what:14s} {seconds:8.2f} s {operations / seconds:12,.0f} operations/s{ratio}")
    return seconds


@contextmanager
def _cold_session(master: str, tiny: Path) -> Iterator[SparkSession]:
    began = time.perf_counter()
    with open_session(master) as spark:
        started = time.perf_counter()
        spark_checker(spark, [tiny])
        first = time.perf_counter()
        spark_checker(spark, [tiny])
        again = time.perf_counter()
        print(
            f"cold start: session {started - began:.2f} s, first verdict {first - started:.2f} s after it"
            f" ({first - began:.2f} s from nothing); the next {again - first:.2f} s"
        )
        yield spark


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--operations", type=int, nargs="+", default=[100_000, 1_000_000])
    arguments.add_argument("--master", default="local[*]")
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        tiny = _written(synthetic(100), root / "tiny")
        with _cold_session(options.master, tiny) as spark:
            for count in options.operations:
                _measure(spark, root, count)


def _measure(spark: SparkSession, root: Path, count: int) -> None:
    tables = synthetic(count)
    operations = tables.operations.num_rows // 2
    assert tables.node_events is not None
    assert tables.replica_log is not None
    print(
        f"{operations:,} operations, {tables.node_events.num_rows:,} node events,"
        f" {tables.replica_log.num_rows:,} records dumped"
    )
    store = root / f"store-{count}"
    write_units(tables, store)
    run = _written(tables, root / f"run-{count}")
    here = _timed("in process", operations, lambda: check_run(tables))
    _timed("from files", operations, lambda: check_run(load_run(run)), here)
    _timed("spark, store", operations, lambda: spark_check_store(spark, store)[0], here)
    _timed("spark, run", operations, lambda: spark_checker(spark, [run])[0], here)


def _written(tables: RunTables, run: Path) -> Path:
    write_parquet(run / "history" / "operations.parquet", tables.operations)
    if tables.node_events is not None and tables.replica_log is not None:
        write_parquet(run / "events" / "nodes.parquet", tables.node_events)
        write_parquet(run / "dumps" / "replica_log.parquet", tables.replica_log)
    return run


if __name__ == "__main__":
    main()
