"""A store gives units back as they were split, and refuses what was not written to its end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from highwater_pipeline.arrow.merged_rows import MergedRows
from highwater_pipeline.in_process import check_run, check_stored
from highwater_pipeline.partitions import store, stored_table
from highwater_pipeline.partitions.partial_directory import partial_directory
from highwater_pipeline.partitions.partition_tables import RunFacts, split
from highwater_pipeline.partitions.store import open_stored_run, read_unit, stored_runs, write_units
from highwater_pipeline.tables.files import BadTableError
from highwater_pipeline.tables.run_tables import open_run
from highwater_pipeline.tables.schemas import BY_PARTITION, WHOLE


def test_units_come_back(story: Any, tmp_path: Path) -> None:
    story.send(1, at=0).send(2, at=0, key="a/b=c-0").moves_hw(0, 1).registered(1, epoch=4).dump(0, (0, 0, 1))
    tables = story.tables("a run, with=odd/name")
    write_units(tables, tmp_path)
    facts, units = split(tables)
    (run,) = stored_runs(tmp_path)
    assert run.facts == facts
    assert [read_unit(facts, unit) for unit in run.units] == list(units)


@pytest.mark.parametrize("group", [1, 2, 100])
def test_a_column_that_is_the_same_in_all_rows_of_a_group_is_not_read(
    story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, group: int
) -> None:
    """The file's statistics say what it has. In a group of one row only lists are read."""
    monkeypatch.setattr(store, "LARGE", -1)
    monkeypatch.setattr(store, "GROUP", group)
    read: set[str] = set()
    really_read = stored_table.StoredTable._read
    monkeypatch.setattr(
        stored_table.StoredTable, "_read", lambda self, number, name: read.add(name) or really_read(self, number, name)
    )
    story.send(1, at=0).send(2, at=1).poll((0, 1)).moves_hw(0, 1).registered(1, epoch=4).dump(0, (0, 0, 1), (1, 0, 2))
    write_units(story.tables(), tmp_path)
    (run,) = stored_runs(tmp_path)
    for stored in run.units:
        unit = read_unit(run.facts, stored)
        for table in BY_PARTITION:
            whole = pq.read_table(stored.path(table), partitioning=None)
            if table == "events":
                cluster = pq.read_table(stored.home.others, partitioning=None)
                assert cluster.num_rows == 1
                whole = pa.concat_tables([whole, cluster]).sort_by("row").combine_chunks()
            view = getattr(unit, table)
            assert view.to_arrow().equals(whole)
            for field in whole.schema:
                values = whole[field.name].to_pylist()
                assert view._columns.table.column(field.name).to_pylist() == values
                if pa.types.is_string(field.type):
                    assert view.words(field.name) == list(dict.fromkeys(word for word in values if word is not None))
    lists = {field.name for schema in BY_PARTITION.values() for field in schema if pa.types.is_list(field.type)}
    assert (read == lists) == (group == 1)


