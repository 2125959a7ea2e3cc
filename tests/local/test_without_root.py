"""Another user: plain processes on loopback; what needs root is refused by name before anything starts."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

NOBODY = 65534
SCHEDULE = """
- inject: {diskWipe: {target: {broker: 1}, restartAfter: 200ms}}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 60s}
- inject: {pause: {target: {broker: 1}}, for: 500ms}
- wait: 1s
- inject: {name: held, hold: {rpc: BrokerHeartbeat, from: {broker: 1}}}
- await: {caught: {name: held}, within: 60s}
- heal: held
"""


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that another user may reach and write to, which pytest's own are not."""
    with tempfile.TemporaryDirectory(prefix="highwater-nobody-") as folder:
        if os.geteuid() == 0:
            os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)


@pytest.fixture
def as_nobody(home: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``highwater`` as a user that may do nothing special, but read: the Python of a developer may lie where only
    its owner looks."""
    prefix: list[str] = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("setpriv is not installed (Debian package util-linux)")
        prefix = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
        prefix += ["--bounding-set=-all,+dac_read_search", "--inh-caps=-all,+dac_read_search"]
        prefix += ["--ambient-caps=-all,+dac_read_search"]

    def run(experiment: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
        (home / "small.yaml").write_text(experiment.read_text(encoding="utf-8"), encoding="utf-8")
        command = [sys.executable, "-c", "from highwater_chaos.cli import main; main()", "run", "small.yaml"]
        return subprocess.run(
            [*prefix, *command, *map(str, arguments)],
            cwd=home,
            env={**os.environ, "HOME": str(home), "HIGHWATER_STATE_DIR": str(home / "state")},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )

    return run


def test_a_run_without_root(
    as_nobody: Callable[..., subprocess.CompletedProcess[str]],
    small_file: Callable[..., Path],
    home: Path,
    left_behind: Callable[[Path], list[str]],
) -> None:
    done = as_nobody(small_file(SCHEDULE), "--backend", "local")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = home.glob("runs/*/verdict.json")
    verdict = json.loads(path.read_text(encoding="utf-8"))
    assert (verdict["verdict"], verdict["backend"]) == ("pass", "local")
    assert left_behind(home / "state") == []


NEED_ROOT = {
    "{powerLoss: {target: {broker: 1}}}": "powerLoss needs power loss",
    "{partition: {isolate: {broker: 1}}}": "partition needs network cuts",
    "{diskFull: {target: {broker: 1}}}": "diskFull needs full disk",
    "{diskError: {target: {broker: 1}}}": "diskError needs disk errors",
    "{diskStall: {target: {broker: 1}, writes: true}}": "diskStall needs blocked writes",
}


def test_what_needs_root_is_refused(
    as_nobody: Callable[..., subprocess.CompletedProcess[str]], small_file: Callable[..., Path], home: Path
) -> None:
    done = as_nobody(small_file("\n".join(f"- inject: {fault}" for fault in NEED_ROOT)), "--backend", "local")
    assert done.returncode == 254
    for needs in NEED_ROOT.values():
        assert f"{needs}, which local does not have: needs root" in done.stderr
    assert not list(home.glob("state/*")), "nothing was begun"
