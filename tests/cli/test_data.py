"""The programs of docs/data.md, run over a store of three runs of which two are equal in name and seed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos import data
from highwater_chaos.cli import execute
from highwater_chaos.run.manifest import BadSummaryError

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


def test_the_notebook_runs(highwater: Any, failed_run: Path) -> None:
    """Cell by cell, in the directory of a run."""
    (highwater.folder / "runs").mkdir()
    (highwater.folder / "runs" / failed_run.name).symlink_to(failed_run)
    notebook = json.loads(DATA.with_name("run.ipynb").read_text(encoding="utf-8"))
    names: dict[str, Any] = {}
    for cell in notebook["cells"]:
        assert not cell.get("outputs")
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), "run.ipynb", "exec"), names)
    assert names["run"].run_id == json.loads((failed_run / "run.json").read_text())["runId"]
    assert "acknowledged records are gone" in names["run"].explain()
    assert {"steady", "fault"} <= names["latency"].keys()
    assert all(len(kinds) for kinds in names["meanwhile"].values())
    assert {"lost-write", "stale-isr-join"} <= set(names["findings"].index)


@pytest.mark.parametrize("of_store", [lambda store: store, lambda store: next((store / "runs").iterdir())])
def test_a_store_is_no_run(three_runs: Path, of_store: Callable[[Path], Path]) -> None:
    with pytest.raises(BadSummaryError, match=r"found a store or a run of one: read its tables as docs/data\.md shows"):
        data.load(of_store(three_runs))


@pytest.mark.spark
def test_runs_and_stores_are_judged_in_python(spark: Any, three_runs: Path, failed_run: Path) -> None:
    run = data.load(failed_run)
    verdicts = data.judge(spark, [failed_run, three_runs])
    assert sorted(one.verdict for one in verdicts) == ["fail", "fail", "pass", "pass"]
    assert verdicts[0].run_id == run.run_id in {one.run_id for one in verdicts[1:]}
    assert run.verdict["verdict"] == "fail"
    recorded = (run.operations, run.events, run.replica_log, run.faults, run.metric_samples)
    assert all(table is not None and table.num_rows for table in recorded)


def test_every_table_is_named(three_runs: Path) -> None:
    named = re.findall(r"^\| `(\w+)` \|", DATA.read_text(encoding="utf-8"), re.M)
    assert sorted(named) == sorted({path.name for path in three_runs.iterdir()} - {"stored"})
