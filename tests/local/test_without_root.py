"""Another user: plain processes on loopback; what needs root is refused by name before anything starts."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

NOBODY = 65534
SCHEDULE = """
- inject: {kill: {target: {broker: 1}, restartAfter: 200ms}}
- await: {underReplicated: 0, within: 60s}
- inject: {diskWipe: {target: {broker: 1}, restartAfter: 200ms}}
- await: {underReplicated: 0, within: 60s}
- inject: {pause: {target: {broker: 1}}, for: 500ms}
- wait: 1s
- inject: {name: held, hold: {rpc: BrokerHeartbeat, from: {broker: 1}}, for: 500ms}
- await: {caught: {name: held}, within: 30s}
- wait: 1s
"""


@pytest.fixture
def as_nobody(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run ``highwater`` as a user that may do nothing special."""
    home = tmp_path / "home"
    home.mkdir()
    if os.geteuid() == 0:
        os.chown(home, NOBODY, NOBODY)
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_uid == 0 and folder != Path("/") and "pytest" in folder.name:
                folder.chmod(0o755)
    user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}

    def run(*arguments: object) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", "from highwater_chaos.cli import main; main()", *map(str, arguments)],
            cwd=home,
            env={**os.environ, "HOME": str(home), "XDG_RUNTIME_DIR": "", "HIGHWATER_STATE_DIR": str(home / "state")},
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
            **user,  # type: ignore[call-overload]
        )

    try:
        able = run("--help").returncode == 0
    except PermissionError:
        able = False
    if not able:
        pytest.skip("another user cannot read this checkout or its Python")
    return run


def test_a_run_without_root(
    as_nobody: Callable[..., subprocess.CompletedProcess[str]],
    small_file: Callable[..., Path],
    tmp_path: Path,
    left_behind: Callable[[Path], list[str]],
) -> None:
    done = as_nobody("run", small_file(SCHEDULE), "--backend", "local", "--json")
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = json.loads(done.stdout)["runs"]
    assert (run["verdict"], run["backend"]) == ("pass", "local")
    assert left_behind(tmp_path / "home" / "state") == []


@pytest.mark.parametrize(
    ("fault", "needs"),
    [
        ("{powerLoss: {target: {broker: 1}}}", "powerLoss needs power loss"),
        ("{partition: {isolate: {broker: 1}}}", "partition needs network cuts"),
        ("{diskFull: {target: {broker: 1}}}", "diskFull needs full disk"),
        ("{diskError: {target: {broker: 1}}}", "diskError needs disk errors"),
    ],
)
def test_what_needs_root_is_refused(
    as_nobody: Callable[..., subprocess.CompletedProcess[str]],
    small_file: Callable[..., Path],
    tmp_path: Path,
    fault: str,
    needs: str,
) -> None:
    done = as_nobody("run", small_file(f"- inject: {fault}"), "--backend", "local")
    assert done.returncode == 254
    assert f"{needs}, which local does not have: needs root" in done.stderr
    assert not (tmp_path / "home" / "state").exists(), "nothing was begun"
