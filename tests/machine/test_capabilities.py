"""What a machine can do is found by doing it, and what it cannot do is named and refused."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from processes import guardian_of

from highwater_chaos.machine import capabilities
from highwater_chaos.machine.capabilities import (
    EVERY,
    NAMESPACES,
    NEEDS_ROOT,
    POWER_LOSS,
    PROCESSES,
    VOLUMES,
    available,
)
from highwater_chaos.machine.faults.node_fault import Seen
from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.runs.directory import run_directories
from highwater_chaos.machine.runs.heal import heal

PRINT = """
import json
from highwater_chaos.machine.capabilities import available
print(json.dumps(available()))
"""
REFUSE = """
import pathlib, sys
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.network.namespaces import Namespace
from highwater_chaos.machine.process.processes import Process, Spawn
from highwater_chaos.machine.runs.run import MachineRun
from highwater_chaos.machine.disk.volumes import Volume
root = pathlib.Path(sys.argv[1])
with MachineRun.open(root=root) as run:
    for resource in (
        Namespace(run.name("x"), run.directory),
        Volume("x", run.directory, str(run.path / "x.img"), str(run.path / "x")),
    ):
        try:
            run.make(resource)
        except MachineError as error:
            print(error)
    process = run.make(Process("p", run.directory, spawn=Spawn(["sleep", "1000"], root / "log"))).resource
    print(process.state())
"""
needs_root = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("setpriv"), reason="needs root and setpriv")
NOBODY = ("--reuid=65534", "--regid=65534", "--clear-groups")
# The interpreter may lie in a directory that only root may enter.
MAY_READ = ("--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search")


def reduced(script: str, privileges: tuple[str, ...], *arguments: str, state: Path | None = None) -> str:
    command = ["setpriv", *privileges, sys.executable, "-c", script, *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "HIGHWATER_STATE_DIR"}
    if state is not None:
        environment["HIGHWATER_STATE_DIR"] = str(state)
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.fixture
def writable() -> Iterator[Path]:
    """A directory for users who may not enter those of pytest."""
    root = Path("/tmp") / f"highwater-nobody-{os.getpid()}"
    root.mkdir()
    os.chown(root, 65534, 65534)
    yield root
    shutil.rmtree(root)


HANGING = """
import signal
from highwater_chaos.machine import capabilities
def hang(*_):
    print("tried", flush=True)
    signal.pause()
capabilities._see = hang
capabilities.available()
"""


def test_heal_finds_the_trials_of_a_doctor_that_was_killed(leftovers: Any, tmp_path: Path) -> None:
    """Its guardian was killed too. The first trial has left a process."""
    environment = os.environ | {"HIGHWATER_STATE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", HANGING]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as doctor:
        try:
            assert doctor.stdout is not None
            assert doctor.stdout.readline() == "tried\n"
            (run,) = run_directories(tmp_path)
            os.kill(guardian_of(run), signal.SIGKILL)
        finally:
            doctor.kill()
    assert leftovers(tmp_path)
    (healed,) = heal(tmp_path)
    assert (healed.label, healed.left) == ("doctor", [])
    assert any("sleeper" in what for what in healed.undone)
    assert leftovers(tmp_path) == []


def test_all_are_looked_at_and_nothing_is_left(
    leftovers: Any, fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIGHWATER_STATE_DIR", str(tmp_path))
    assert tuple(available()) == EVERY
    assert leftovers(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_doctor_explains_a_missing_program(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **rest: None if name == "mkfs.xfs" else real(name, **rest))
    assert available()[VOLUMES["xfs"]] == "mkfs.xfs is not installed; install the Debian package xfsprogs"
    assert available()[POWER_LOSS] == available()[VOLUMES["ext4"]]


@pytest.mark.parametrize(
    ("in_force", "gone", "reason"), [(False, True, "does nothing"), (True, False, "is not undone")]
)
def test_a_fault_that_is_not_seen_to_come_and_go_is_none(
    in_force: bool, gone: bool, reason: str, fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capabilities, "EVERY", ("pause",))
    monkeypatch.setattr(Pause, "seen", lambda _, **__: Seen("as it was", in_force, gone, {}))
    assert available() == {"pause": f"pause of process sleeper {reason}: as it was"}


@needs_root
def test_without_root_what_needs_it_is_named(writable: Path) -> None:
    found = json.loads(reduced(PRINT, (*NOBODY, *MAY_READ), state=writable))
    assert [found.pop(PROCESSES), found.pop("pause")] == [None, None]
    assert set(found.values()) == {NEEDS_ROOT}


@needs_root
def test_without_root_what_needs_it_is_refused_and_processes_work(writable: Path) -> None:
    said = reduced(REFUSE, (*NOBODY, *MAY_READ), str(writable)).splitlines()
    assert len(said) == 3
    assert "only root may make network namespaces; run as root" in said[0]
    assert "only root may mount file systems; run as root" in said[1]
    assert said[2] == "running"
    assert [path.name for path in writable.iterdir()] == ["log"]


@needs_root
@pytest.mark.parametrize("capability", ["net_admin", "sys_admin"])
def test_root_of_a_container_without_privileges(capability: str) -> None:
    found = json.loads(reduced(PRINT, (f"--bounding-set=-{capability}",)))
    assert found[PROCESSES] is None
    assert "ot permitted" in found[NAMESPACES]
    assert found["network cuts"] == found[NAMESPACES]
    if capability == "sys_admin":
        assert "--privileged" in found[VOLUMES["ext4"]]
        assert found[POWER_LOSS].startswith("no volume can be made: ")
