"""The benchmark ``broker`` for a moment against one real broker: it must not rot between uses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROWS_AT_LEAST = 14
MOST_SECONDS = 300
"""Of a machine that does much else."""


@pytest.mark.thorough
def test_every_load_gets_through_and_every_figure_is_written(tmp_path: Path) -> None:
    """No threshold: only that each row has a figure, and rates are not nothing."""
    out = tmp_path / "figures.json"
    options = ["--without-apache-kafka", "--brokers", "1", "--seconds", "0.1", "--rounds", "1", "--warm", "0.1"]
    with subprocess.Popen(
        [sys.executable, "-m", "highwater_lab.benchmarks.broker", *options, "--json", str(out)],
        cwd=ROOT,
        env=os.environ | {"TMPDIR": str(tmp_path)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as benchmark:
        try:
            printed, errors = benchmark.communicate(timeout=MOST_SECONDS)
        except subprocess.TimeoutExpired:
            benchmark.send_signal(signal.SIGINT)  # so that it stops its nodes
            raise

    assert benchmark.returncode == 0, errors
    rows = json.loads(out.read_text())["rows"]
    assert len(rows) >= ROWS_AT_LEAST
    assert all(len(row["figures"]["highwater"]) == 1 for row in rows)
    rates = [row for row in rows if row["unit"] in ("records/s", "MB/s", "MiB", "ms")]
    assert all(row["figures"]["highwater"][0] > 0 for row in rates), rows
    assert all(row["what"] in printed for row in rows)