def test_events_of_the_cluster_stand_at_their_places(
    story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a large table, read part by part: some parts have such events, others have none."""
    monkeypatch.setattr(store, "LARGE", -1)
    monkeypatch.setattr(store, "GROUP", 3)
    story.registered(0, epoch=2).registered(1, epoch=3)
    for hw in range(1, 8):
        story.moves_hw(0, hw)
    story.registered(2, epoch=4).moves_hw(0, 8).moves_hw(0, 9).registered(1, epoch=9)
    write_units(story.send(1, at=0).tables(), tmp_path)
    (run,) = stored_runs(tmp_path)
    rows: Any = read_unit(run.facts, run.units[0]).events._columns.table
    _, (unit,) = split(story.tables())
    whole = unit.events.to_arrow()
    assert isinstance(rows, MergedRows)
    assert rows.starts == [0, 5, 8, 13], "two before the first part, none in the second, two in the last"
    back = np.arange(whole.num_rows)[::-1]
    assert rows.take(pa.array(back), whole.schema.names).equals(whole.take(pa.array(back)))
    for name in whole.schema.names:
        assert rows.column(name).to_pylist() == whole[name].to_pylist()
        for part, (start, end) in enumerate(pairwise(rows.starts)):
            wanted = whole[name].slice(start, end - start).to_pylist()
            assert rows.some(name, part, slice(1, 3)).to_pylist() == wanted[1:3]
            if pa.types.is_integer(whole[name].type):
                array = np.empty(end - start, np.int64)
                rows.fill(array, name, part, slice(None), -1)
                assert array.tolist() == [-1 if value is None else value for value in wanted]
            if pa.types.is_string(whole[name].type):
                assert rows.words(name, part) == list(dict.fromkeys(word for word in wanted if word is not None))


def test_what_an_earlier_version_wrote_is_judged(story: Any, tmp_path: Path) -> None:
    """Its files lack a column, of which all rows count as null."""
    write_units(story.send(1, at=0).send(2, at=1).poll((0, 1), (1, 2)).dump(0, (0, 0, 1), (1, 0, 2)).tables(), tmp_path)
    for path in tmp_path.rglob("*.parquet"):
        table = pq.read_table(path)
        pq.write_table(table.drop_columns([name for name in table.column_names if name == "altered"]), path)
    (run,) = stored_runs(tmp_path)
    assert check_stored(run) == check_run(story.tables())


def test_a_run_that_was_not_written_to_its_end(story: Any, tmp_path: Path) -> None:
    directory = write_units(story.send(1, at=0).tables(), tmp_path)
    (tmp_path / "stored" / f"{directory.name}.json").unlink()
    with pytest.raises(BadTableError, match=r"expected the entry of a run that was written to its end"):
        open_stored_run(directory)


def test_a_damaged_page_is_not_judged(story: Any, tmp_path: Path, thorough: bool) -> None:
    """Whichever byte of it: a value that was never written could make a run that failed pass. ``make test`` damages one
    byte of five."""
    story.send(1, at=0).send(2, at=1).poll((0, 1))
    write_units(story.tables(), tmp_path)
    (run,) = stored_runs(tmp_path)
    written = read_unit(run.facts, run.units[0])
    path = Path(str(run.units[0].path("history")))
    whole = path.read_bytes()
    refused = 0
    for place in range(4, len(whole) - 8 - pq.read_metadata(path).serialized_size, 1 if thorough else 5):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0x11]) + whole[place + 1 :])
        try:
            assert read_unit(run.facts, run.units[0]) == written
        except BadTableError:
            refused += 1
    assert refused > 0


def test_names_of_249_characters(story: Any, tmp_path: Path) -> None:
    """A directory's name has at most 255 bytes; two partitions of one topic stay two."""
    topic = "t" * 249
    story.send(1, at=0, key=f"{topic}-0").send(2, at=0, key=f"{topic}-1")
    story.poll((0, 1), key=f"{topic}-0").poll((0, 2), key=f"{topic}-1")
    tables = story.tables("é" * 255)
    write_units(tables, tmp_path)
    (run,) = stored_runs(tmp_path)
    assert [unit.partition for unit in run.units] == [f"{topic}-0", f"{topic}-1"]
    assert check_stored(run).to_json() == check_run(tables).to_json()


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])


def keep_one_row(file: Path) -> None:
    _rewrite(file, pq.read_table(file, partitioning=None).slice(0, 1))


def add_a_row(file: Path) -> None:
    """Of nulls: what is looked at does not say which columns may have them."""
    schema = pq.read_schema(file)
    nullable = pa.schema([field.with_nullable(True) for field in schema], schema.metadata)
    _rewrite(file, pa.Table.from_arrays([pa.nulls(1, field.type) for field in schema], schema=nullable))


def rename_a_column(file: Path) -> None:
    table = pq.read_table(file, partitioning=None)
    _rewrite(file, table.rename_columns(["odd", *table.column_names[1:]]))


def change_a_type(file: Path) -> None:
    table = pq.read_table(file, partitioning=None)
    at = table.schema.get_field_index("row")
    _rewrite(file, table.set_column(at, "row", table["row"].cast("float64")))


def take_from_another_run(file: Path) -> None:
    shutil.copy(file.parents[1] / "run_id=other" / file.name, file)


def take_from_another_partition(file: Path) -> None:
    shutil.copy(file.with_name("partition-a-0.parquet"), file)


def _rewrite(file: Path, table: pa.Table) -> None:
    pq.write_table(table, file)


DAMAGES: list[tuple[Callable[[Path], object], str]] = [
    (Path.unlink, "No such file"),
    (lambda file: shutil.rmtree(file.parent), "No such file"),
    (lambda file: file.write_bytes(b""), "expected a table of a store, found: Parquet file size is 0 bytes"),
    (cut, "expected a table of a store, found"),
    (lambda file: file.write_bytes(b'{"index":0}\n'), "expected a table of a store, found"),
    (keep_one_row, "expected [0-9]+ rows, as stored says, found 1"),
    (rename_a_column, "expected the columns .*, found odd"),
    (change_a_type, r"expected the columns .*row \(int64\).*, found .*row \(double\)"),
    (take_from_another_run, "expected run 'run', found 'other'"),
    (take_from_another_partition, "expected partition 'orders-0', found 'a-0'"),
]


