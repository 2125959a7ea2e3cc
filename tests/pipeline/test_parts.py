"""A run that is read part by part, and written away by partition, is judged as one that is in memory as a whole."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_pipeline.arrow import columns
from highwater_pipeline.checks.columns import of_kind
from highwater_pipeline.in_process import check_run
from highwater_pipeline.partitions import spool
from highwater_pipeline.partitions.partition_tables import split, unit_of
from highwater_pipeline.tables import files
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.rows import MicroOp, Operation
from highwater_pipeline.tables.run_tables import RunParts, RunTables, load_run, open_run
from highwater_pipeline.tables.schemas import BY_PARTITION


@contextmanager
def nothing_kept_in_memory() -> Iterator[None]:
    """Every part is written away as soon as it has been read."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(spool, "LIMIT", -1)
        yield


@contextmanager
def no_table_is_small() -> Iterator[None]:
    """Nothing is put together with other partitions, and nothing that was made of a table is made once."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(columns, "SMALL", -1)
        patched.setattr(spool, "SMALL", -1)
        yield


def _cut(table: pa.Table | None, rows: int) -> list[pa.Table] | None:
    return None if table is None else [table.slice(start, rows) for start in range(0, table.num_rows, rows)]


def in_parts(tables: RunTables, rows: int) -> RunParts:
    """A run in parts of so many rows."""
    operations = _cut(tables.operations, rows)
    assert operations is not None
    return replace(
        tables.parts(),
        operations=operations,
        node_events=_cut(tables.node_events, rows),
        replica_log=_cut(tables.replica_log, rows),
    )


@pytest.mark.quick(
    "nodes_crash",
    "two_polls_skip",
    "retention_takes_too_much",
    "two_nodes_one_epoch",
    "stray_log_stays",
    "sent_to_another_partition",
)
def test_every_story_is_judged_alike(sample: Any) -> None:
    tables = sample.build().tables(sample.name)
    whole = check_run(tables).to_json()
    assert check_run(in_parts(tables, 3)).to_json() == whole
    with no_table_is_small():
        assert check_run(tables).to_json() == whole
    with nothing_kept_in_memory():
        assert check_run(in_parts(tables, 1)).to_json() == whole


@st.composite
def histories(draw: Any) -> list[Operation]:
    """What three processes did at the same time: operations stay open over many rows, or for ever; outcomes are not
    known; one transaction writes to two partitions; consumers are assigned and subscribe in between."""
    rows: list[Operation] = []
    open_now: dict[int, Operation] = {}
    for index in range(draw(st.integers(0, 30))):
        process = draw(st.integers(0, 2))
        begun = open_now.pop(process, None)
        if begun is not None:
            kind = draw(st.sampled_from(["ok", "ok", "fail", "info"]))
            value = begun.value if kind == "ok" or draw(st.booleans()) else None
            rows.append(Operation(index, index, process, kind, begun.f, value, f"client-{process}"))
            continue
        f = draw(st.sampled_from(["send", "send", "poll", "poll", "txn", "assign", "subscribe"]))
        op = {"txn": "send", "subscribe": "assign"}.get(f, f)
        value = [
            MicroOp(op, draw(st.sampled_from(["a-0", "b-0"])), draw(st.integers(0, 5)), draw(st.integers(1, 6)))
            for _ in range(draw(st.integers(0, 2)))
        ]
        open_now[process] = Operation(index, index, process, "invoke", f, value, f"client-{process}")
        rows.append(open_now[process])
    return rows


@settings(max_examples=100)
@given(histories(), st.integers(1, 9))
def test_units_do_not_depend_on_parts(new_story: Any, operations: list[Operation], rows: int) -> None:
    story = new_story().moves_hw(0, 3)
    story.operations = operations
    tables = story.tables()
    facts, units = split(tables)
    with nothing_kept_in_memory():
        facts_of_parts, units_of_parts = split(in_parts(tables, rows))
        assert facts_of_parts == facts
        assert list(units_of_parts) == list(units)


ROW = st.fixed_dictionaries(
    {"partition": st.none() | st.sampled_from(["a-0", "a-1", "a-10", "a-2", "b-0"]), "kind": st.sampled_from("xyz")}
)


@given(st.lists(ROW, max_size=30), st.integers(-1, 20), st.permutations(["a-0", "a-1", "a-10", "a-2", "b-0", "c-0"]))
def test_partitions_that_are_put_together_are_as_they_are_alone(
    rows: list[dict[str, Any]], small: int, asked: list[str]
) -> None:
    """Whatever a small table holds, and whichever is asked for next."""
    for number, row in enumerate(rows):
        row["row"] = number
    schema = pa.schema([("partition", pa.string()), ("kind", pa.string()), ("row", pa.int64())])
    whole = spool.Spool(schema, is_shared=lambda table: pc.is_null(table["partition"]).to_numpy())
    whole.add(pa.Table.from_pylist(rows, schema))
    whole.close()
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(columns, "SMALL", small)
        patched.setattr(spool, "SMALL", small)
        for partition in (*sorted(asked), *asked):
            found = whole.of(partition)
            theirs = [row for row in rows if row["partition"] in (partition, None)]
            assert found.num_rows == len(theirs)
            assert found.to_pylist() == theirs == found.to_arrow().to_pylist()
            assert found.ints("row", -1).tolist() == found.values("row") == [row["row"] for row in theirs]
            some = of_kind(found, "x", "z")
            assert some.to_pylist("row") == [{"row": row["row"]} for row in theirs if row["kind"] != "y"]
            assert of_kind(some, "x").values("row") == [row["row"] for row in theirs if row["kind"] == "x"]
            assert found.slice(1, 2).to_pylist() == theirs[1:3]
            assert found.slice(9).to_pylist() == theirs[9:]
            with pytest.raises(IndexError):
                found.row(len(theirs))


def test_an_event_of_the_cluster_that_names_a_partition_is_there_once(story: Any) -> None:
    """However often a unit is put together: Spark does it again, of what one task has split."""
    facts, units = split(story.send(1, at=0).event("broker-0", "node-started", partition="orders-0").tables())
    (unit,) = units
    again = unit_of(facts, unit.partition, [(name, getattr(unit, name).to_arrow()) for name in BY_PARTITION])
    assert unit.events.num_rows == 1
    assert again.events == unit.events


def test_files_are_read_in_parts(story: Any, tmp_path: Path) -> None:
    for value in range(1, 60):
        story.send(value, at=value - 1).moves_hw(0, value)
    run = story.poll(*((value - 1, value) for value in range(1, 59))).write(tmp_path / "run")
    whole = check_run(load_run(run)).to_json()
    with pytest.MonkeyPatch.context() as patched, nothing_kept_in_memory():
        patched.setattr(files, "_PART", 300)
        assert check_run(open_run(run)).to_json() == whole


def test_an_impossible_history_is_told_by_its_line(story: Any, tmp_path: Path) -> None:
    run = story.send(1, at=0).send(2, at=1).write(tmp_path / "run")
    file = run / "history" / "operations.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join([*lines[:2], lines[3]]))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(files, "_PART", 50)
        with pytest.raises(BadTableError, match=r"operations:3: expected process \d+ to have an open operation"):
            check_run(open_run(run))


ONE, OTHER = MicroOp("send", "a-0", None, 1), MicroOp("send", "b-0", None, 2)


@pytest.mark.parametrize("kind", ["ok", "fail", "info"])
@pytest.mark.parametrize(
    ("said", "found"),
    [
        ([ONE], "1 to a-0"),
        ([OTHER, ONE], "2 to b-0, 1 to a-0"),
        ([ONE, MicroOp("send", "b-0", None, 3)], "1 to a-0, 3 to b-0"),
        ([ONE, MicroOp("send", "a-0", None, 2)], "1 to a-0, 2 to a-0"),
        ([MicroOp("poll", "a-0", 1, 1)], "no send"),
        (None, "no send"),
    ],
)
def test_an_outcome_is_of_all_that_was_sent(new_story: Any, kind: Any, said: list[MicroOp] | None, found: str) -> None:
    """The record of which it says nothing may be lost, and no check would miss it. Only ``ok`` has to say something."""
    story = new_story()
    story.operations = [
        Operation(0, 0, 1, "invoke", "txn", [ONE, OTHER]),
        Operation(1, 1, 1, kind, "txn", said),
        Operation(2, 2, 2, "invoke", "txn"),
        Operation(3, 3, 2, "ok", "txn", [OTHER]),
    ]
    run = in_parts(story.tables(), 1)
    if said is None and kind != "ok":
        assert check_run(run).stats["operations"] == 2
        return
    expected = rf"operations:2: .* invocation sent, 1 to a-0, 2 to b-0, found {found}$"
    with pytest.raises(BadTableError, match=expected):
        check_run(run)
