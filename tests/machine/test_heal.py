"""``highwater heal``: what it touches, what it does not, and what it says."""

from __future__ import annotations

import grp
import json
import os
import pwd
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.cli import execute
from highwater_chaos.machine.disk import loop, volumes
from highwater_chaos.machine.errors import MachineError, RunGoneError
from highwater_chaos.machine.faults.disk_freeze import DiskFreeze
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.own_program import own_program
from highwater_chaos.machine.kernel.proc import boot_id, command_of, namespace_of, pids
from highwater_chaos.machine.network.namespaces import NETNS, Namespace
from highwater_chaos.machine.process.processes import Process, Spawn
from highwater_chaos.machine.process.start_barrier import StartBarrier
from highwater_chaos.machine.runs.directory import run_directories, state_root
from highwater_chaos.machine.runs.heal import heal
from highwater_chaos.machine.runs.run import GUARDIAN_MODULE, MachineRun
from highwater_chaos.machine.runs.undoing import end_run

NOBODY = 65534
MS_RDONLY, MS_REMOUNT = 1, 32


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
    highwater: Any,
    machine: Any,
    state: Path,
    tmp_path: Path,
    await_true: Any,
    request: pytest.FixtureRequest,
) -> None:
    machine.network("a").close()
    volume = machine.volume("ext4")
    process = machine.process("sh", "-c", "exec sleep 1000 > written", directory=Path(volume.mount_point))
    machine.run.make(DiskFreeze(volume))
    assert DiskFreeze(volume).seen().details["met"] == "blocked"
    abandon(machine.run)
    # Another program has a copy of the mount in a mount namespace of its own, and uses nothing of it.
    elsewhere = subprocess.Popen(["unshare", "--mount", "sleep", "1000"], cwd="/")
    request.addfinalizer(lambda: (elsewhere.kill(), elsewhere.wait()))
    await_true(lambda: namespace_of(elsewhere.pid, "mnt") != namespace_of(os.getpid(), "mnt"), "it has a copy")
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


PLANTED = {
    "another owner": (254, "it belongs to user 65534"),
    "others may write": (254, "others may write to it (mode 777)"),
    "a directory above": (254, ", in which "),
    "a link": (254, "it belongs to user 65534"),
    "the run's owner": (1, "it belongs to user 65534"),
    "run.json": (1, "run.json: it belongs to user 65534"),
    "journal": (1, "journal.jsonl: it belongs to user 65534"),
    "a journal for all": (1, "journal.jsonl: others may write to it (mode 666)"),
    "a linked journal": (1, "journal.jsonl"),
    "shared": (0, "nothing to heal"),
}
"""Who may have written a journal, and what ``heal`` comes to."""