def _stored(new_story: Any, store: Path) -> Path:
    """A run that lost a value of its second partition, beside one of the same shape that lost none."""
    for name, last in (("run", 3), ("other", 2)):
        story = new_story().send(9, at=0, key="a-0").send(8, at=1, key="a-0").poll((0, 9), (1, 8), key="a-0")
        story.send(1, at=0).send(2, at=1).send(3, at=2).poll((0, 1), (last - 1, last)).moves_hw(0, 2).moves_hw(0, 3)
        story.dump(0, (0, 0, 1), (1, 0, 2), (2, 0, 3))
        write_units(story.tables(name), store)
    return store / "runs" / "run_id=run"


@pytest.mark.parametrize("table", ["history", "events", "replica_log"])
@pytest.mark.parametrize(("damage", "error"), DAMAGES)
def test_what_is_missing_from_a_store_is_no_pass(
    new_story: Any, tmp_path: Path, table: str, damage: Callable[[Path], object], error: str
) -> None:
    """The lost value stands in the second partition: without its rows nothing would be found."""
    directory = _stored(new_story, tmp_path)
    assert check_stored(open_stored_run(directory)).verdict == "fail"
    damage(tmp_path / table / "run_id=run" / "partition-orders-0.parquet")
    with pytest.raises(
        BadTableError,
        match=rf"(history|{table})/run_id=run/partition-\w+-0\.parquet: expected.*{error.removeprefix('expected')}",
    ):
        check_stored(open_stored_run(directory))


@pytest.mark.parametrize("table", WHOLE)
@pytest.mark.parametrize(
    ("damage", "error"),
    [
        (Path.unlink, "expected a table of a store, found"),
        (lambda file: shutil.rmtree(file.parent), "expected a table of a store, found"),
        (cut, "expected a table of a store, found"),
        (take_from_another_run, "expected run 'run', found 'other'"),
        (add_a_row, "expected 0 rows, as stored says, found 1"),
        (rename_a_column, "expected the columns .*, found odd"),
    ],
)
def test_other_tables_of_a_run_are_those_that_were_written(
    new_story: Any, tmp_path: Path, table: str, damage: Callable[[Path], object], error: str
) -> None:
    """A run is in the list of runs even if its row of the table ``runs`` is gone."""
    _stored(new_story, tmp_path)
    assert len(stored_runs(tmp_path)) == 2
    damage(tmp_path / table / "run_id=run" / "whole.parquet")
    with pytest.raises(BadTableError, match=f"{table}/run_id=run/whole.parquet: {error}"):
        stored_runs(tmp_path)


@pytest.mark.parametrize("table", [*BY_PARTITION, *WHOLE])
def test_a_file_that_nobody_stored_is_refused(new_story: Any, tmp_path: Path, table: str) -> None:
    """Whoever reads the table reads it, too."""
    directory = _stored(new_story, tmp_path)
    files = sorted((tmp_path / table / "run_id=run").iterdir())
    shutil.copy(files[0], files[0].with_name("_passed-over.parquet"))
    open_stored_run(directory)
    shutil.copy(files[0], files[0].with_name("more.parquet"))
    with pytest.raises(BadTableError, match=f"{table}/run_id=run/more.parquet: expected no file .* remove it$"):
        open_stored_run(directory)


def test_a_run_of_a_store_has_one_name(new_story: Any, tmp_path: Path) -> None:
    """A copy would be judged twice, as the same run."""
    _stored(new_story, tmp_path)
    for path in [*tmp_path.glob("*/run_id=run"), *tmp_path.glob("*/run_id=run.json")]:
        copy = path.with_name(path.name.replace("=run", "=copy"))
        (shutil.copytree if path.is_dir() else shutil.copy)(path, copy)
    with pytest.raises(BadTableError, match=r"run_id=copy.json: expected .* of run_id=copy, found that of run_id=run$"):
        stored_runs(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: "",
        lambda text: text[: len(text) // 2],
        lambda text: text.replace('"version":3', '"version":1'),
        lambda text: text.replace('"units"', '"parts"'),
        lambda text: "[]",
    ],
)
def test_what_a_store_says_of_a_run_is_read_strictly(
    new_story: Any, tmp_path: Path, damage: Callable[[str], str]
) -> None:
    directory = _stored(new_story, tmp_path)
    file = tmp_path / "stored" / "run_id=run.json"
    file.write_text(damage(file.read_text()))
    with pytest.raises(BadTableError, match=r"run_id=run\.json: expected the entry of a run that was written to"):
        open_stored_run(directory)


