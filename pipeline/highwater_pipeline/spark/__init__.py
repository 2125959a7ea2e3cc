"""Schedules the check kernels on Spark: on this machine by default, on any master by name."""

from highwater_pipeline.spark.check import (
    check_on_spark,
    check_stored_on_spark,
    spark_check_store,
    spark_check_stored_at,
    spark_checker,
)
from highwater_pipeline.spark.registers import (
    check_log_and_registers_on_spark,
    check_registers_on_spark,
    spark_check_registers,
)
from highwater_pipeline.spark.session import SparkFailedError, open_session

__all__ = [
    "SparkFailedError",
    "check_log_and_registers_on_spark",
    "check_on_spark",
    "check_registers_on_spark",
    "check_stored_on_spark",
    "open_session",
    "spark_check_registers",
    "spark_check_store",
    "spark_check_stored_at",
    "spark_checker",
]
