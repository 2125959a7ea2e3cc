"""Nothing is left of a killed process's scratch directories once another one starts; what is in use stays."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from highwater_chaos.base.scratch import ScratchDirectory, remove_abandoned

HOLDS_ONE = """
import sys
from highwater_chaos.base.scratch import ScratchDirectory
scratch = ScratchDirectory("campaign")
open(scratch.name + "/file", "w").close()
print(scratch.name, flush=True)
sys.stdin.read()
"""


def holder(folder: Path) -> tuple[subprocess.Popen[str], Path]:
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS_ONE],
        env={**os.environ, "TMPDIR": str(folder)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    return process, Path(process.stdout.readline().strip())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_what_a_killed_process_leaves_goes_and_what_a_living_one_has_stays(tmp_path: Path) -> None:
    living, used = holder(tmp_path)
    killed, left = holder(tmp_path)
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert (left / "file").exists(), "nobody has removed it"
    ended, _ = holder(tmp_path)  # the next start
    assert not left.exists()
    assert (used / "file").exists()
    for process in (living, ended):
        process.communicate()
    assert names(tmp_path) == []


def test_what_is_no_scratch_directory_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories without a lock, of an earlier release or of another program; and a link in the place of a lock."""
    for name in ("highwater-campaign-1", "highwater-campaign-2", "other-3"):
        (tmp_path / name).mkdir()
    (tmp_path / "other-3.lock").touch()
    (tmp_path / "elsewhere").touch()
    (tmp_path / "highwater-campaign-2.lock").symlink_to(tmp_path / "elsewhere")
    before = names(tmp_path)
    remove_abandoned(tmp_path)
    assert names(tmp_path) == before
    (tmp_path / "highwater-campaign-1.lock").touch()
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    remove_abandoned(tmp_path)
    assert (tmp_path / "highwater-campaign-1").exists(), "it is another user's"
    monkeypatch.undo()
    remove_abandoned(tmp_path)
    assert names(tmp_path) == [name for name in before if name != "highwater-campaign-1"]


def test_it_is_gone_when_it_is_cleaned_up_or_forgotten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = ScratchDirectory("run")
    with scratch as name:
        remove_abandoned(tmp_path)
        assert Path(name).is_dir()
        assert len(names(tmp_path)) == 2
    assert names(tmp_path) == []
    forgotten = ScratchDirectory("run")
    with pytest.warns(ResourceWarning, match="Implicitly cleaning up"):
        del forgotten
    assert names(tmp_path) == []
