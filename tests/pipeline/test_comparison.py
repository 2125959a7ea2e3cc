"""The histories of the comparison with other engines have what was planted in them, and every engine finds it."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("engine", ["highwater, all checks", "highwater, five checks", "duckdb", "polars"])
def test_every_engine_finds_what_was_planted(engine: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if engine in ("duckdb", "polars") and find_spec(engine) is None:
        pytest.skip(f"{engine} is not installed")
    monkeypatch.syspath_prepend(ROOT)
    comparison = import_module("benchmarks.comparison")
    import_module("benchmarks.histories").write_store(tmp_path, 5_000, partitions=2, planted=3)
    counts = import_module("benchmarks.comparison_engine").counts(engine, tmp_path, master="local[1]", threads=1)
    expected = comparison.expected_counts(2 * 3, only=None if "all" in engine else comparison.FIVE)
    assert counts == expected | dict.fromkeys(counts.keys() - expected.keys(), 0)
