"""The benchmark ``scale`` in its smallest form, ours alone: it must not rot between the times that it is needed."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

ROOT = Path(__file__).parents[2]
MOST_SECONDS = 300
"""Of a machine that does much else."""
GONE_SECONDS = 60

PARTITIONS = ("partitions", "--partitions", "10", "--session", "1.5", "--minutes", "0.02", "--rate", "200")
OF_A_LIFE = {
    "whole after creation",
    "200 records/s: acknowledged",
    "killed broker: last leader moved",
    "killed broker: back in every ISR",
    "clean restart: whole",
    "unclean restart: whole",
    "memory of a broker (the largest)",
    "the longest turn of a loop, by /metrics",
}


def start(tmp_path: Path, *words: str) -> subprocess.Popen[str]:
    clusters = () if words[0] == "simulator" else ("--without-apache-kafka", "--warm", "0.1", "--idle", "0.2")
    return subprocess.Popen(
        [sys.executable, "-m", "highwater_lab.benchmarks.scale", *words, *clusters],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def figures_of(tmp_path: Path, *words: str) -> dict[str, dict[str, Any]]:
    """Headlines of the table that a run writes: the figures of ours by size."""
    out = tmp_path / "figures.json"
    with start(tmp_path, *words, "--json", str(out)) as benchmark:
        try:
            printed, errors = benchmark.communicate(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            benchmark.send_signal(signal.SIGTERM)  # so that it stops its nodes
            raise
    assert benchmark.returncode == 0, errors
    rows = json.loads(out.read_text())["tables"][0]["rows"]
    assert all(row["what"] in printed for row in rows)
    return {
        row["what"]: {size: next(iter(values.values())) for size, values in row["figures"].items()}
        for row in rows
        if not row["of"]
    }


@pytest.mark.thorough
def test_a_cluster_lives_through_all_phases(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, *PARTITIONS)

    assert figures.keys() >= OF_A_LIFE
    for what in OF_A_LIFE:
        found = figures[what]["10"]
        assert isinstance(found, dict)
        assert found["figure"] > 0, what
        assert not found["atLeast"], f"{what}: a wait was given up"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("kind", "size", "headline"),
    [
        ("members", "3", "one has left: the others have their assignment"),
        ("producer-ids", "5", "brokers restarted (unclean): they serve"),
        ("connections", "3", "each asks at once"),
        ("controller-records", "100", "a broker killed and started: it serves again"),
    ],
)
def test_each_kind_of_thing_is_made_and_measured(tmp_path: Path, kind: str, size: str, headline: str) -> None:
    figures = figures_of(tmp_path, kind, "--sizes", size)

    assert size in figures[headline]


@pytest.mark.thorough
def test_sizes_are_compared_with_equal_load(tmp_path: Path) -> None:
    figures = figures_of(tmp_path, "simulator", "--partitions", "3,30")

    assert [one["figure"] for one in figures["acknowledged"].values()] == [pytest.approx(2600, rel=0.01)] * 2
    assert figures["processor time of the run"].keys() == {"3", "30"}
    assert figures["growth since the size before"].keys() == {"30"}


@pytest.mark.skipif(not shutil.which("setpriv"), reason="needs setpriv: nodes end with the benchmark by its help")
@pytest.mark.parametrize("number", [pytest.param(signal.SIGTERM, marks=pytest.mark.thorough), signal.SIGKILL])
def test_no_node_is_left_behind(tmp_path: Path, number: signal.Signals) -> None:
    """However the benchmark ends while its cluster runs."""
    with start(tmp_path, *PARTITIONS) as benchmark:
        assert benchmark.stderr is not None
        assert "warming up" in benchmark.stderr.readline()
        nodes = psutil.Process(benchmark.pid).children(recursive=True)
        assert len(nodes) == 4

        benchmark.send_signal(number)
        benchmark.communicate(timeout=MOST_SECONDS)

    _, alive = psutil.wait_procs(nodes, timeout=GONE_SECONDS)
    for node in alive:
        node.kill()
    assert not alive
