"""Other users' processes and paths with names that no program expects: nothing of ours stumbles over them."""

from __future__ import annotations

import errno
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.machine.disk import loop
from highwater_chaos.machine.disk.mount_copies import device_at, holders
from highwater_chaos.machine.disk.power_loss import FLUSH_NOTHING, shut_down
from highwater_chaos.machine.disk.volumes import SMALLEST, Volume, users_of
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux, proc
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.network.namespaces import namespace_of, place_of
from highwater_chaos.machine.process.control_groups import group_paths
from highwater_chaos.machine.process.processes import RUN_MARK, marked, marks
from highwater_chaos.machine.runs.heal import heal
from highwater_chaos.machine.runs.run import MachineRun
from highwater_runtime.host.files.file_system import kind_of

ROOT = os.geteuid() == 0
NAME = b"datenbank-m\xc3) R\x1b\n"
"""Cut inside of a letter, as the kernel does with long names; a parenthesis, and what a terminal obeys."""
PLACE = "m\u00e9 \u3000\\x \t\n\x1c\udcc3) R"
"""Of a mount: octal in mountinfo, and what str.split and str.splitlines take for the end of a field or line."""


@pytest.fixture
def hostile(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    program = os.fsencode(tmp_path) + b"/" + NAME
    shutil.copy(shutil.which("sleep") or "", program)
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/cwd \xff\n"))
    directory.mkdir()
    environment = {
        b"\xff": b"\xfe\n",
        RUN_MARK.encode(): os.fsencode(tmp_path) + b"/state/gone/\xc3\n\x1b[31m",
        **{b"LONG%d" % number: b"\xe9" * 100_000 for number in range(10)},
    }
    child = subprocess.Popen([program, b"1000"], cwd=directory, env=environment)
    until = time.monotonic() + 60
    while not proc.command_of(child.pid):  # the kernel puts its arguments in place
        assert time.monotonic() < until
    yield child
    child.kill()
    child.wait()


def test_a_process_with_any_name_is_read_as_others_are(hostile: subprocess.Popen[bytes]) -> None:
    identity = Identity.of(hostile.pid)
    assert identity is not None
    assert identity.state() == "running"
    assert proc.command_of(hostile.pid)[0].endswith(NAME)
    assert proc.variable_of(hostile.pid, RUN_MARK).endswith("/state/gone/\udcc3\n\x1b[31m")  # type: ignore[union-attr]
    assert [one for one, _ in marks(RUN_MARK) if one == identity]
    assert marked(RUN_MARK, "/nowhere") == []
    assert hostile.pid in dict(group_paths()) or not list(group_paths())
    assert place_of(str(namespace_of(hostile.pid))) is not None
    hostile.kill()
    assert identity.wait_gone(10)


def test_heal_tells_what_it_ends(hostile: subprocess.Popen[bytes], tmp_path: Path) -> None:
    command = [str(Path(sys.executable).with_name("highwater")), "heal", "--json"]
    environment = {**os.environ, "HIGHWATER_STATE_DIR": str(tmp_path / "state"), "LC_ALL": "C.UTF-8"}
    for options in ([], ["--dry-run"]):
        command_line = [*command[:2], *options]
        done = subprocess.run(command_line, env=environment, capture_output=True, text=True, timeout=120, check=False)
        assert (done.returncode, done.stderr) == (0, ""), command_line
    assert hostile.wait(10) == -9
    assert "\x1b" not in done.stdout


@pytest.mark.parametrize(
    "locale", [{"LC_ALL": "C.UTF-8"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}]
)
def test_a_name_that_is_no_text_ends_no_command(tmp_path: Path, locale: dict[str, str]) -> None:
    state = os.fsencode(tmp_path) + b"/m\xc3\xa9\xff"
    command = [str(Path(sys.executable).with_name("highwater")), "heal"]
    environment = {**os.environb, **{key.encode(): value.encode() for key, value in locale.items()}}
    environment[b"HIGHWATER_STATE_DIR"] = state
    done = subprocess.run(command, env=environment, capture_output=True, timeout=120, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.startswith(b"nothing to heal in " + os.fsencode(tmp_path))


@pytest.mark.skipif(not ROOT, reason="needs root, who can be anybody")
def test_a_process_of_another_user_is_of_no_run(tmp_path: Path) -> None:
    """It chose its mark itself."""
    environment = {RUN_MARK: str(tmp_path / "abcdef"), "PATH": os.environ["PATH"]}
    with subprocess.Popen(["sleep", "1000"], env=environment, cwd="/", user=65534) as child:
        try:
            assert [one.pid for one in marked(RUN_MARK, str(tmp_path / "abcdef"))] == []
            assert heal(tmp_path) == []
            assert child.poll() is None
        finally:
            child.kill()


@pytest.mark.skipif(not ROOT, reason="mounts need root")
def test_a_mount_point_with_any_name_is_found(machine: Any, tmp_path: Path) -> None:
    point = tmp_path / PLACE
    point.mkdir()
    linux.mount("tm\u00e9 pfs", point, "tmpfs")
    try:
        assert linux.mount_points(tmp_path) == [point]
        assert linux.mounted_at(point) == ["tm\u00e9 pfs"]
        assert kind_of(str(point)) == "tmpfs"
        number = linux.device_at(point)
        assert number is not None
        assert device_at(Identity.own(), str(point)) == number
        user = subprocess.Popen(["/bin/sleep", "1000"], cwd=point)
        copier = subprocess.Popen(
            ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c", "echo ready; exec sleep 1000"],
            stdout=subprocess.PIPE,
        )
        try:
            assert copier.stdout is not None
            assert copier.stdout.readline() == b"ready\n"
            assert [one.pid for one in users_of(point)] == [user.pid]
            assert [one.pid for one in holders({number})] == [copier.pid]
        finally:
            for one in (user, copier):
                one.kill()
                one.wait()
    finally:
        linux.umount(point)
    # The volume of a run whose directory is called so, too.
    assert linux.mounted_at(point) == []


@pytest.mark.skipif(not ROOT, reason="volumes need root")
def test_a_run_below_a_directory_with_any_name(tmp_path: Path) -> None:
    from highwater_chaos.machine.disk.volumes import SMALLEST, Volume
    from highwater_chaos.machine.runs.run import MachineRun

    root = tmp_path / PLACE.replace("\udcc3", "\u00c3")
    with MachineRun.open(label="test", root=root) as run:
        path = run.path / "ext4"
        held = run.make(Volume("v", run.directory, f"{path}.img", str(path), "ext4", SMALLEST["ext4"]))
        assert held.resource.mounted()
        assert run.undo(held)
        assert not held.resource.mounted()
    assert linux.mount_points(root) == []


def test_a_lack_of_descriptors_does_not_look_like_a_process_that_is_gone(hostile: subprocess.Popen[bytes]) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        for look in (proc.stat_of, proc.command_of, proc.groups_of, lambda pid: proc.variable_of(pid, RUN_MARK)):
            with pytest.raises(OSError, match="Too many") as caught:
                look(hostile.pid)
            assert caught.value.errno == errno.EMFILE
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_what_a_process_shows_of_itself_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(proc, "_MOST_LINE", 64)
    file = tmp_path / "lines"
    file.write_bytes(
        b"1 2 7:3 / /x" + b"y" * 10_000 + b" rw - ext4 s\n" + b"1 2 7:4 / /z rw shared:1 - ext4 \\303\\251\\040\n"
    )
    real = proc._lines
    monkeypatch.setattr(proc, "_lines", lambda place, ours=False: real(str(file)))
    long, short = proc.mounts(1)
    assert (long.device, len(long.point) < 64) == ("7:3", True)
    assert short == proc.Mount("7:4", "/z", "\u00e9 ", stays=False)
    assert json.loads(json.dumps(proc.shown("a\x1b\udcc3" * 200))).isprintable()


def test_one_module_reads_proc() -> None:
    """Others open namespaces, roots and descriptors there, which are no text, and one writes the trigger of a reset."""
    packages = Path(__file__).parents[2]
    reading = re.compile(r"""/proc(?!/self/fd/|/\{[a-z.\[\]0-9]+\}/(root|ns/)|/self/task/|/\[0-9\]|/sysrq-trigger)""")
    found = []
    for folder in ("chaos/highwater_chaos/machine", "operator/highwater_operator/agent"):
        for path in sorted((packages / folder).rglob("*.py")):
            code = re.sub(r'"""(?s:.*?)"""|#.*', "", path.read_text())
            found += [path.name for _ in reading.finditer(code) if path.name != "proc.py"]
    assert found == []


@pytest.mark.whole_machine
def test_what_is_no_mount_point_is_never_shut_down(tmp_path: Path) -> None:
    with pytest.raises(MachineError, match="is not a mount point"):
        shut_down(tmp_path, FLUSH_NOTHING)
    assert linux.mounted_at(tmp_path) == []
    (tmp_path / "still").touch()


@pytest.mark.whole_machine
def test_a_state_directory_behind_a_symbolic_link(tmp_path: Path, leftovers: Any) -> None:
    (tmp_path / "real").mkdir()
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "real")
    with MachineRun.open(root=link) as run:
        place = link / run.id / "volume"
        volume = Volume("v", run.directory, f"{place}.img", str(place), "ext4", SMALLEST["ext4"])
        held = run.make(volume)
        assert volume.mounted()
        assert len(loop.devices_of(Path(volume.image))) == 1
        run.undo(held)
        assert not volume.mounted()
    assert leftovers(tmp_path / "real") == []
