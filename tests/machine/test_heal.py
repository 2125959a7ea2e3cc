"""``highwater heal``: what it touches, what it does not, and what it says."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.cli import execute
from highwater_chaos.machine import linux, loop, volumes
from highwater_chaos.machine.disk_freeze import DiskFreeze
from highwater_chaos.machine.errors import MachineError, RunGoneError
from highwater_chaos.machine.heal import heal
from highwater_chaos.machine.namespaces import NETNS, Namespace
from highwater_chaos.machine.run import MachineRun
from highwater_chaos.machine.runs import run_directories, state_root
from highwater_chaos.machine.undoing import end_run


@pytest.fixture
def highwater(state: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Any:
    monkeypatch.setenv("HIGHWATER_STATE_DIR", str(state))

    def call(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = execute(["heal", *arguments])
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def test_nothing_to_heal(highwater: Any, state: Path) -> None:
    assert highwater() == (0, f"nothing to heal in {state}\n", "")
    assert json.loads(highwater("--json")[1]) == {"stateDirectory": str(state), "runs": []}


def test_a_run_in_progress_is_not_touched(highwater: Any, machine: Any) -> None:
    process = machine.process()
    status, out, _ = highwater()
    assert (status, process.state()) == (0, "running")
    assert f"run {machine.run.id} (test): in progress (pid {os.getpid()}), not touched; --all ends it" in out
    assert highwater("--run", machine.run.id)[0] == 1, "asked for, refused"
    assert process.state() == "running"


def test_all_ends_a_run_in_progress_for_good(highwater: Any, machine: Any) -> None:
    process = machine.process()
    assert f"would undo: process p (pid {process.identity.pid})" in highwater("--all", "--dry-run")[1]
    assert process.state() == "running"
    status, out, _ = highwater("--all")
    assert (status, process.state()) == (0, "gone")
    assert f"undone: process p (pid {process.identity.pid})" in out
    with pytest.raises(RunGoneError, match="was closed or healed"):
        machine.process()
    assert machine.run.close().undone == []


def test_no_such_run(highwater: Any, state: Path) -> None:
    status, _, err = highwater("--run", "abc123")
    assert (status, err) == (254, f"highwater heal: there is no run abc123 in {state}\n")


def abandon(run: MachineRun) -> None:
    """Make a run's owner somebody who is gone, without its guardian noticing."""
    guardian = run.guardian
    assert guardian is not None
    guardian.send(signal.SIGKILL)
    assert guardian.wait_gone(60)
    info = json.loads((run.path / "run.json").read_text())
    info["owner"]["started"] -= 1
    (run.path / "run.json").write_text(json.dumps(info))


def test_a_journal_of_another_boot_names_no_process_of_this_one(machine: Any, state: Path) -> None:
    process = machine.process()
    abandon(machine.run)
    info = json.loads((machine.run.path / "run.json").read_text())
    (machine.run.path / "run.json").write_text(json.dumps({**info, "boot": "another"}))
    # After a reboot no process has a mark of the run; here they must not be found, so that only the pid could be hit.
    journal = machine.run.path / "journal.jsonl"
    journal.write_text(journal.read_text().replace(process.mark, "0" * 16))
    machine.run.path.rename(state / "other")
    (healed,) = heal(state, only="other")
    assert (healed.undone, healed.left) == ([f"process p (pid {process.identity.pid})"], [])
    assert process.state() == "running"
    process.undo()


def test_an_unreadable_run_is_reported(highwater: Any, machine: Any) -> None:
    text = (machine.run.path / "run.json").read_text()
    (machine.run.path / "run.json").write_text("{")
    status, out, _ = highwater()
    assert status == 1
    assert "LEFT:" in out
    assert "run.json: not readable" in out
    (machine.run.path / "run.json").write_text(text)


