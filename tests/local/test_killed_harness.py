"""However ``highwater run`` ends, nothing of it stays on the machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from highwater_chaos.run_directory import new_spool_directory

FAULTS = """
- parallel:
  - - inject: {partition: {between: [{broker: 0}, {broker: 1}]}}
    - inject: {pause: {target: {controller: 0}}}
    - inject: {diskFull: {target: {broker: 1}}}
    - inject: {diskError: {target: {broker: 0}}}
    - wait: 1h
"""


@pytest.mark.whole_machine
@pytest.mark.parametrize("signal_", [signal.SIGKILL, signal.SIGINT], ids=lambda one: one.name)
def test_nothing_stays(
    signal_: signal.Signals,
    state: Path,
    tmp_path: Path,
    small_file: Callable[..., Path],
    await_true: Callable[..., None],
    left_behind: Callable[[Path], list[str]],
) -> None:
    path = small_file(FAULTS, timeout="3h")
    process = subprocess.Popen(
        [sys.executable, "-c", "from highwater_chaos.cli import main; main()", "run", path, "--backend", "local"],
        cwd=tmp_path,
        env={**os.environ, "HIGHWATER_STATE_DIR": str(state)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:

        def in_force() -> bool:
            assert process.poll() is None, process.communicate()
            # There are also journals of the trials by which the harness finds out what the machine can do.
            journals = [path.read_text() for path in state.glob("*/journal.jsonl")]
            return any(
                '"name":"broker-0"' in text
                and '"step":"done","id"' in text
                and all(f'"kind":"{kind}"' in text for kind in ("cut", "pause", "full disk", "disk error"))
                for text in journals
            )

        await_true(in_force, "all faults are in force")
        assert left_behind(state)
        assert in_command_lines(tmp_path)
        process.send_signal(signal_)
        _, err = process.communicate(timeout=60)
        await_true(lambda: not in_command_lines(tmp_path), "no process of clients outlives its harness")
    finally:
        process.kill()
        process.wait()
    await_true(lambda: left_behind(state) == [], "nothing is left")
    if signal_ is signal.SIGKILL:
        assert process.returncode == -signal.SIGKILL
    else:
        assert process.returncode == 2
        assert "highwater: interrupted" in err
        assert "Traceback" not in err
    # A harness that is killed leaves its recordings, in a hidden directory that the next one removes.
    if signal_ is signal.SIGKILL:
        assert [path.name.startswith(".small-") for path in (tmp_path / "runs").glob("*")] == [True]
        with new_spool_directory(tmp_path / "runs", "next"):
            pass
    assert list((tmp_path / "runs").glob("*")) == []


def in_command_lines(path: Path) -> list[str]:
    """Processes whose command names a file below a directory."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and f"{path}/runs/".encode() in (entry / "cmdline").read_bytes():
                found.append(entry.name)
        except OSError:
            continue  # gone meanwhile
    return found
