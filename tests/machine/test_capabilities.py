"""What a machine can do is found by doing it, and what it cannot do is named and refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.machine.capabilities import NEEDS_ROOT, Ability, available

PRINT = """
import json
from highwater_chaos.machine.capabilities import available
print(json.dumps({ability.name: reason for ability, reason in available().items()}))
"""
REFUSE = """
import pathlib, sys
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.namespaces import Namespace
from highwater_chaos.machine.processes import Process, Spawn
from highwater_chaos.machine.run import MachineRun
from highwater_chaos.machine.volumes import Volume
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


def reduced(script: str, privileges: tuple[str, ...], *arguments: str) -> str:
    command = ["setpriv", *privileges, sys.executable, "-c", script, *arguments]
    environment = {name: value for name, value in os.environ.items() if name != "HIGHWATER_STATE_DIR"}
    return subprocess.run(command, capture_output=True, text=True, check=True, env=environment).stdout


@pytest.fixture
def fresh() -> Iterator[None]:
    available.cache_clear()
    yield
    available.cache_clear()


def test_all_are_looked_at_and_nothing_is_left(
    leftovers: Any, fresh: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    assert set(available()) == set(Ability)
    assert leftovers(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_doctor_explains_a_missing_program(fresh: None, monkeypatch: pytest.MonkeyPatch) -> None:
    real = shutil.which
    monkeypatch.setattr(shutil, "which", lambda name, **rest: None if name == "mkfs.xfs" else real(name, **rest))
    assert available()[Ability.XFS] == "mkfs.xfs is not installed; install the Debian package xfsprogs"
    assert available()[Ability.POWER_LOSS] == available()[Ability.EXT4]


@needs_root
def test_without_root_what_needs_it_is_named() -> None:
    found = json.loads(reduced(PRINT, (*NOBODY, *MAY_READ)))
    assert found.pop("PROCESSES") is None
    assert set(found.values()) == {NEEDS_ROOT}


@needs_root
def test_without_root_what_needs_it_is_refused_and_processes_work(tmp_path: Path) -> None:
    root = Path("/tmp") / f"highwater-nobody-{os.getpid()}"
    root.mkdir(mode=0o777)
    root.chmod(0o777)
    try:
        said = reduced(REFUSE, (*NOBODY, *MAY_READ), str(root)).splitlines()
        assert len(said) == 3
        assert "only root may make network namespaces; run as root" in said[0]
        assert "only root may mount file systems; run as root" in said[1]
        assert said[2] == "running"
        assert [path.name for path in root.iterdir()] == ["log"]
    finally:
        shutil.rmtree(root)


@needs_root
@pytest.mark.parametrize("capability", ["net_admin", "sys_admin"])
def test_root_of_a_container_without_privileges(capability: str) -> None:
    found = json.loads(reduced(PRINT, (f"--bounding-set=-{capability}",)))
    assert found["PROCESSES"] is None
    assert "ot permitted" in found["NAMESPACES"]
    assert found["CUTS"] == found["NAMESPACES"]
    if capability == "sys_admin":
        assert "--privileged" in found["EXT4"]
        assert found["POWER_LOSS"].startswith("no volume can be made: ")