@pytest.mark.whole_machine
def test_what_cannot_be_undone_is_left_and_said(highwater: Any, machine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(volumes, "_FREE_WITHIN", 1.0)  # it looks again and again at all processes
    volume = machine.volume("ext4")
    point = Path(volume.mount_point)
    abandon(machine.run)
    here = os.open(point, os.O_RDONLY)  # somebody who is not of the run uses it
    try:
        status, out, _ = highwater()
        assert status == 1
        assert f"LEFT: volume m1: {point} cannot be unmounted: in use by pid {os.getpid()}" in out
        assert linux.mounted_at(point)
    finally:
        os.close(here)
    status, out, _ = highwater()
    assert (status, linux.mounted_at(point)) == (0, [])
    assert f"undone: ext4 volume ext4 at {point}" in out


@pytest.mark.whole_machine
def test_a_directory_with_something_mounted_is_never_deleted(machine: Any, tmp_path: Path) -> None:
    point, data = machine.run.path / "foreign", tmp_path / "data"
    point.mkdir()
    data.mkdir()
    (data / "precious").touch()
    linux.mount(str(data), point, "none", linux.MS_BIND)
    try:
        assert f"{point} is mounted" in end_run(machine.run.path, "test").left
        assert (data / "precious").exists()
    finally:
        linux.umount(point)


@pytest.mark.whole_machine
def test_orphans_are_found_without_a_journal(
    highwater: Any, machine: Any, state: Path, tmp_path: Path, await_true: Any
) -> None:
    machine.network("a").close()
    volume = machine.volume("ext4")
    process = machine.process("sh", "-c", "exec sleep 1000 > written", directory=Path(volume.mount_point))
    machine.run.make(DiskFreeze(volume))
    assert DiskFreeze(volume).probe() == "blocked"
    abandon(machine.run)
    # Somebody deletes what a run has in its directory, as far as it goes.
    (machine.run.path / "journal.jsonl").unlink()
    (machine.run.path / "run.json").unlink()
    other_run = tmp_path / "elsewhere" / "run"
    foreign = Namespace(f"hw-{os.getpid()}-foreign", str(other_run))
    foreign.make(())
    try:
        status, out, _ = highwater("--dry-run")
        assert f"would undo: mount {volume.mount_point}" in out
        assert linux.mounted_at(Path(volume.mount_point))
        status, out, _ = highwater()
        assert status == 0
        assert f"undone: process {process.identity.pid} of {machine.run.path}" in out
        assert f"undone: network namespace {machine.run.name('a')}" in out
        assert "left" not in out, "a frozen disk keeps nobody alive"
        assert process.state() == "gone"
        assert not linux.mounted_at(Path(volume.mount_point))
        await_true(lambda: loop.devices_of(Path(volume.image)) == [], "who looked at the device meanwhile closes it")
        assert not (NETNS / machine.run.name("net")).exists()
        assert (NETNS / foreign.name).exists(), "of another state directory"
    finally:
        foreign.undo()
    # Nobody can say whose the directory was; one that is a minute old is not just being made.
    assert run_directories(state) == [machine.run.path]
    os.utime(machine.run.path, (0, 0))
    assert highwater()[0] == 0
    assert run_directories(state) == []
    shutil.rmtree(tmp_path / "elsewhere", ignore_errors=True)


def test_where_the_state_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert state_root({"HIGHWATER_STATE_DIR": str(tmp_path)}) == tmp_path
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert state_root({"XDG_RUNTIME_DIR": "/run/user/7"}) == Path("/run/highwater")
    monkeypatch.setattr(os, "geteuid", lambda: 7)
    assert state_root({"XDG_RUNTIME_DIR": "/run/user/7"}) == Path("/run/user/7/highwater")
    assert state_root({}) == Path.home() / ".local/state/highwater"


def test_a_second_process_works_on_the_same_run(machine: Any, state: Path) -> None:
    other = MachineRun.attach(machine.run.id, root=state)
    process = other.make(machine_process(machine, "sleep"))
    assert [resource.KIND for _, resource in machine.run.outstanding()] == ["process"]
    assert machine.run.undo(process)
    with pytest.raises(RunGoneError):
        MachineRun.attach("abc123", root=state)


def machine_process(machine: Any, name: str) -> Any:
    from highwater_chaos.machine.processes import Process, Spawn

    return Process(name, machine.run.directory, spawn=Spawn(["sleep", "1000"], machine.folder / "log"))


def test_a_guardian_that_does_not_start(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highwater_chaos.machine.run.GUARDIAN_MODULE", "highwater_chaos.no_such_module")
    with pytest.raises(MachineError, match=r"did not start .exit status 1.*No module named"):
        MachineRun.open(root=state)
    assert run_directories(state) == []
