"""A store gives units back as they were split, and refuses what was not written to its end."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from highwater_pipeline.files import BadTable
from highwater_pipeline.judge import judge_run, judge_stored
from highwater_pipeline.store import read_unit, stored_runs, write_units
from highwater_pipeline.tables import open_run
from highwater_pipeline.units import split


def test_units_come_back(story: Any, tmp_path: Path) -> None:
    story.send(1, at=0).send(2, at=0, key="a/b=c-0").moves_hw(0, 1).registered(1, epoch=4).dump(0, (0, 0, 1))
    tables = story.tables("a run, with=odd/name")
    write_units(tables, tmp_path)
    facts, units = split(tables)
    (run,) = stored_runs(tmp_path)
    assert run.facts == facts
    assert [read_unit(facts, unit) for unit in run.units] == list(units)


def test_a_run_that_was_not_written_to_its_end(story: Any, tmp_path: Path) -> None:
    directory = write_units(story.send(1, at=0).tables(), tmp_path)
    (directory / "stored.json").unlink()
    with pytest.raises(BadTable, match=r"expected stored\.json of a run that was written to its end"):
        stored_runs(tmp_path)


def test_names_of_249_characters(story: Any, tmp_path: Path) -> None:
    """A directory's name has at most 255 bytes; two partitions of one topic stay two."""
    topic = "t" * 249
    story.send(1, at=0, key=f"{topic}-0").send(2, at=0, key=f"{topic}-1")
    story.poll((0, 1), key=f"{topic}-0").poll((0, 2), key=f"{topic}-1")
    tables = story.tables("é" * 255)
    write_units(tables, tmp_path)
    (run,) = stored_runs(tmp_path)
    assert [unit.partition for unit in run.units] == [f"{topic}-0", f"{topic}-1"]
    assert judge_stored(run).to_json() == judge_run(tables).to_json()


def lose(file: Path) -> None:
    file.unlink()


def lose_partition(file: Path) -> None:
    shutil.rmtree(file.parent)


def truncate(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])


def lose_rows(file: Path) -> None:
    pq.write_table(pq.read_table(file, partitioning=None).slice(0, 1), file)


def rename_a_column(file: Path) -> None:
    table = pq.read_table(file, partitioning=None)
    pq.write_table(table.rename_columns(["odd", *table.column_names[1:]]), file)


@pytest.mark.parametrize("damage", [lose, lose_partition, truncate, lose_rows, rename_a_column])
def test_what_is_missing_from_a_store_is_no_pass(story: Any, tmp_path: Path, damage: Callable[[Path], None]) -> None:
    """The lost value stands in the second partition: without its rows nothing would be found."""
    story.send(9, at=0, key="a-0").poll((0, 9), key="a-0")
    story.send(1, at=0).send(2, at=1).send(3, at=2).poll((0, 1), (2, 3))
    directory = write_units(story.tables(), tmp_path)
    (run,) = stored_runs(tmp_path)
    assert judge_stored(run).verdict == "fail"
    damage(directory / "partition=orders-0" / "history.parquet")
    with pytest.raises(BadTable, match=r"partition=orders-0/history\.parquet: expected"):
        judge_stored(*stored_runs(tmp_path))


def test_a_run_that_cannot_be_read_leaves_nothing(story: Any, tmp_path: Path) -> None:
    run = story.send(1, at=0).write(tmp_path / "run")
    with (run / "history" / "operations.jsonl").open("ab") as file:
        file.write(b'{"index": ')
    with pytest.raises(BadTable, match="torn line"):
        write_units(open_run(run), tmp_path / "store")
    assert list((tmp_path / "store").iterdir()) == []


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(BadTable, match="expected a store"):
        stored_runs(tmp_path)


def test_a_run_is_never_written_over(story: Any, tmp_path: Path) -> None:
    write_units(story.tables(), tmp_path)
    with pytest.raises(FileExistsError):
        write_units(story.tables(), tmp_path)
