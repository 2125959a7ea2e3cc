"""Interrupted anywhere: what had finished is kept, of what had not nothing stays behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import psutil
import pytest

HIGHWATER = Path(sys.executable).with_name("highwater")


@pytest.mark.parametrize(
    "where",
    ["highwater_chaos.verdict.checked_run.run_experiment", "highwater_pipeline.in_process.check_run"],
    ids=["run", "judge"],
)
def test_ctrl_c_leaves_no_partial_directory(
    highwater: Any, tiny_file: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    finished = highwater("run", tiny_file, "--json").json["runs"][0]["dir"]

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupt)
    done = highwater("run", tiny_file)
    assert done.status == 2
    assert "interrupted" in done.err
    assert [str(path) for path in (Path("runs")).iterdir()] == [finished]


def _short_and_endless(folder: Path, tiny: str) -> list[str]:
    (folder / "short.yaml").write_text(tiny, encoding="utf-8")
    endless = tiny.replace("tiny", "endless").replace("timeout: 1m", "timeout: 9h").replace("wait: 1s", "wait: 8h")
    (folder / "endless.yaml").write_text(endless, encoding="utf-8")
    return ["short.yaml", "endless.yaml"]


@pytest.mark.parametrize("victim", ["child", "parent"])
def test_a_process_that_is_killed_takes_no_other_result_along(tmp_path: Path, tiny: str, victim: str) -> None:
    """As the system does when memory is short: a run without a verdict. Without its parent no process goes on."""
    reports = ["--json", "--junit", "junit.xml", "--summary", "summary.md"]
    command = [HIGHWATER, "run", *_short_and_endless(tmp_path, tiny), "--jobs", "2", *reports]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert any("1 done, endless under way" in line for line in process.stderr)
        (endless,) = psutil.Process(process.pid).children()
        (endless if victim == "child" else process).kill()
        out, err = process.communicate(timeout=120)  # also the end of what its child may write
    finally:
        process.kill()
    if victim == "parent":
        assert process.returncode == -signal.SIGKILL
        psutil.wait_procs([endless], timeout=60)
        assert not endless.is_running()
        return
    assert (process.returncode, "INCONCLUSIVE: endless: its process ended: signal SIGKILL" in err) == (2, True), err
    short, gone = json.loads(out)["runs"]
    assert [(one["name"], one["verdict"], one["dir"] is None) for one in (short, gone)] == [
        ("tiny", "pass", False),
        ("endless", "inconclusive", True),
    ]
    assert gone["reasons"] == ["its process ended: signal SIGKILL"]
    suite = ElementTree.parse(tmp_path / "junit.xml").getroot()
    errors = {case.get("name"): [error.get("message") for error in case.iter("error")] for case in suite}
    assert errors == {"tiny": [], "endless": gone["reasons"]}
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert "2 runs, 1 not as expected" in summary
    assert gone["reasons"][0] in summary
    assert len(list((tmp_path / "runs").iterdir())) == 1


def _interrupted(
    arguments: Sequence[str | Path], folder: Path, signal_: signal.Signals, far_enough: str
) -> tuple[int, str, str]:
    """Send the signal when stderr has a line with ``far_enough``; returns exit status, stdout, stderr after it."""
    process = subprocess.Popen(arguments, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        assert any(far_enough in line for line in process.stderr)
        process.send_signal(signal_)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    return process.returncode, out, err


@pytest.mark.quick("SIGTERM", "SIGINT-jobs")
@pytest.mark.parametrize(
    ("signal_", "options", "far_enough"),
    [
        pytest.param(signal.SIGINT, (), "endless: fault", id="SIGINT"),
        pytest.param(signal.SIGTERM, (), "endless: fault", id="SIGTERM"),
        pytest.param(signal.SIGINT, ("--jobs", "2"), "1 done", id="SIGINT-jobs"),
        pytest.param(signal.SIGTERM, ("--jobs", "2"), "1 done", id="SIGTERM-jobs"),
    ],
)
def test_a_signal_ends_a_real_process_cleanly(
    tmp_path: Path, tiny: str, signal_: signal.Signals, options: tuple[str, ...], far_enough: str
) -> None:
    """One run is finished, and reported, when the other is interrupted, which would take minutes."""
    files = _short_and_endless(tmp_path, tiny)
    if options:
        files.reverse()  # what has finished is reported, whatever comes before it
    arguments = [HIGHWATER, "run", *files, *options, "--json", "--junit", "junit.xml"]
    status, out, err = _interrupted(arguments, tmp_path, signal_, far_enough)
    assert status == 2, err
    assert "highwater: interrupted; runs that had finished are kept, the one in progress is not" in err
    assert "Traceback" not in err
    (run,) = (tmp_path / "runs").iterdir()
    assert run.name.startswith("tiny-")
    assert [(one["name"], one["verdict"]) for one in json.loads(out)["runs"]] == [("tiny", "pass")]
    assert 'tests="1"' in (tmp_path / "junit.xml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("command", "place", "when", "far_enough"),
    [
        (["run"], "verdict.checked_run.run_experiment", "arguments[0].metadata.name == 'endless'", "in a library"),
        (
            ["run", "--jobs", "2"],
            "verdict.checked_run.run_experiment",
            "arguments[0].metadata.name == 'endless'",
            "1 done",
        ),
        (["campaign", "--seeds", "1..2", "--jobs", "1"], "monitoring.CampaignMetrics.add", "True", "in a library"),
    ],
    ids=["run", "run-jobs", "campaign"],
)
def test_an_interruption_of_which_a_library_made_an_error_loses_nothing(
    tmp_path: Path, tiny: str, command: list[str], place: str, when: str, far_enough: str
) -> None:
    """As pydantic does of what is raised in a callback."""
    module, _, name = f"highwater_chaos.{place}".rpartition(".")
    program = f"""
