"""The benchmark ``proxy`` for a moment: it must not rot between uses. No threshold but that memory does not grow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def benchmark(tmp_path: Path, *words: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "highwater_lab.benchmarks.proxy", *words],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.thorough
@pytest.mark.usefixtures("apache_kafka")
def test_the_cost_is_measured_in_pairs(tmp_path: Path) -> None:
    printed = benchmark(tmp_path, "cost", "--seconds", "0.2", "--rounds", "1", "--brokers", "1", "--warm", "0.2")
    for figure in ("records/s of 5000 offered", "p50 in ms at 5000 records/s", "records/s with 8 requests in flight"):
        (line,) = [line for line in printed.splitlines() if line.startswith(figure)]
        assert "with the proxy" in line
    assert "processor time of the leader's proxy" in printed


@pytest.mark.thorough
@pytest.mark.usefixtures("apache_kafka")
@pytest.mark.skipif(os.geteuid() != 0, reason="as root nodes are apart")
def test_the_soak_prints_the_memory_of_the_proxies(tmp_path: Path) -> None:
    printed = benchmark(tmp_path, "soak", "--minutes", "0.3", "--out", str(tmp_path))
    assert "6 proxies, MiB: " in printed
    assert "verdict pass" in printed
