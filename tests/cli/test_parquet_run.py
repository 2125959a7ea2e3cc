"""A run directory with Parquet tables: each command comes to what it comes to with JSON Lines."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from highwater_chaos.run.manifest import make_manifest, verify
from highwater_chaos.run.summary import list_recordings
from highwater_pipeline.partitions.recording import LARGE_TABLES

TABLES = [f"{name}.parquet" for name in LARGE_TABLES]


@pytest.fixture(scope="session")
def parquet_run(tmp_path_factory: pytest.TempPathFactory, kafka_14139: str) -> Path:
    """``failed_run`` with Parquet tables; not to be changed."""
    from highwater_chaos.cli import execute

    file = tmp_path_factory.mktemp("parquet") / "experiment.yaml"
    file.write_text(kafka_14139, encoding="utf-8")
    runs = file.with_name("runs")
    options = ["--switch", "replica-epoch-check=off", "--out", str(runs), "--tables", "parquet"]
    assert execute(["run", str(file), *options]) == 0
    (directory,) = runs.iterdir()
    return directory


@pytest.fixture
def copy(highwater: Any, parquet_run: Path) -> Path:
    """A copy that may be changed."""
    return shutil.copytree(parquet_run, highwater.folder / "run")


def without_timing(directory: Path) -> Any:
    verdict = json.loads((directory / "verdict.json").read_text(encoding="utf-8"))
    del verdict["timing"]["wallSeconds"], verdict["runId"]
    return verdict


def report_of(directory: Path) -> str:
    return (directory / "report.html").read_text(encoding="utf-8").replace(str(directory), "RUN")


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("engine", ["process", "spark"])
def test_it_is_judged_as_json_lines(highwater: Any, failed_run: Path, parquet_run: Path, engine: str) -> None:
    assert not list(parquet_run.glob("history/*.jsonl"))
    assert without_timing(parquet_run) == without_timing(failed_run)
    rows = [highwater("check", run, "--engine", engine, "--json").json for run in (failed_run, parquet_run)]
    assert rows[0]["valid"] is False
    of_each = {"path": "", "run_id": ""}
    assert rows[0] | of_each == rows[1] | of_each


def test_its_report_is_the_same(failed_run: Path, parquet_run: Path) -> None:
    lines, parquet = report_of(failed_run).splitlines(), report_of(parquet_run).splitlines()
    # How to run it again names the run.
    differing = [pair for pair in zip(lines, parquet, strict=True) if pair[0] != pair[1]]
    assert all(failed_run.name in first or "highwater" in first for first, _ in differing), differing


STALE_READS = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: registers}
spec:
  seed: 1
  timeout: 1m
  cluster: {brokers: 2, controllers: 3, topics: [{name: orders, partitions: 1, assignment: [[0, 1]]}]}
  workload: {producers: 1, rate: 20/s, metadata: {writers: 2, readers: 4, rate: 100/s, reads: stale}}
  schedule:
    - inject:
        for: 1s
        delay: {rpc: Fetch, to: {all: controllers}, of: response, by: 300ms}
    - wait: 1s
  checks: [all]
"""
"""Nodes that lag answer reads that need not be linearizable."""


