"""Recorded runs in Python: their tables as Arrow, their verdict, and runs judged on Spark.

::

    from highwater_chaos import data

    run = data.load("runs/A")
    run.history.to_pandas()
    print(run.verdict["verdict"], run.explain())

The columns are in docs/tables.md.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from highwater_chaos.experiment import load_experiment
from highwater_chaos.run.manifest import BadSummaryError
from highwater_chaos.run.summary import read_summary
from highwater_chaos.verdict.check import check_recordings, write_verdict
from highwater_chaos.verdict.stored import whole_tables
from highwater_pipeline.partitions.store import is_store, is_stored_run
from highwater_pipeline.tables.micro_operations import micro_operations
from highwater_pipeline.tables.run_tables import RunTables, load_run
from highwater_pipeline.tables.schemas import WHOLE
from highwater_pipeline.verdict import RunVerdict

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Run:
    """A run directory. A table is read when it is first asked for, as a whole; one that was not recorded is None."""

    def __init__(self, directory: Path) -> None:
        self.directory: Final = directory
        self.verdict: Final[dict[str, Any]] = _verdict_of(directory)
        """The content of ``verdict.json``."""

    @property
    def run_id(self) -> str:
        """The run's key."""
        return self._tables.run_id

    @property
    def operations(self) -> pa.Table:
        """The history: operations of clients, with their micro-operations as lists."""
        return self._tables.operations

    @cached_property
    def history(self) -> pa.Table:
        """The operations by record: one row for each record that was sent or read, and each partition assigned."""
        return micro_operations(self._tables.operations).micro_operations

    @property
    def events(self) -> pa.Table | None:
        """What nodes reported."""
        return self._tables.node_events

    @property
    def replica_log(self) -> pa.Table | None:
        """The records of all replicas at the end."""
        return self._tables.replica_log

    @property
    def faults(self) -> pa.Table:
        """The faults, with evidence."""
        return self._whole["faults"]

    @property
    def phases(self) -> pa.Table:
        """The phases of the run."""
        return self._whole["phases"]

    @property
    def metric_samples(self) -> pa.Table:
        """What nodes measured, once a second."""
        return self._whole["metric_samples"]

    @property
    def findings(self) -> pa.Table:
        """Examples of what checks found."""
        return self._whole["findings"]

    def explain(self) -> str:
        """What was lost, by which decision, in a sentence; empty if nothing was."""
        return str(self.verdict.get("explanation", ""))

    @cached_property
    def _tables(self) -> RunTables:
        return load_run(self.directory)

    @cached_property
    def _whole(self) -> dict[str, pa.Table]:
        found = whole_tables(self.directory, read_summary(self.directory), self.verdict)
        return {name: pa.concat_tables([schema.empty_table(), *found.get(name, ())]) for name, schema in WHOLE.items()}


def load(run: str | Path) -> Run:
    """Open a run directory; one that was never judged is judged, and has its verdict and report from then on.

    Raises:
        BadSummaryError: it is no run directory, or not what the run wrote.
        BadTableError: a table of it cannot be read (also when it is asked for).
    """
    if is_store(Path(run)) or is_stored_run(Path(run)):
        raise BadSummaryError(
            f"{run}: expected a run directory, found a store or a run of one: read its tables as docs/data.md shows"
            " (pandas.read_parquet), or judge it (data.judge, highwater check)"
        )
    return Run(Path(run))


def judge(spark: SparkSession, paths: Sequence[str | Path]) -> list[RunVerdict]:
    """Judge run directories and stores on Spark, by what is recorded in their tables; the verdicts are in the order of
    ``paths``, and of a store in the order of its runs' keys. Executors must be able to read the paths.

    Raises:
        BadTableError: a run cannot be read.
    """
    from highwater_pipeline.spark import spark_check_store, spark_checker  # noqa: PLC0415 - takes a second to import

    found: list[RunVerdict] = []
    for path in map(Path, paths):
        found += spark_check_store(spark, path) if is_store(path) else spark_checker(spark, [path])
    return found


def _verdict_of(directory: Path) -> dict[str, Any]:
    read_summary(directory)
    file = directory / "verdict.json"
    if not file.exists():
        experiment = load_experiment(directory / "experiment.yaml")
        return write_verdict(directory, experiment, check_recordings(experiment, directory))
    found: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    return found