import pkgutil, signal, sys
from highwater_chaos.cli import main

place = pkgutil.resolve_name({module!r})
original = place.{name}

def in_a_library(*arguments, **named):
    if not ({when}):
        return original(*arguments, **named)
    try:
        print("in a library", file=sys.stderr)
        signal.pause()
    except KeyboardInterrupt as error:
        raise ValueError("of a library") from error

place.{name} = in_a_library
main()
"""
    files = _short_and_endless(tmp_path, tiny)[: 2 if command[0] == "run" else 1]
    arguments = [sys.executable, "-c", program, *command, *files, "--json", "--junit", "junit.xml"]
    status, out, err = _interrupted(arguments, tmp_path, signal.SIGTERM, far_enough)
    assert status == 2, err
    assert "highwater: interrupted; runs that had finished are kept, the one in progress is not" in err
    assert "Traceback" not in err
    assert 'errors="0"' in (tmp_path / "junit.xml").read_text(encoding="utf-8")
    if command[0] == "run":
        assert [(one["name"], one["verdict"]) for one in json.loads(out)["runs"]] == [("tiny", "pass")]


def test_a_reader_that_goes_away_changes_no_status(tmp_path: Path, tiny: str) -> None:
    """``highwater run … | head -0``: the run is kept, and the status is that of the run."""
    (tmp_path / "short.yaml").write_text(tiny, encoding="utf-8")
    process = subprocess.Popen(
        [HIGHWATER, "run", "short.yaml"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait() == 0, err
    assert "BrokenPipe" not in err
    assert len(list((tmp_path / "runs").iterdir())) == 1


@pytest.mark.quick("json")
@pytest.mark.parametrize("option", [(), ("--json",)], ids=["text", "json"])
def test_a_full_disk_under_stdout_is_no_verdict(tmp_path: Path, tiny: str, option: tuple[str, ...]) -> None:
    """``highwater run … > FILE``: the run is kept, and what the file lacks is said. Status 1 would be a fail."""
    (tmp_path / "short.yaml").write_text(tiny, encoding="utf-8")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [HIGHWATER, "run", "short.yaml", *option],
            cwd=tmp_path,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 254, done.stderr
    assert done.stderr.splitlines()[-1] == (
        "standard output: cannot be written: No space left on device; what had been printed is not whole"
    )
    assert "Traceback" not in done.stderr
    assert len(list((tmp_path / "runs").iterdir())) == 1


def test_what_is_written_last_must_be_written_too() -> None:
    """Output that a command leaves in the buffer reaches the full disk when the command has ended."""
    program = "from highwater_chaos import cli; cli.execute = lambda *_: print('kept') or 0; cli.main([])"
    buffers = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with Path("/dev/full").open("w") as full:
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, env=buffers, check=False)
    assert done.returncode == 254
    assert done.stderr.startswith("standard output: cannot be written: No space left on device")


@pytest.mark.thorough
@pytest.mark.parametrize("stderr", ["2>/dev/full", "2>&-", "2>&1 >&3 | true"], ids=["full", "closed", "pipe"])
def test_progress_that_nobody_can_read_changes_no_status(tmp_path: Path, tiny: str, stderr: str) -> None:
    """Status 1 would be a fail."""
    (tmp_path / "short.yaml").write_text(tiny, encoding="utf-8")
    script = f"exec 3>&1; {{ {HIGHWATER} run short.yaml; echo $? >status; }} {stderr}"
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, stdout=subprocess.PIPE, check=False, text=True)
    assert (tmp_path / "status").read_text() == "0\n"
    assert done.stdout.startswith("PASS as expected: tiny")


def test_no_file_gets_the_number_of_a_standard_stream(tmp_path: Path) -> None:
    """Or what other programs print to a stream that was closed would be in a recording."""
    script = f"""
import os
os.closerange(0, 3)
from highwater_chaos.cli import main
try:
    main(["--version"])
finally:
    os.write(os.open({str(tmp_path / "number")!r}, os.O_CREAT | os.O_WRONLY), b"a file")
    os.write(2, b"a message")
"""
    subprocess.run([sys.executable, "-c", script], check=True)
    assert (tmp_path / "number").read_text() == "a file"
