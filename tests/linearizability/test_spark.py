"""Spark and this process give the same verdict of registers, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from table_files import write_jsonl

from highwater_pipeline import BadTableError, check_registers, check_registers_on_spark
from highwater_pipeline.spark import spark_check_registers
from highwater_pipeline.tables.files import write_parquet
from highwater_pipeline.tables.run_tables import load_run

pytestmark = pytest.mark.spark


@pytest.mark.parametrize("stale", [False, True])
def test_findings_are_equal_to_the_byte(spark: Any, benchmark_history: Any, tmp_path: Path, stale: bool) -> None:
    path = tmp_path / "run.parquet"
    write_parquet(path, benchmark_history(2000, 7, 10, values="unique", stale=stale).operations)
    here = check_registers(load_run(path))
    assert here.verdict == ("fail" if stale else "pass")
    assert spark_check_registers(spark, path).to_json() == here.to_json()


def test_without_registers(spark: Any, story: Any, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "empty.jsonl", story.operations)
    run_verdict = check_registers_on_spark(tmp_path / "empty.jsonl")
    assert run_verdict.verdict == "inconclusive"
    assert run_verdict.to_json() == check_registers(load_run(tmp_path / "empty.jsonl")).to_json()


def test_a_bad_line_is_the_same_error_as_here(spark: Any, story: Any, tmp_path: Path) -> None:
    path = tmp_path / "bad.jsonl"
    write_jsonl(path, story.done(0, "write", 1).operations)
    path.write_bytes(path.read_bytes() + b"{}\n")
    with pytest.raises(BadTableError) as here:
        load_run(path)
    with pytest.raises(BadTableError) as there:
        spark_check_registers(spark, path)
    assert str(there.value) == str(here.value)