def test_a_store_of_an_empty_history_is_no_pass(new_story: Any, tmp_path: Path) -> None:
    write_units(new_story().tables(), tmp_path)
    run_verdict = check_stored(*stored_runs(tmp_path))
    assert run_verdict.verdict == "inconclusive"
    assert "the history has no operations" in run_verdict.reasons[0]


def test_a_run_that_cannot_be_read_leaves_nothing(story: Any, tmp_path: Path) -> None:
    run = story.send(1, at=0).write(tmp_path / "run")
    with (run / "history" / "operations.jsonl").open("ab") as file:
        file.write(b'{"index": ')
    with pytest.raises(BadTableError, match="torn line"):
        write_units(open_run(run), tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []


def test_a_store_of_an_earlier_version_is_refused(story: Any, tmp_path: Path) -> None:
    (tmp_path / "run_id=run").mkdir()
    (tmp_path / "run_id=run" / "stored.json").write_text('{"version":2}')
    refused = r"run_id=run: expected a run of a store as this version writes it, .*new"
    with pytest.raises(BadTableError, match=refused):
        stored_runs(tmp_path)
    with pytest.raises(BadTableError, match=r"run_id=run: expected a store as this version writes it; .*new"):
        write_units(story.tables("new"), tmp_path)
    shutil.rmtree(tmp_path / "run_id=run")
    write_units(story.tables("new"), tmp_path)
    (tmp_path / "run_id=run").mkdir()
    with pytest.raises(BadTableError, match=refused):  # beside one of this version
        stored_runs(tmp_path)


def test_what_a_killed_writer_left_is_no_part_of_a_run(story: Any, tmp_path: Path) -> None:
    """It gave some directories their names, and not the entry of the run."""
    write_units(story.send(1, at=0).send(2, at=1).tables(), tmp_path)
    (tmp_path / "stored" / "run_id=tiny.json").unlink()
    (tmp_path / "history" / "run_id=tiny" / "partition-orders-7.parquet").write_bytes(b"torn")
    with partial_directory(tmp_path) as living:
        shutil.copytree(tmp_path / "events", tmp_path / ".partial-of-a-killed-one")
        write_units(story.tables(), tmp_path)
        assert list(tmp_path.glob(".*")) == [living]
    (run,) = stored_runs(tmp_path)
    assert check_stored(run) == check_run(story.tables())
    assert [path.name for path in tmp_path.glob("history/*/*")] == ["partition-orders-0.parquet"]
    assert not list(tmp_path.glob(".*"))


def test_every_table_has_one_schema_in_every_run(new_story: Any, tmp_path: Path) -> None:
    """With rows or without; events of the cluster are there once, whatever the number of partitions."""
    story = new_story().send(1, at=0, key="a-0").send(2, at=0, key="b-0").registered(1, epoch=4).moves_hw(0, 1)
    story.event("broker-0", "transition", partition="", reason="x")
    write_units(story.tables("one"), tmp_path)
    write_units(new_story().tables("two"), tmp_path)
    for name, schema in (BY_PARTITION | WHOLE).items():
        files = sorted(tmp_path.glob(f"{name}/*/*.parquet"))
        assert {file.parent.name for file in files} == {"run_id=one", "run_id=two"}, name
        for file in files:
            found = pq.read_schema(file)
            assert found.equals(schema), (name, found)
            assert (found.metadata[b"highwater.table"], found.metadata[b"highwater.schemas"]) == (name.encode(), b"1")
        assert pq.read_table(tmp_path / name).schema.names == [*schema.names, "run_id"]
    events = pq.read_table(tmp_path / "events")
    assert sorted(events["seq"].to_pylist()) == sorted(event.seq for event in story.events)
    assert set(events["partition"].to_pylist()) == {"orders-0", None}


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(BadTableError, match="expected a store"):
        stored_runs(tmp_path)


def test_a_run_is_never_written_over(story: Any, tmp_path: Path) -> None:
    write_units(story.tables(), tmp_path)
    with pytest.raises(FileExistsError):
        write_units(story.tables(), tmp_path)


def test_of_two_that_write_a_run_at_once_the_first_stays(story: Any, tmp_path: Path) -> None:
    tables, inodes = story.send(1, at=0).tables(), set[int]()

    def meanwhile(facts: RunFacts) -> RunFacts:
        write_units(tables, tmp_path)
        inodes.update(path.stat().st_ino for path in tmp_path.glob("[a-z]*/*/*.parquet"))
        return facts

    with pytest.raises(FileExistsError, match="has this run already"):
        write_units(tables, tmp_path, complete=meanwhile)
    assert {path.stat().st_ino for path in tmp_path.glob("[a-z]*/*/*.parquet")} == inodes
