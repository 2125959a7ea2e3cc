"""Interrupted anywhere: what had finished is kept, of what had not nothing stays behind."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HIGHWATER = Path(sys.executable).with_name("highwater")


@pytest.mark.parametrize(
    "where", ["highwater_chaos.judged_run.run_experiment", "highwater_pipeline.judge.judge_run"], ids=["run", "judge"]
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


@pytest.mark.parametrize("signal_", [signal.SIGINT, signal.SIGTERM], ids=lambda one: one.name)
def test_a_signal_ends_a_real_process_cleanly(tmp_path: Path, tiny: str, signal_: signal.Signals) -> None:
    """The first run is finished when the second, which would take minutes, is interrupted in its schedule."""
    (tmp_path / "short.yaml").write_text(tiny, encoding="utf-8")
    endless = tiny.replace("tiny", "endless").replace("timeout: 1m", "timeout: 9h").replace("wait: 1s", "wait: 8h")
    (tmp_path / "endless.yaml").write_text(endless, encoding="utf-8")
    process = subprocess.Popen(
        [HIGHWATER, "run", "short.yaml", "endless.yaml"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stderr is not None
        for line in process.stderr:
            if "endless: fault" in line:
                break
        process.send_signal(signal_)
        out, err = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode == 2, err
    assert "highwater: interrupted; runs that had finished are kept, the one in progress is not" in err
    assert "Traceback" not in err
    assert out.startswith("PASS as expected: tiny")
    (run,) = (tmp_path / "runs").iterdir()
    assert run.name.startswith("tiny-")


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
