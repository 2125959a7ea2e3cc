"""A run of a store that several processes judge at once."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil
import pytest

from highwater_pipeline import in_process, processes
from highwater_pipeline.in_process import check_stored
from highwater_pipeline.partitions.store import Home, StoredRun, StoredUnit, open_stored_run, write_units
from highwater_pipeline.processes import shares
from highwater_pipeline.tables.files import BadTableError


@pytest.fixture
def stored(new_story: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> StoredRun:
    """Three partitions, each larger than the one before, in which another value was read than was sent. Any run is
    large."""
    monkeypatch.setattr(in_process, "_FOR_PROCESSES", 0)
    story = new_story()
    for number in range(3):
        story.send(number, at=0, key=f"orders-{number}")
        for _ in range(1 + 3 * number):
            story.poll((0, 7), key=f"orders-{number}")
    return open_stored_run(write_units(story.tables(), tmp_path))


def _processes(least: int = 1) -> list[psutil.Process]:
    """The processes that check, if there are so many."""
    found = []
    for one in psutil.Process().children():
        with suppress(psutil.Error):  # what another test has started may have ended
            if "spawn_main" in " ".join(one.cmdline()):
                found.append(one)
    return found if len(found) >= least else []


def _until(what: Callable[[], Any]) -> Any:
    """What there is as soon as there is something; half a minute at most."""
    for _ in range(3000):
        if found := what():
            return found
        time.sleep(0.01)
    raise AssertionError("it did not come")


def test_they_find_what_one_finds(stored: StoredRun) -> None:
    alone = check_stored(stored)
    assert alone.verdict == "fail"
    assert alone.anomalies
    for jobs in (2, 9):
        assert check_stored(stored, jobs).to_json() == alone.to_json()


def test_ctrl_c_at_the_start_of_a_process_says_nothing(
    stored: StoredRun, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a terminal it reaches all, and one that still imports would print where it was."""

    start = processes._CONTEXT.Process.start

    def interrupted(process: Any) -> None:
        start(process)
        status = Path(f"/proc/{process.pid}/status")
        # From then on Python handles it.
        _until(lambda: int(status.read_text().split("SigCgt:")[1].split()[0], 16) & 1 << signal.SIGINT - 1)
        os.kill(process.pid, signal.SIGINT)

    before = signal.pthread_sigmask(signal.SIG_BLOCK, set())
    monkeypatch.setattr(processes._CONTEXT.Process, "start", interrupted)
    with pytest.raises(ChildProcessError, match="signal 2"):
        check_stored(stored, 2)
    assert capfd.readouterr().err == ""
    assert signal.pthread_sigmask(signal.SIG_BLOCK, set()) == before, "and this process can be interrupted"


def test_what_one_cannot_read_is_said(stored: StoredRun) -> None:
    stored.units[1].path("history").write_bytes(b"no table")
    with pytest.raises(BadTableError, match=r"orders-1\.parquet: expected"):
        check_stored(stored, 2)


@pytest.mark.thorough
def test_of_what_cannot_be_read_the_first_is_said(stored: StoredRun) -> None:
    """The larger partition is read first where several check, but what is said must not depend on that."""
    assert [[unit.partition for unit in share] for share in shares(stored.units, 2)][1] == ["orders-1", "orders-0"]
    for unit in stored.units[:2]:
        unit.path("history").write_bytes(b"no table")
    for jobs in (1, 2, 3):
        with pytest.raises(BadTableError, match=r"orders-0\.parquet: expected"):
            check_stored(stored, jobs)


def test_a_script_judges_where_the_name_of_the_directory_for_temporary_files_is_long(
    stored: StoredRun, tmp_path: Path
) -> None:
    """A name of more than some 75 characters leaves no room for that of a socket."""
    script, temporary = tmp_path / "script.py", tmp_path / ("t" * 100)
    temporary.mkdir()
    script.write_text(
        "from pathlib import Path\n"
        "from highwater_pipeline import in_process\n"
        "from highwater_pipeline.partitions.store import open_stored_run\n"
        "in_process._FOR_PROCESSES = 0\n"
        "if __name__ == '__main__':\n"
        f"    run = open_stored_run(Path({str(stored.units[0].home.directory('runs'))!r}))\n"
        "    print(in_process.check_stored(run, 2).verdict)\n"
    )
    environment = {**os.environ, "TMPDIR": str(temporary)}
    assert subprocess.check_output([sys.executable, script], env=environment, text=True) == "fail\n"


