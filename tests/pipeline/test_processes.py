"""A run of a store that several processes judge at once."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from highwater_pipeline import judge
from highwater_pipeline.files import BadTable
from highwater_pipeline.judge import judge_stored
from highwater_pipeline.processes import shares
from highwater_pipeline.store import StoredRun, StoredUnit, open_stored_run, write_units


@pytest.fixture
def stored(new_story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredRun:
    """Three partitions, in each of which another value was read than was sent; any run is large."""
    monkeypatch.setattr(judge, "_FOR_PROCESSES", 0)
    story = new_story()
    for number in range(3):
        story.send(number, at=0, key=f"orders-{number}").poll((0, 7), key=f"orders-{number}")
    return open_stored_run(write_units(story.tables(), tmp_path))


def _processes(least: int = 1) -> list[psutil.Process]:
    """The processes that judge, if there are so many."""
    servers = [one for one in psutil.Process().children() if "forkserver" in " ".join(one.cmdline())]
    found = [one for server in servers for one in server.children()]
    return found if len(found) >= least else []


def _until(what: Callable[[], Any]) -> Any:
    """What there is as soon as there is something; half a minute at most."""
    for _ in range(3000):
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come")


def test_they_find_what_one_finds(stored: StoredRun) -> None:
    alone = judge_stored(stored)
    assert alone.verdict == "fail"
    assert alone.anomalies
    for jobs in (2, 9):
        assert judge_stored(stored, jobs).to_json() == alone.to_json()


def test_what_one_cannot_read_is_said(stored: StoredRun) -> None:
    (stored.units[1].directory / "history.parquet").write_bytes(b"no table")
    with pytest.raises(BadTable, match=r"orders-1/history\.parquet: expected"):
        judge_stored(stored, 2)


def test_one_that_is_killed_is_said_and_the_others_end(stored: StoredRun) -> None:
    """Every process waits for a table of its first unit, which is a pipe that nobody writes to."""
    for unit in stored.units:
        history = Path(str(unit.directory)) / "history.parquet"
        history.unlink()
        os.mkfifo(history)
    killer = threading.Thread(target=lambda: _until(lambda: _processes(2)).pop().kill())
    killer.start()
    with pytest.raises(ChildProcessError, match=rf"ended \(signal {signal.SIGKILL.name}\).*try --jobs 1"):
        judge_stored(stored, 2)
    killer.join()
    assert not _processes()


def test_each_gets_about_as_many_rows() -> None:
    units = [StoredUnit(Path(), f"orders-{n}", {"history": n, "events": 1}) for n in (1, 2, 2, 8, 9)]
    assert [sorted(int(unit.partition[-1]) for unit in share) for share in shares(units, 2)] == [[2, 9], [1, 2, 8]]
    assert len(shares(units, 9)) == len(units)
