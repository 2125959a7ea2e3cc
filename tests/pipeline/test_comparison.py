"""The histories of the comparison with other engines have what was planted in them, and every engine finds it."""

from __future__ import annotations

from pathlib import Path

import pytest

from highwater_lab.benchmarks import comparison, comparison_engine, histories


@pytest.mark.parametrize("engine", ["highwater, all checks", "highwater, five checks", "duckdb", "polars"])
def test_every_engine_finds_what_was_planted(engine: str, tmp_path: Path) -> None:
    histories.write_store(tmp_path, 5_000, partitions=2, planted=3)
    counts = comparison_engine.counts(engine, tmp_path, master="local[1]", threads=1)
    expected = comparison.expected_counts(2 * 3, only=None if "all" in engine else comparison.FIVE)
    assert counts == expected | dict.fromkeys(counts.keys() - expected.keys(), 0)
