"""Spark and this process give the same verdict, to the byte; and Spark's errors are ours."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from highwater_pipeline import BadTableError, check_run, load_run, spark_checker
from highwater_pipeline.partitions.store import write_units
from highwater_pipeline.spark import check as spark_module
from highwater_pipeline.spark import spark_check_store

pytestmark = pytest.mark.spark


def test_findings_are_equal_to_the_byte(spark: Any, all_stories: list[Any], tmp_path: Path, thorough: bool) -> None:
    chosen = all_stories if thorough else all_stories[::4]
    runs = [case.build().write(tmp_path / case.name) for case in chosen]
    in_process = [check_run(load_run(run)).to_json() for run in runs]
    on_spark = [run_verdict.to_json() for run_verdict in spark_checker(spark, runs)]
    assert on_spark == in_process
    assert [run.name for run in runs] == [check_run(load_run(run)).run_id for run in runs]


def test_a_store_is_judged_the_same(spark: Any, all_stories: list[Any], tmp_path: Path, thorough: bool) -> None:
    """Of other stories: tasks judge each as above, only what they read differs."""
    chosen = all_stories if thorough else all_stories[1::8]
    names = sorted(case.name for case in chosen)
    tables = {case.name: case.build().tables(case.name) for case in chosen}
    for name in names:
        write_units(tables[name], tmp_path)
    on_spark = [run_verdict.to_json() for run_verdict in spark_check_store(spark, tmp_path)]
    assert on_spark == [check_run(tables[name]).to_json() for name in names]


def test_a_torn_store_is_an_error_in_a_task(spark: Any, story: Any, tmp_path: Path) -> None:
    write_units(story.send(1, at=0).poll((0, 1)).tables(), tmp_path)
    (file,) = tmp_path.glob("history/*/partition-orders-0.parquet")
    file.write_bytes(b"PAR1")
    with pytest.raises(BadTableError, match=r"partition-orders-0\.parquet: expected a table of a store"):
        spark_check_store(spark, tmp_path)


def test_a_partition_without_a_name_is_one_as_others(
    spark: Any, story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("", "orders-0", "__HIVE_DEFAULT_PARTITION__")
    for value, key in enumerate(names):
        story.send(value, at=0, key=key).poll((0, value), key=key)
    write_units(story.tables(), tmp_path)
    read = spark.read.parquet(str(tmp_path / "history"))
    assert {row.partition for row in read.select("partition").distinct().collect()} == set(names)
    assert read.count() == 2 * len(names)
    wanted = check_run(story.tables()).to_json()
    monkeypatch.chdir(tmp_path.parent)
    assert spark_check_store(spark, tmp_path.name)[0].to_json() == wanted, "executors have another working directory"


def test_large_tables_travel_in_chunks(spark: Any, story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The order of rows is the order of things: it survives being cut up, shuffled and put together."""
    rows = spark_module.CHUNK_ROWS + 5
    values = range(1, rows + 1)
    story.send(*values, at=0).poll(*((v - 1, v) for v in values if v != 7))
    run = story.write(tmp_path / "long")
    (on_spark,) = spark_checker(spark, [run])
    assert on_spark.to_json() == check_run(load_run(run)).to_json()
    assert {name: report.count for name, report in on_spark.anomalies.items()} == {
        "lost-write": 1,
        "unseen": 1,
        "int-poll-skip": 1,
    }


def test_only_the_checks_asked_for(spark: Any, story: Any, tmp_path: Path) -> None:
    run = story.send(1, at=0).poll((0, 1), (1, 1)).write(tmp_path / "run")
    (run_verdict,) = spark_checker(spark, [run], ["unseen"])
    assert (run_verdict.verdict, list(run_verdict.checks)) == ("pass", ["unseen"])


def test_a_bad_line_in_a_task_is_the_same_error_as_here(spark: Any, story: Any, tmp_path: Path) -> None:
    run = story.send(1, at=0).write(tmp_path / "run")
    with (run / "history" / "operations.jsonl").open("ab") as file:
        file.write(b'{"index": "three"}\n')
    with pytest.raises(BadTableError) as here:
        load_run(run)
    with pytest.raises(BadTableError) as there:
        spark_checker(spark, [run])
    assert str(there.value) == str(here.value)


def test_a_directory_that_is_no_run(spark: Any, tmp_path: Path) -> None:
    with pytest.raises(BadTableError, match=r"expected a run directory with history/operations"):
        spark_checker(spark, [tmp_path])