def test_one_that_is_killed_is_said_and_the_others_end(stored: StoredRun) -> None:
    """Every process waits for a table of its first unit, which is a pipe that nobody writes to."""
    for unit in stored.units:
        history = Path(str(unit.path("history")))
        history.unlink()
        os.mkfifo(history)

    def kill_one() -> None:
        try:
            _until(lambda: _processes(2)).pop().kill()
        except (AssertionError, psutil.Error):
            for one in psutil.Process().children():
                one.terminate()  # or the test would wait for ever

    killer = threading.Thread(target=kill_one)
    killer.start()
    with pytest.raises(ChildProcessError, match=rf"ended \(signal {signal.SIGKILL:d}\).*try --jobs 1"):
        check_stored(stored, 2)
    killer.join()
    assert not _processes()


KILLED_IN_A_MESSAGE = "import os; os.write(connection.fileno(), bytes((0, 0, 0, 9, 1))); os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(
    ("judging", "raised", "how"),
    [
        (KILLED_IN_A_MESSAGE, ChildProcessError, "signal 9"),
        ("raise KeyError('a fault of the harness')", RuntimeError, "exit status 1"),
    ],
)
def test_how_one_ended_is_said(
    stored: StoredRun, judging: str, raised: type[Exception], how: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ending.py").write_text(f"def judge(connection, *_):\n    {judging}\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ending", raising=False)
    monkeypatch.setattr(processes, "_judge", import_module("ending").judge)
    with pytest.raises(raised, match=rf"ended \({how}\)"):
        check_stored(stored, 2)


def test_one_that_nobody_waits_for_ends_without_a_word(stored: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    ours, theirs = multiprocessing.Pipe(duplex=False)
    ours.close()
    processes._judge(theirs, stored.facts, stored.checks, stored.units)


def test_each_gets_about_as_many_rows() -> None:
    units = [StoredUnit(Home(Path(), ""), f"orders-{n}", {"history": n, "events": 1}, "run") for n in (1, 2, 2, 8, 9)]
    assert [sorted(int(unit.partition[-1]) for unit in share) for share in shares(units, 2)] == [[2, 9], [1, 2, 8]]
    assert len(shares(units, 9)) == len(units)


def test_after_one_that_cannot_be_read_no_later_one_is_read(stored: StoredRun, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each may take the attempts of a store that does not answer."""
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    for unit in stored.units:
        unit.path("history").write_bytes(b"no table")
    ours, theirs = multiprocessing.Pipe(duplex=False)
    processes._judge(theirs, stored.facts, stored.checks, stored.units)
    outcomes = [ours.recv() for _ in stored.units]
    assert [type(found) for _, found in outcomes] == [BadTableError, type(None), type(None)]


def test_they_take_nothing_from_the_working_directory(stored: StoredRun, tmp_path: Path) -> None:
    (store,) = tmp_path.glob("runs/*")
    for name in ("multiprocessing", "highwater_pipeline", "pickle"):
        (tmp_path / f"{name}.py").write_text("import os; open('found', 'w').close(); os._exit(99)")
    script = tmp_path / "scripts" / "judge.py"
    script.parent.mkdir()
    script.write_text(
        "import sys\n"
        "from pathlib import Path\n"
        "from highwater_pipeline import in_process\n"
        "from highwater_pipeline.partitions.store import open_stored_run\n"
        "if __name__ == '__main__':\n"
        "    in_process._FOR_PROCESSES = 0\n"
        "    print(in_process.check_stored(open_stored_run(Path(sys.argv[1])), 2).verdict)\n"
    )
    command = [sys.executable, str(script), str(store)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, (tmp_path / "found").exists()) == ("fail\n", False), done.stderr


def test_memory_stays_with_a_process_unless_the_user_says_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARROW_DEFAULT_MEMORY_POOL", "mimalloc")
    monkeypatch.delenv("MALLOC_MMAP_THRESHOLD_", raising=False)
    before = dict(os.environ)
    with processes._environment():
        code = (
            "import os, pyarrow as p; print(os.environ['MALLOC_MMAP_THRESHOLD_'], p.default_memory_pool().backend_name)"
        )
        output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.split() == [str(1 << 30), "mimalloc"]
    assert dict(os.environ) == before
