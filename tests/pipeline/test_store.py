"""A store gives units back as they were split, and refuses what was not written to its end."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from highwater_pipeline.files import BadTable
from highwater_pipeline.store import read_unit, stored_runs, write_units
from highwater_pipeline.units import split


def test_units_come_back(story: Any, tmp_path: Path) -> None:
    story.send(1, at=0).send(2, at=0, key="a/b=c-0").moves_hw(0, 1).registered(1, epoch=4).dump(0, (0, 0, 1))
    tables = story.tables("a run, with=odd/name")
    write_units(tables, tmp_path)
    facts, units = split(tables)
    (run,) = stored_runs(tmp_path)
    assert run.facts == facts
    assert [read_unit(facts, directory) for directory in run.units] == list(units)


def test_a_run_that_was_not_written_to_its_end(story: Any, tmp_path: Path) -> None:
    directory = write_units(story.send(1, at=0).tables(), tmp_path)
    (directory / "facts.json").unlink()
    with pytest.raises(BadTable, match=r"expected facts\.json of a run that was written to its end"):
        stored_runs(tmp_path)


def test_no_store(tmp_path: Path) -> None:
    with pytest.raises(BadTable, match="expected a store"):
        stored_runs(tmp_path)


def test_a_run_is_never_written_over(story: Any, tmp_path: Path) -> None:
    write_units(story.tables(), tmp_path)
    with pytest.raises(FileExistsError):
        write_units(story.tables(), tmp_path)
