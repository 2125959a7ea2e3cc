"""However ``highwater run`` ends, nothing of it stays on the machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from processes import command_lines

from highwater_chaos.base.lines import FileLines, whole_lines
from highwater_chaos.cli import execute
from highwater_chaos.engine import recordings
from highwater_chaos.run.directory import new_spool_directory

FAULTS = """
- parallel:
  - - inject: {partition: {between: [{broker: 0}, {broker: 1}]}}
    - inject: {diskStall: {target: {broker: 2}, writes: true}}
    - inject: {pause: {target: {controller: 0}}}
    - inject: {diskFull: {target: {broker: 1}}}
    - inject: {diskError: {target: {broker: 0}}}
    - wait: 1h
"""


def text_of(path: Path) -> str | None:
    try:
        return path.read_text()
    except FileNotFoundError:
        return None


@pytest.mark.quick("killed")
@pytest.mark.whole_machine
@pytest.mark.parametrize(
    "signals",
    [[signal.SIGKILL], [signal.SIGINT], [signal.SIGTERM, signal.SIGINT]],
    ids=["killed", "asked", "asked twice"],
)
def test_nothing_stays(
    signals: list[signal.Signals],
    state: Path,
    tmp_path: Path,
    small_file: Callable[..., Path],
    await_true: Callable[..., None],
    left_behind: Callable[[Path], list[str]],
) -> None:
    process = harness(small_file(FAULTS, brokers=3, timeout="3h"), state)
    try:

        def in_force() -> bool:
            assert process.poll() is None, process.communicate()
            # There are also journals of the trials by which the harness finds out what the machine can do.
            # A trial that ends takes its own away.
            journals = [text for path in state.glob("*/journal.jsonl") if (text := text_of(path)) is not None]
            return any(
                '"name":"broker-0"' in text
                and '"step":"done","id"' in text
                and all(
                    f'"kind":"{kind}"' in text for kind in ("cut", "pause", "full disk", "disk error", "frozen disk")
                )
                for text in journals
            )

        await_true(in_force, "all faults are in force")
        assert left_behind(state)
        assert in_command_lines(tmp_path)
        for one in signals:
            process.send_signal(one)
            if one is not signals[-1]:
                assert process.stderr is not None
                assert any("ending early" in line for line in process.stderr)
        out, err = process.communicate(timeout=60)
        await_true(lambda: not in_command_lines(tmp_path), "no process of clients outlives its harness")
    finally:
        process.kill()
        process.wait()
    await_true(lambda: left_behind(state) == [], "nothing is left")
    runs = tmp_path / "runs"
    if signals == [signal.SIGKILL]:
        assert process.returncode == -signal.SIGKILL
        # A harness that is killed leaves its recordings, in a hidden directory that the next one removes.
        assert [path.name.startswith(".small-") for path in runs.glob("*")] == [True]
        with new_spool_directory(runs, "next"):
            pass
        assert list(runs.glob("*")) == []
        return
    assert process.returncode == 2
    assert "Traceback" not in err
    if len(signals) > 1:
        assert "highwater: interrupted; runs that had finished are kept, the one in progress is not" in err
        assert list(runs.glob("*")) == []
        return
    assert "highwater: interrupted; runs that had finished are kept, the one in progress as far as it went" in err
    assert "INCONCLUSIVE" in out
    (run,) = runs.glob("*")
    verdict = json.loads((run / "verdict.json").read_text())
    why = "the run was ended early, in its phase 'fault': the harness was asked to stop (SIGINT)"
    assert (verdict["verdict"], verdict["reasons"][0]) == ("inconclusive", why)
    assert verdict["acknowledged"] > 0
    faults = [json.loads(line) for line in whole_lines(run / "faults.jsonl")]
    assert len(faults) == 5
    assert all(fault["healed"] for fault in faults), "seen to be gone"
    assert (run / "report.html").exists()
    assert (run / "dumps" / "replica_log.jsonl").stat().st_size > 0


@pytest.mark.thorough
@pytest.mark.whole_machine
@pytest.mark.parametrize("stage", ["machine", "nodes", "clients"])
def test_killed_while_it_sets_up(
    stage: str,
    state: Path,
    tmp_path: Path,
    small_file: Callable[..., Path],
    await_true: Callable[..., None],
    left_behind: Callable[[Path], list[str]],
) -> None:
    """Clients are stopped (SIGSTOP) before, so that they cannot see the end of their stdin."""
    process = harness(small_file("- wait: 1h", timeout="3h"), state)

    def reached() -> bool:
        assert process.poll() is None, process.communicate()
        match stage:
            case "machine":
                return any(text_of(path) for path in state.glob("*/journal.jsonl"))
            case "nodes":
                return any(one.startswith("process ") for one in left_behind(state))
            case _:
                return any(path.stat().st_size for path in (tmp_path / "runs").glob("**/clients-0.jsonl"))

    stopped: list[int] = []
    try:
        await_true(reached, f"its stage: {stage}")
        if stage == "clients":
            stopped = [int(pid) for pid in in_command_lines(tmp_path)]
            assert stopped
            for pid in stopped:
                os.kill(pid, signal.SIGSTOP)
        process.kill()
        process.communicate(timeout=60)
        await_true(lambda: not in_command_lines(tmp_path), "no process of clients outlives its harness", 30)
        await_true(lambda: left_behind(state) == [], "nothing is left")
    finally:
        process.kill()
        process.wait()
        for pid in set(stopped) & {int(one) for one in in_command_lines(tmp_path)}:
            os.kill(pid, signal.SIGKILL)


@pytest.mark.thorough
@pytest.mark.whole_machine
def test_a_disk_that_is_full_when_logs_are_dumped(
    state: Path,
    tmp_path: Path,
    small_file: Callable[..., Path],
    left_behind: Callable[[Path], list[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Reading a log stops in the middle, and no file of the node's disk may stay open, or it cannot be unmounted."""
    monkeypatch.setattr(recordings, "FileLines", lambda _: FileLines(Path("/dev/full")))
    file = small_file("- wait: 1s")
    assert execute(["run", str(file), "--backend", "local", "--out", str(tmp_path / "runs")]) == 254
    last = capsys.readouterr().err.splitlines()[-1]
    assert last.endswith("found: No space left on device; free some space, or give another --out")
    assert left_behind(state) == []


def harness(path: Path, state: Path) -> subprocess.Popen[str]:
    """Start ``highwater run`` on ``local``, in the directory of the experiment's file."""
    return subprocess.Popen(
        [sys.executable, "-c", "from highwater_chaos.cli import main; main()", "run", path, "--backend", "local"],
        cwd=path.parent,
        env={**os.environ, "HIGHWATER_STATE_DIR": str(state)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def in_command_lines(path: Path) -> list[int]:
    """Processes whose command names a file below a directory."""
    return [pid for pid, words in command_lines() if f"{path}/runs/".encode() in b" ".join(words)]
