"""The programs of docs/data.md, run over a store of three runs of which two are equal in name and seed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.cli import execute

DATA = Path(__file__).parents[2] / "docs" / "data.md"


@pytest.fixture(scope="session")
def three_runs(tmp_path_factory: pytest.TempPathFactory, tiny: str, tiny_run: Path, failed_run: Path) -> Path:
    """Not to be changed."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "tiny.yaml").write_text(tiny, encoding="utf-8")
    assert execute(["run", str(folder / "tiny.yaml"), "--out", str(folder / "night")]) == 0
    assert (
        execute(["store", str(tiny_run), str(failed_run), str(folder / "night"), "--out", str(folder / "store")]) == 0
    )
    return folder / "store"


def rows_of(heading: str, store: Path) -> list[tuple[Any, ...]]:
    section = DATA.read_text(encoding="utf-8").split(f"\n### {heading}\n")[1]
    code = section.split("```python\n")[1].split("```")[0]
    assert len(code.splitlines()) <= 8
    names: dict[str, Any] = {}
    exec(compile(code.replace("STORE", str(store)), heading, "exec"), names)
    answer = names["answer"]
    match heading:
        case "pandas":
            return list(answer.sort_index().reset_index().itertuples(index=False, name=None))
        case "Polars":
            return list(answer.rows())
    return [tuple(row) for row in answer]


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_every_engine_gives_the_same_answer(three_runs: Path) -> None:
    wanted = rows_of("DuckDB", three_runs)
    assert [row[1:4] for row in wanted] in (
        [("tiny", 3, "pass"), ("kafka-14139", 7, "fail"), ("tiny", 3, "pass")],
        [("kafka-14139", 7, "fail"), ("tiny", 3, "pass"), ("tiny", 3, "pass")],
    )
    equal = [row[1:] for row in wanted if row[1] == "tiny"]
    assert equal[0] == equal[1], "the second run of a seed is another run with the same records"
    assert all(row[4] > 0 and row[5] > 0 for row in wanted)
    for engine in ("pandas", "Polars", "Spark SQL"):
        assert rows_of(engine, three_runs) == wanted, engine


def test_every_query_has_an_answer(three_runs: Path) -> None:
    import duckdb

    block = DATA.read_text(encoding="utf-8").split("```sql\n")[1].split("```")[0]
    for query in block.split(";")[:-1]:
        assert duckdb.sql(query.replace("STORE", str(three_runs))).fetchall(), query


def test_every_table_is_named(three_runs: Path) -> None:
    named = re.findall(r"^\| `(\w+)` \|", DATA.read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted({path.name for path in three_runs.iterdir()} - {"stored"})