@pytest.fixture(scope="module")
def register_runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Stale reads of registers, with JSON Lines and with Parquet tables; not to be changed."""
    from highwater_chaos.cli import execute

    folder = tmp_path_factory.mktemp("registers")
    file = folder / "registers.yaml"
    file.write_text(STALE_READS, encoding="utf-8")
    runs = []
    for tables in ("jsonl", "parquet"):
        execute(["run", str(file), "--out", str(folder / tables), "--tables", tables])
        runs += (folder / tables).iterdir()
    return runs


@pytest.mark.thorough
@pytest.mark.spark
@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize("engine", ["process", "spark"])
def test_registers_are_judged_by_the_whole_tables(highwater: Any, register_runs: list[Path], engine: str) -> None:
    """No partition has the registers, so such a run has no units."""
    assert not (register_runs[1] / "units").exists()
    rows = [highwater("check", run, "--engine", engine, "--json").json for run in register_runs]
    assert rows[0] | {"path": "", "run_id": ""} == rows[1] | {"path": "", "run_id": ""}
    assert list(rows[0]["anomalies"]) == ["stale-read"]


def test_its_export_has_the_same_lines(highwater: Any, failed_run: Path, parquet_run: Path) -> None:
    done = highwater("export", parquet_run, "--out", "exports")
    assert done.status == 0, done.err
    exported = Path(done.out.strip())
    for name in ("history/operations.jsonl", "events/nodes.jsonl"):
        assert (exported / name).read_bytes() == (failed_run / name).read_bytes()
    records = [(run / "dumps" / "replica_log.jsonl").read_text().splitlines() for run in (exported, failed_run)]
    written, wanted = (
        [{name: value for name, value in json.loads(line).items() if value is not None} for line in lines]
        for lines in records
    )
    assert written == wanted
    assert not list(exported.rglob("units"))
    assert verify(exported) is not None
    rows = [highwater("check", run, "--json").json for run in (exported, parquet_run, failed_run)]
    assert rows[0]["run_id"] == rows[1]["run_id"] != rows[2]["run_id"], "the run has a key, and its export has the same"
    assert rows[0] | {"path": "", "run_id": ""} == rows[2] | {"path": "", "run_id": ""}
    again = highwater("export", failed_run, "--out", "exports")
    assert (again.status, "has JSON Lines already" in again.err) == (254, True)


@pytest.mark.thorough
def test_it_is_replayed_to_the_byte(highwater: Any, copy: Path) -> None:
    done = highwater("replay", copy)
    assert (done.status, "byte for byte" in done.out) == (0, True)
    file = copy / TABLES[1]
    table = pq.read_table(file)
    pq.write_table(table.slice(1), file)
    make_manifest(copy)
    done = highwater("replay", copy)
    assert (done.status, "events/nodes.parquet differ" in done.out) == (255, True)


@pytest.mark.thorough
def test_other_commands_take_it(highwater: Any, failed_run: Path, parquet_run: Path, copy: Path) -> None:
    lines = highwater("compare", failed_run, parquet_run, "--json").json["lines"]
    assert all(line["first"] == line["second"] for line in lines), lines
    shown = [highwater("truncations", run).out for run in (failed_run, parquet_run)]
    assert shown[0] == shown[1]
    assert highwater("shrink", copy, "--runs", "4").status == 0
    assert highwater("store", parquet_run, "--out", "store").status == 0
    assert highwater("check", "store").status == 1


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])


def drop_a_row_group(file: Path) -> None:
    table = pq.read_table(file, partitioning=None)
    with pq.ParquetWriter(file, table.schema) as writer:
        for start in range(100, table.num_rows, 100):
            writer.write_table(table.slice(start, 100))


def reorder(file: Path) -> None:
    table = pq.read_table(file, partitioning=None)
    pq.write_table(table.take(list(range(table.num_rows))[::-1]), file)


@pytest.mark.parametrize("damage", [Path.unlink, cut, drop_a_row_group, reorder])
def test_damage_is_refused(highwater: Any, copy: Path, damage: Callable[[Path], object]) -> None:
    """Whatever file it is, and though the verdict would still be a failure."""
    files = [*(copy / name for name in TABLES), *copy.glob("units/*/partition-orders-0.parquet")]
    assert len(files) == len(TABLES) * 2
    for file in files:
        good = file.read_bytes()
        damage(file)
        done = highwater("check", copy)
        assert (done.status, file.stem in done.err) == (254, True), (file, done)
        file.write_bytes(good)
    assert highwater("check", copy).status == 1


def test_what_says_what_is_there_is_no_less_needed(highwater: Any, copy: Path) -> None:
    (stored,) = copy.glob("units/stored.json")
    stored.unlink()
    assert highwater("check", copy).status == 254
    shutil.rmtree(copy / "units")
    assert highwater("check", copy).status == 254
    (copy / "run.json").unlink()
    assert highwater("check", copy).status == 254


def test_units_of_another_run_are_refused(highwater: Any, copy: Path, kafka_14139: str) -> None:
    """Even if all files are those that run.json lists: the verdict must be on one run."""
    file = highwater.write("other.yaml", kafka_14139)
    out = highwater.folder / "other"
    highwater("run", file, "--out", out, "--tables", "parquet", "--seed", "8")
    (other,) = out.iterdir()
    shutil.rmtree(copy / "units")
    shutil.copytree(other / "units", copy / "units")
    list_recordings(copy)
    done = highwater("check", copy)
    assert (done.status, "expected the run" in done.err) == (254, True)