@pytest.mark.quick("another owner", "others may write", "a link", "journal")
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, who can be anybody")
@pytest.mark.parametrize("what", PLANTED)
def test_no_journal_that_another_user_may_have_written_is_obeyed(
    highwater: Any, machine: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    above, precious = tmp_path / "above", tmp_path / "precious"
    state = above / "state"
    planted = state / "abcdef"
    planted.mkdir(parents=True)
    precious.touch()
    owner = {"pid": 999999, "started": 1}
    (planted / "run.json").write_text(json.dumps({"id": "abcdef", "label": "x", "owner": owner, "boot": boot_id()}))
    (planted / "lock").touch()
    barrier = {"step": "intent", "id": "m1", "kind": "start barrier", "resource": {"path": str(precious)}}
    journal = planted / "journal.jsonl"
    journal.write_text(json.dumps(barrier) + "\n")
    # A run of this user's own beside it is healed all the same.
    own = MachineRun.open(root=state)
    abandon(own)
    place = {"another owner": state, "a directory above": above, "the run's owner": planted, "journal": journal}
    place |= {"run.json": planted / "run.json", "shared": planted, "a link": state}
    mode = {"others may write": (state, 0o777), "a journal for all": (journal, 0o666), "shared": (state, 0o1777)}
    if what in place:
        os.chown(place[what], NOBODY, NOBODY)
    if what in mode:
        mode[what][0].chmod(mode[what][1])
    if what == "a linked journal":
        journal.rename(tmp_path / "elsewhere")
        journal.symlink_to(tmp_path / "elsewhere")
    if what == "a link":
        (tmp_path / "link").symlink_to(state)
    monkeypatch.setenv("HIGHWATER_STATE_DIR", str(tmp_path / "link" if what == "a link" else state))
    status, out, err = highwater()
    assert precious.exists()
    expected, why = PLANTED[what]
    assert (status, why in out + err) == (expected, what != "shared"), out + err
    assert len(err.splitlines()) == (expected == 254)
    assert own.path.exists() == (expected == 254)
    if expected == 254:
        assert "set HIGHWATER_STATE_DIR to another directory" in err
        with pytest.raises(MachineError, match="to which nobody else may write"):
            MachineRun.open(root=state)
        with pytest.raises(MachineError, match="to which nobody else may write"):
            MachineRun.attach(own.id, root=state)
    elif what != "shared":
        assert highwater("--run", "abcdef")[0] == 1
        assert highwater("--run", "abcdef", "--all", "--dry-run")[0] == 1
    # What its owner sees to is healed.
    for one in (above, state, planted, *planted.iterdir()):
        os.chown(one, 0, 0, follow_symlinks=False)
        if not one.is_symlink():
            one.chmod(0o700)
    if what == "a linked journal":
        (tmp_path / "elsewhere").rename(journal)
    assert highwater()[0] == 0
    assert not precious.exists()
    assert run_directories(state) == []


def test_a_directory_of_the_users_private_group_is_their_own(tmp_path: Path) -> None:
    """With a umask of 002, which many systems have, a home is full of them."""
    (tmp_path / "state").mkdir()
    (tmp_path / "state").chmod(0o775)
    own = grp.getgrgid(os.getegid())
    if own.gr_name != pwd.getpwuid(os.geteuid()).pw_name:
        pytest.skip("this user has no group of the same name")
    with MachineRun.open(root=tmp_path / "state"):
        pass
    if os.geteuid() == 0:
        os.chown(tmp_path / "state", 0, 65534)
        with pytest.raises(MachineError, match=r"others may write to it .mode 775"):
            MachineRun.open(root=tmp_path / "state")


def test_heal_touches_nothing_but_runs(highwater: Any, state: Path) -> None:
    """A user may give any directory as state directory; a name may look like that of a run."""
    for name in ("letters", ".ssh", "facade"):
        (state / name).mkdir(parents=True)
        (state / name / "precious").touch()
        os.utime(state / name, (0, 0))
    for name in ("abcde1", "abcde2"):  # a maker was killed before it could say whose they are
        (state / name).mkdir()
    (state / "abcde2" / "lock").touch()
    for name in ("abcde1", "abcde2"):
        os.utime(state / name, (0, 0))
    assert highwater()[0] == 0
    assert sorted(path.name for path in state.iterdir()) == [".ssh", "facade", "letters"]
    shutil.rmtree(state)


@pytest.mark.parametrize("file", ["run.json", "journal.jsonl"])
def test_what_is_wrong_with_one_run_stops_no_other(highwater: Any, state: Path, tmp_path: Path, file: str) -> None:
    """Whatever is wrong: nothing of ours writes a file that is nested so deep."""
    runs = [MachineRun.open(root=state) for _ in range(3)]
    for run in runs:
        run.make(StartBarrier(str(tmp_path / run.id)))
        abandon(run)
    bad = sorted(runs, key=lambda run: run.id)[1]
    kept = (bad.path / file).read_text()
    (bad.path / file).write_text("[" * 100_000 + "\n")
    status, out, err = highwater()
    assert (status, err) == (1, "")
    assert f"run {bad.id}" in out
    assert "LEFT: " in out
    assert [path.name for path in state.iterdir()] == [bad.id]
    assert [run.id for run in runs if (tmp_path / run.id).exists()] == [bad.id]
    (bad.path / file).write_text(kept)
    assert highwater()[0] == 0


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of a megabyte."""
    point = tmp_path / "small"
    point.mkdir()
    linux.mount("tmpfs", point, "tmpfs", 0, "size=1m,mode=755")
    yield point
    linux.umount(point)


def fill(disk: Path) -> None:
    with suppress(OSError), (disk / "ballast").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))


@pytest.mark.whole_machine
@pytest.mark.parametrize("what", ["a file", "read-only", "full", "almost full"])
def test_where_no_run_can_be_kept_it_is_said_in_one_line(highwater: Any, small_disk: Path, what: str) -> None:
    state = small_disk / "state"
    state.mkdir()
    match what:
        case "a file":
            state.rmdir()
            state.touch()
        case "read-only":
            linux.mount("tmpfs", small_disk, "tmpfs", MS_REMOUNT | MS_RDONLY)
        case _:
            fill(small_disk)
            if what == "almost full":
                os.truncate(small_disk / "ballast", (1 << 20) - 3 * 4096)
    with pytest.raises(MachineError) as failure:
        MachineRun.open(root=state)
    assert re.fullmatch(
        f"no run can be kept in {state}: .*; set HIGHWATER_STATE_DIR to another directory", str(failure.value)
    )
    assert state.is_file() or list(state.iterdir()) == []


@pytest.mark.whole_machine
def test_a_full_state_directory_keeps_nothing_from_being_healed(
    highwater: Any, small_disk: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HIGHWATER_STATE_DIR", str(small_disk))
    run = MachineRun.open(root=small_disk)
    barriers = [tmp_path / f"barrier-{number}" for number in range(120)]
    for path in barriers:
        run.make(StartBarrier(str(path)))
    fill(small_disk)
    abandon(run)
    status, out, err = highwater()
    assert (status, err) == (0, ""), out
    assert out.count("undone: start barrier") == len(barriers)
    assert not run.path.exists()
    assert not any(path.exists() for path in barriers)


def test_a_second_process_works_on_the_same_run(machine: Any, state: Path) -> None:
    other = MachineRun.attach(machine.run.id, root=state)
    process = other.make(machine_process(machine, "sleep"))
    assert [resource.KIND for _, resource in machine.run.outstanding()] == ["process"]
    assert machine.run.undo(process)
    with pytest.raises(RunGoneError):
        MachineRun.attach("abc123", root=state)


def machine_process(machine: Any, name: str) -> Any:
    return Process(name, machine.run.directory, spawn=Spawn(["sleep", "1000"], machine.folder / "log"))


@pytest.mark.parametrize("ends", ["before it begins", "while it begins", "later"])
def test_there_is_no_run_that_no_guardian_watches(state: Path, await_true: Any, ends: str) -> None:
    """Whoever starts it may be killed before it reads ``ready``: no moment is left in which a directory stays."""
    state.mkdir()
    with subprocess.Popen(["sleep", "1000"]) as maker:
        owner = Identity.of_child(maker.pid)
        if ends == "before it begins":
            maker.kill()
            maker.wait()
        command = own_program(GUARDIAN_MODULE, str(state / "abcdef"), "--begin", "", str(owner.pid), str(owner.started))
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as guardian:
            assert guardian.stdout is not None
            if ends == "later":
                assert guardian.stdout.readline() == b"ready\n"
            guardian.stdout.close()
            if ends == "while it begins":
                await_true((state / "abcdef" / "guardian").exists, "it has begun")
            maker.kill()
            maker.wait()
            assert guardian.wait(60) == 0
    assert list(state.iterdir()) == []


@pytest.mark.parametrize("after_ms", [0, 5, 20, 40, 60, 80, 100, 150])
def test_a_maker_killed_while_it_begins_leaves_nothing(state: Path, await_true: Any, after_ms: int) -> None:
    child = os.fork()
    if child == 0:
        MachineRun.open(root=state)
        signal.pause()
    time.sleep(after_ms / 1000)  # the moment is the case
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    # A guardian that is just being started may still begin, and ends at once.
    await_true(lambda: not guardians_below(state), "its guardian has ended")
    assert not state.is_dir() or list(state.iterdir()) == []


def guardians_below(state: Path) -> list[int]:
    below = os.fsencode(f"{state}/")
    return [pid for pid in pids() if any(word.startswith(below) for word in command_of(pid))]


def test_a_guardian_that_does_not_start(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("highwater_chaos.machine.runs.run.GUARDIAN_MODULE", "highwater_chaos.no_such_module")
    with pytest.raises(MachineError, match=r"did not start .exit status 1.*No module named"):
        MachineRun.open(root=state)
    assert run_directories(state) == []
