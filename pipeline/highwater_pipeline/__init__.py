"""Histories and node events to verdicts: check kernels over Arrow tables, and Spark jobs that schedule them.

``check_run(open_run(directory))`` judges one run in this process; ``check_on_spark(directory)`` gives the same answer
from Spark. Names load on first use, so that asking for the names of checks does not load Arrow, nor judging a run
Spark.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from highwater_pipeline.anomalies import CHECKS as CHECKS
    from highwater_pipeline.in_process import check_log_and_registers as check_log_and_registers
    from highwater_pipeline.in_process import check_run as check_run
    from highwater_pipeline.in_process import check_stored as check_stored
    from highwater_pipeline.java import JavaNotFoundError as JavaNotFoundError
    from highwater_pipeline.linearizability import check_registers as check_registers
    from highwater_pipeline.partitions.recording import recorded_units as recorded_units
    from highwater_pipeline.spark import SparkFailedError as SparkFailedError
    from highwater_pipeline.spark import check_on_spark as check_on_spark
    from highwater_pipeline.spark import check_registers_on_spark as check_registers_on_spark
    from highwater_pipeline.spark import open_session as open_session
    from highwater_pipeline.spark import spark_checker as spark_checker
    from highwater_pipeline.tables.files import BadTableError as BadTableError
    from highwater_pipeline.tables.run_tables import RunTables as RunTables
    from highwater_pipeline.tables.run_tables import load_run as load_run
    from highwater_pipeline.tables.run_tables import open_run as open_run
    from highwater_pipeline.verdict import AnomalyReport as AnomalyReport
    from highwater_pipeline.verdict import RunVerdict as RunVerdict

_HOME = {
    "CHECKS": "anomalies",
    "BadTableError": "tables.files",
    "JavaNotFoundError": "java",
    "check_log_and_registers": "in_process",
    "check_run": "in_process",
    "check_stored": "in_process",
    "recorded_units": "partitions.recording",
    "AnomalyReport": "verdict",
    "RunVerdict": "verdict",
    "SparkFailedError": "spark",
    "check_registers": "linearizability",
    "check_registers_on_spark": "spark",
    "check_on_spark": "spark",
    "open_session": "spark",
    "spark_checker": "spark",
    "RunTables": "tables.run_tables",
    "load_run": "tables.run_tables",
    "open_run": "tables.run_tables",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOME[name]}"), name)
