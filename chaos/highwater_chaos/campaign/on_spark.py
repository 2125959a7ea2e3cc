"""Seeds on Spark: tens of them a task, one job a batch, their outcomes back as Arrow batches.

Each batch is a job of its own: the driver knows its outcomes when it ends, and no other batch is lost with it. If a
Python worker ends, its batch is divided into its seeds, each with a second chance. Workers are reused, and keep their
collector frozen from the first seed on.
"""

from __future__ import annotations

import itertools
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TYPE_CHECKING, Final

import msgspec
import pyarrow as pa

from highwater_chaos.campaign.processes import ATTEMPTS
from highwater_chaos.campaign.seed import Outcome, Run, SeedJob, failed, prepare_process, run_seed_job

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BATCH: Final = 20
"""Seeds of a task, where there are enough: a task costs 20 to 60 ms, a seed of a batch about 1 ms."""
_WAITING: Final = 2
"""Batches that are submitted for each core, so that none waits for the driver."""
_MOST_JOBS: Final = 1024
"""Batches that are submitted at most; each has a thread of the driver that waits for it."""
WITHOUT_EXECUTORS: Final = 300.0
_LOOK_SECONDS: Final = 10.0
_SCHEMA: Final = pa.schema([("outcome", pa.binary())])
_SHOWN: Final = 500
"""Characters of a failure that are kept."""


class SparkGoneError(Exception):
    """Spark has ended in the middle of the campaign; what had been run is known."""


def on_spark(
    units: Iterable[SeedJob],
    spark: SparkSession,
    batch: int = BATCH,
    run: Run = run_seed_job,
    without_executors: float = WITHOUT_EXECUTORS,
) -> Iterator[Outcome]:
    """Outcomes as batches end, in no particular order. ``units`` are taken as they are needed, in order.

    Closing the iterator cancels the jobs. Raises :class:`SparkGoneError`: also if there was no executor for
    ``without_executors`` seconds, for Spark itself waits for ever.
    """
    from py4j.protocol import Py4JError  # noqa: PLC0415 - only where there is a session
    from pyspark.errors import PySparkException  # noqa: PLC0415

    source = iter(units)
    again: deque[tuple[Sequence[SeedJob], int]] = deque()
    running: dict[Future[list[Outcome]], tuple[Sequence[SeedJob], int]] = {}
    alone_since: float | None = None
    with ThreadPoolExecutor(_MOST_JOBS) as threads:
        try:
            while True:
                most = min(_MOST_JOBS, _cores(spark) * _WAITING)
                while len(running) < most:
                    following = again.popleft() if again else (tuple(itertools.islice(source, batch)), 1)
                    if not following[0]:
                        break
                    running[threads.submit(_job, spark, following[0], run)] = following
                if not running:
                    return
                done, _ = wait(running, timeout=_LOOK_SECONDS, return_when=FIRST_COMPLETED)
                alone_since = None if done or _has_executors(spark) else alone_since or time.monotonic()
                if alone_since is not None and time.monotonic() - alone_since > without_executors:
                    raise SparkGoneError(f"Spark has had no executor for {without_executors:.0f} s")
                for future in done:
                    lot, attempts = running.pop(future)
                    try:
                        found = future.result()
                    except Exception as error:
                        if _is_gone(spark):  # PySpark may then raise anything, AssertionError too
                            raise SparkGoneError(f"Spark has ended: {_shown(error)}") from error
                        if not isinstance(error, (PySparkException, Py4JError, OSError)):
                            raise
                        if len(lot) > 1 or attempts < ATTEMPTS:
                            again.extend(((unit,), attempts + 1 if len(lot) == 1 else 1) for unit in lot)
                        else:
                            why = f"its Spark task failed, {attempts} times alone: {_shown(error)}"
                            yield failed(lot[0], why, attempts)
                        continue
                    for outcome in found:
                        yield msgspec.structs.replace(outcome, attempts=attempts)
        finally:
            if running and not _is_gone(spark):
                spark.sparkContext.cancelAllJobs()


def _is_gone(spark: SparkSession) -> bool:
    from py4j.protocol import Py4JError  # noqa: PLC0415 - only where there is a session

    try:
        return bool(spark.sparkContext._jsc.sc().isStopped())
    except (Py4JError, OSError, AttributeError):  # no JVM answers, or the session was stopped here
        return True


def _cores(spark: SparkSession) -> int:
    """Return how many tasks run at once; executors come and go."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - only where there is a session

    try:
        return int(spark.sparkContext.defaultParallelism)
    except (Py4JError, OSError, AttributeError):  # what is gone is found when a job ends
        return 1


def _has_executors(spark: SparkSession) -> bool:
    """Whether there is somebody who runs tasks: with a local master the driver, else others."""
    from py4j.protocol import Py4JError  # noqa: PLC0415 - only where there is a session

    try:
        context = spark.sparkContext._jsc.sc()
        return bool(context.isLocal() or context.getExecutorMemoryStatus().size() > 1)
    except (Py4JError, OSError, AttributeError):  # what is gone is found when a job ends
        return True


def _shown(error: Exception) -> str:
    from highwater_pipeline.spark.session import first_lines  # noqa: PLC0415 - only where there is a session

    return first_lines(error)[:_SHOWN]


def batch_size(seeds: int, cores: int) -> int:
    """How many seeds a task gets: tens, but fewer where otherwise cores would have nothing to do."""
    return max(1, min(BATCH, seeds // (4 * cores)))


def _job(spark: SparkSession, units: Sequence[SeedJob], run: Run) -> list[Outcome]:
    rows = spark.range(0, 1, 1, 1).mapInArrow(_runner(msgspec.msgpack.encode(list(units)), run), "outcome binary")
    decode = msgspec.msgpack.Decoder(Outcome).decode
    return [decode(bytes(row.outcome)) for row in rows.collect()]


def _runner(units: bytes, run: Run) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def run_all(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            prepare_process()
            for unit in msgspec.msgpack.decode(units, type=list[SeedJob]):
                yield pa.RecordBatch.from_pydict({"outcome": [msgspec.msgpack.encode(run(unit))]}, schema=_SCHEMA)

    return run_all
