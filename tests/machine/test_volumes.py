"""Real ext4 and XFS: what a power loss takes, what full and failing disks say, and that all of it is undone."""

from __future__ import annotations

import contextlib
import errno
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from processes import states

from highwater_chaos.machine.disk import loop, power_loss
from highwater_chaos.machine.disk.freezing import thaw
from highwater_chaos.machine.disk.power_loss import FLUSH_NOTHING, PowerLoss, shut_down, try_to_write
from highwater_chaos.machine.disk.volumes import MIB, SMALLEST, Volume, users_of
from highwater_chaos.machine.disk.wipe import Wipe
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.disk_error import DiskError
from highwater_chaos.machine.faults.disk_freeze import DiskFreeze
from highwater_chaos.machine.faults.disk_full import DiskFull
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.runs.run import MachineRun

pytestmark = [pytest.mark.whole_machine, pytest.mark.parametrize("kind", ["ext4", "xfs"])]

PAGE = os.sysconf("SC_PAGESIZE")


def write(path: Path, data: bytes, *, sync: bool) -> None:
    with path.open("ab") as file:
        file.write(data)
        file.flush()
        if sync:
            os.fsync(file.fileno())
    if sync:
        folder = os.open(path.parent, os.O_RDONLY)
        os.fsync(folder)
        os.close(folder)


def test_a_power_loss_keeps_what_was_synced_and_nothing_else(machine: Any, kind: Any) -> None:
    point = Path(machine.volume(kind).mount_point)
    write(point / "synced", b"s" * 10_000, sync=True)
    write(point / "grown", b"s" * 10_000, sync=True)
    write(point / "grown", b"l" * 10_000, sync=False)
    write(point / "later", b"l" * 5_000, sync=False)
    volume = machine.run.outstanding()[0][1]
    loss = machine.run.make(PowerLoss(volume)).resource
    assert (point / "synced").read_bytes() == b"s" * 10_000
    assert (point / "grown").read_bytes() == b"s" * 10_000
    assert not (point / "later").exists()
    assert (loss.files, loss.bytes, loss.lost_bytes, loss.lost_files) == (3, 35_000, 15_000, 1)
    assert loss.dirty_bytes is None or loss.dirty_bytes >= 15_000
    assert loss.left() is None
    assert try_to_write(point) is None


@pytest.mark.quick("ext4")
def test_after_the_lights_went_out_every_write_fails(machine: Any, kind: Any) -> None:
    volume = machine.volume(kind)
    point = Path(volume.mount_point)
    with (point / "file").open("wb", buffering=0) as file:
        file.write(b"before")
        shut_down(point, FLUSH_NOTHING)
        for attempt in (lambda: file.write(b"after"), lambda: os.fsync(file.fileno()), (point / "other").touch):
            with pytest.raises(OSError, match=os.strerror(errno.EIO)):
                attempt()
    loss = PowerLoss(volume)
    assert "EIO" in str(loss.left())
    loss.undo()
    assert loss.left() is None
    assert list(point.glob("[fo]*")) == []


@pytest.mark.quick("0-ext4", "196608-xfs")
@pytest.mark.parametrize("synced", [0, 3 * 16 * PAGE])
def test_a_prefix_survives(machine: Any, kind: Any, synced: int) -> None:
    point = Path(machine.volume(kind).mount_point)
    later = 64 * 16 * PAGE
    write(point / "log", b"s" * synced, sync=True)
    write(point / "log", b"l" * later, sync=False)
    loss = machine.run.make(PowerLoss(machine.run.outstanding()[0][1], keep="prefix")).resource
    found = (point / "log").read_bytes()
    assert found == b"s" * synced + b"l" * (len(found) - synced)
    assert 0 < len(found) - synced < later
    assert loss.lost_bytes == synced + later - len(found)


@pytest.mark.quick("ext4")
def test_a_torn_file_has_a_hole(machine: Any, kind: Any) -> None:
    point = Path(machine.volume(kind).mount_point)
    synced, later = 3 * 16 * PAGE, 64 * 16 * PAGE
    write(point / "log", b"s" * synced, sync=True)
    write(point / "log", b"l" * later, sync=False)
    loss = machine.run.make(PowerLoss(machine.run.outstanding()[0][1], keep="torn")).resource
    found = (point / "log").read_bytes()
    assert found.startswith(b"s" * synced + b"\0")
    assert found.endswith(b"l" * 16 * PAGE)
    assert loss.lost_bytes == found.count(b"\0") > 0


@pytest.mark.quick("ext4")
def test_a_power_loss_takes_its_processes(machine: Any, kind: Any) -> None:
    volume = machine.volume(kind)
    point = Path(volume.mount_point)
    script = "exec > written; while :; do echo $((n += 1)); done"
    process = machine.process("sh", "-c", script, directory=point)
    while not (point / "written").exists() or not (point / "written").stat().st_size:
        assert process.state() == "running"
    assert process.identity in users_of(point)
    loss = machine.run.make(PowerLoss(volume, (process,))).resource
    assert process.state() == "gone"
    assert loss.lost_bytes > 0
    assert "Input/output error" not in (machine.folder / "log").read_text(), "no process saw its disk fail"


@pytest.mark.quick("before-ext4", "after-xfs")
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_power_loss_that_fails_leaves_no_process_stopped(
    machine: Any, kind: Any, when: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever fails: before anything is lost the processes go on; after that they have lost power."""
    volume = machine.volume(kind)
    process = machine.process("sleep", "1000", directory=Path(volume.mount_point))
    real, calls = power_loss.held_bytes, []

    def fails(*arguments: Any) -> Any:
        calls.append(process.state())
        if when == "before":
            raise RecursionError("too deep")
        counted = real(*arguments)
        shut_down(Path(volume.mount_point), FLUSH_NOTHING)
        raise OSError(errno.ENOMEM, f"{len(counted.sizes)} counted")

    monkeypatch.setattr(power_loss, "held_bytes", fails)
    outstanding = machine.run.outstanding()
    with pytest.raises((RecursionError, OSError)):
        machine.run.make(PowerLoss(volume, (process,)))
    assert calls == ["stopped"]
    assert process.state() == ("running" if when == "before" else "gone")
    assert try_to_write(Path(volume.mount_point)) is None
    assert machine.run.outstanding() == outstanding


def test_full(machine: Any, kind: Any) -> None:
    volume = machine.volume(kind)
    point = Path(volume.mount_point)
    write(point / "log", b"x" * MIB, sync=False)
    held = machine.run.make(DiskFull(volume))
    assert held.resource.seen().details["met"] == "ENOSPC"
    with pytest.raises(OSError, match=os.strerror(errno.ENOSPC)):
        write(point / "log", b"x" * MIB, sync=True)
    machine.run.undo(held)
    assert held.resource.seen().details["met"] == "ok"
    write(point / "log", b"x" * MIB, sync=True)


@pytest.mark.quick("xfs")
def test_error_loses_nothing_and_heals(machine: Any, kind: Any) -> None:
    volume = machine.volume(kind)
    point = Path(volume.mount_point)
    write(point / "log", b"x" * MIB, sync=False)
    process = machine.process("sleep", "1000", directory=point)
    held = machine.run.make(DiskError(volume))
    assert held.resource.seen().details["met"] == "EIO"
    assert process.state() == "running"
    machine.run.undo(held)
    assert held.resource.seen().details["met"] == "ok"
    assert (point / "log").read_bytes() == b"x" * MIB
    assert process.state() == "gone", "its open files could never work again"


@pytest.mark.quick("ext4")
def test_power_loss_of_a_failing_disk(machine: Any, kind: Any) -> None:
    volume = machine.volume(kind)
    error = machine.run.make(DiskError(volume))
    machine.run.make(PowerLoss(volume))
    assert error.resource.left() is None
    assert try_to_write(Path(volume.mount_point)) is None


def waiting_writer(machine: Any, point: Path) -> Any:
    """A process that writes all the time."""
    process = machine.process("sh", "-c", "while echo more; do sleep 0.01; done > written", directory=point)
    while not (point / "written").exists() or not (point / "written").stat().st_size:
        assert process.state() == "running"
    return process


def waits_in_the_kernel(process: Any) -> bool:
    return any("D" in states(one.pid) for one in process.members())


def test_a_frozen_disk_takes_no_writes_until_it_is_thawed(machine: Any, kind: Any, await_true: Any) -> None:
    volume = machine.volume(kind)
    point = Path(volume.mount_point)
    write(point / "log", b"x" * MIB, sync=False)
    process = waiting_writer(machine, point)
    held = machine.run.make(DiskFreeze(volume))
    assert dirty_bytes(point / "log") in (None, 0), "what was written is durable"
    await_true(lambda: waits_in_the_kernel(process), "the writer waits")
    size = (point / "written").stat().st_size
    began = time.monotonic()
    assert [held.resource.seen().details["met"] for _ in range(2)] == ["blocked", "blocked"]
    assert time.monotonic() - began < 10, "nobody waits for a probe"
    assert (point / "log").read_bytes() == b"x" * MIB, "reads go on"
    assert (point / "written").stat().st_size == size
    with pytest.raises(MachineError, match=f"frozen disk {kind} cannot be made: there is volume {kind}, where a"):
        machine.run.make(DiskFreeze(volume))
    process.signal(signal.SIGKILL)
    assert not process.wait_gone(0.2), "no signal reaches it"
    assert held.resource.seen().details["met"] == "blocked", "the second attempt has thawed nothing"
    machine.run.undo(held)
    assert held.resource.seen().details["met"] == "ok"
    assert process.wait_gone(10)
    assert held.resource.left() is None
    assert not list(point.glob(".*")), "a probe leaves no name"


TWO_THREADS = """
import sys, threading, time
threading.Thread(target=lambda: open(sys.argv[1], "w").write("x" * 10_000)).start()
time.sleep(1000)
"""


@pytest.mark.quick("ext4")
def test_a_process_is_paused_only_when_all_of_its_threads_are(machine: Any, kind: Any, await_true: Any) -> None:
    """The first thread stops at once; one that writes to a frozen disk does not until its write returns."""
    volume = machine.volume(kind)
    held = machine.run.make(DiskFreeze(volume))
    process = machine.process(sys.executable, "-c", TWO_THREADS, str(Path(volume.mount_point) / "file"))
    pid = process.identity.pid
    await_true(lambda: states(pid) == ["D", "S"], "one waits in the kernel")
    process.signal(signal.SIGSTOP)
    await_true(lambda: states(pid) == ["D", "T"], "the first one has stopped")
    assert process.state() == "running"
    machine.run.undo(held)
    await_true(lambda: process.state() == "stopped", "and so has the other")
    assert states(pid) == ["T", "T"]


def dirty_bytes(path: Path) -> int | None:
    with path.open("rb") as file:
        return linux.dirty_bytes(file.fileno())


@pytest.mark.quick("power loss-ext4", "wipe-ext4", "volume-xfs")
@pytest.mark.parametrize("end", ["volume", "run", "power loss", "disk error", "wipe"])
def test_what_waits_for_a_frozen_disk_is_in_nobodys_way(
    machine: Any, kind: Any, end: str, state: Path, leftovers: Any, await_true: Any
) -> None:
    volume = machine.volume(kind)
    point = Path(volume.mount_point)
    write(point / "log", b"x" * MIB, sync=False)
    process = waiting_writer(machine, point)
    frozen = machine.run.make(DiskFreeze(volume)).resource
    await_true(lambda: waits_in_the_kernel(process), "the writer waits")
    assert frozen.seen().details["met"] == "blocked"
    match end:
        case "volume":
            volume.undo()
            assert volume.left() is None
        case "run":
            late = machine.process("touch", str(point / "late"))
            await_true(lambda: waits_in_the_kernel(late), "what came later waits too")
            ended = machine.run.close()
            assert ended.undone[:2] == [f"frozen disk {kind}", late.describe()], "though it is not the newest"
            assert ended.left == []
            assert leftovers(state) == []
        case "power loss":
            loss = machine.run.make(PowerLoss(volume, (process,))).resource
            assert loss.left() is None
            assert (point / "log").read_bytes() == b"x" * MIB, "it was durable when the disk was frozen"
        case "disk error":
            error = machine.run.make(DiskError(volume))
            await_true(lambda: not waits_in_the_kernel(process), "its write fails")
            assert error.resource.seen().details["met"] == "EIO"
            machine.run.undo(error)
            assert process.wait_gone(10), "killed, or ended by the error"
        case "wipe":
            assert machine.run.make(Wipe(volume)).resource.empty()
    assert process.state() == "gone"
    assert frozen.left() is None


@pytest.mark.quick("ext4")
def test_only_a_mount_point_is_frozen(machine: Any, kind: Any) -> None:
    volume = machine.volume(kind)
    volume.unmount()
    Path(volume.mount_point).mkdir()
    with pytest.raises(MachineError, match="is not a mount point; refusing to freeze the file system"):
        machine.run.make(DiskFreeze(volume))
    assert not thaw(Path(volume.mount_point))


@pytest.mark.quick("ext4")
def test_wipe(machine: Any, kind: Any) -> None:
    volume = machine.volume(kind)
    point = Path(volume.mount_point)
    write(point / "log", b"x" * MIB, sync=True)
    (point / "folder").mkdir()
    held = machine.run.make(Wipe(volume))
    assert held.resource.empty()
    assert try_to_write(point) is None


@pytest.mark.quick("ext4")
def test_a_wipe_that_stopped_in_the_middle(machine: Any, kind: Any) -> None:
    volume = machine.volume(kind)
    volume.unmount()
    with Path(volume.image).open("r+b", buffering=0) as image:
        image.write(bytes(MIB))
    wipe = Wipe(volume)
    assert wipe.left() is not None
    wipe.undo()
    assert wipe.left() is None
    assert wipe.empty()


def test_undo_leaves_nothing_whatever_state_it_is_in(machine: Any, kind: Any) -> None:
    volume = machine.volume(kind)
    volume.unmount()
    volume.undo()
    assert volume.left() is None
    volume.undo()
    volume.make(())
    shut_down(Path(volume.mount_point), FLUSH_NOTHING)
    volume.undo()
    assert volume.left() is None
    assert not Path(volume.mount_point).exists()


@dataclass
class Elsewhere:
    """Processes of somebody else with mount namespaces of their own, and what they hold there."""

    holds: str
    started: list[subprocess.Popen[str]] = field(default_factory=list)

    def start(self, point: Path) -> None:
        script = f"{self.holds.format(point)}; echo ready; exec sleep 1000"
        process = subprocess.Popen(["unshare", "--mount", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        self.started.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"

    def live(self) -> bool:
        return all(process.poll() is None for process in self.started)

    def end(self) -> None:
        for process in self.started:
            process.kill()
            process.wait()
            assert process.stdout is not None
            process.stdout.close()
        self.started.clear()


@pytest.fixture(params=[":", "cd {0}", "exec 3>{0}/theirs; echo theirs >&3"], ids=["copy", "directory", "file"])
def elsewhere(request: Any) -> Iterator[Elsewhere]:
    others = Elsewhere(request.param)
    yield others
    others.end()


def loops_over(folder: Path) -> list[str]:
    """Loop devices over files below a folder, given back or not."""
    files = []
    for path in Path("/sys/block").glob("loop*/loop/backing_file"):
        with contextlib.suppress(OSError):
            files.append(path.read_text(errors="surrogateescape").strip())
    return [file for file in files if file.startswith(str(folder))]


@pytest.mark.quick("ext4")
def test_who_is_about_to_end_keeps_no_image(machine: Any, kind: Any) -> None:
    """Its copy of the mount has gone, and it lets go of the file system a moment later. The image is not copied, for
    which the disk below may have no room."""
    volume = machine.volume(kind)
    ending = Elsewhere("exec 3>{0}/theirs")
    ending.start(Path(volume.mount_point))
    image = Path(volume.image).stat().st_ino
    volume.unmount()
    assert loop.is_claimed(Path(volume.image))
    end = threading.Timer(0.1, ending.end)
    end.start()
    try:
        volume.mount()
    finally:
        end.join()
    assert Path(volume.image).stat().st_ino == image


@pytest.mark.quick("file-power loss-ext4", "directory-disk error-xfs", "copy-power loss-ext4")
@pytest.mark.parametrize("fault", ["power loss", "disk error"])
def test_a_mount_namespace_of_somebody_else_is_not_in_the_way(
    state: Path, kind: Any, elsewhere: Elsewhere, fault: str, leftovers: Any, await_true: Any
) -> None:
    with MachineRun.open(root=state) as run:
        place = run.path / "volume"
        volume = run.make(Volume("v", run.directory, f"{place}.img", str(place), kind, SMALLEST[kind])).resource
        for number in range(2):
            elsewhere.start(place)
            write(place / f"synced-{number}", b"s" * 10_000, sync=True)
            write(place / f"later-{number}", b"l" * 5_000, sync=False)
            if fault == "power loss":
                loss = run.make(PowerLoss(volume)).resource
                assert loss.lost_files == 1
                assert loss.left() is None
                assert not (place / f"later-{number}").exists()
            else:
                run.undo(run.make(DiskError(volume)))
                assert (place / f"later-{number}").read_bytes() == b"l" * 5_000
            for earlier in range(number + 1):
                assert (place / f"synced-{earlier}").read_bytes() == b"s" * 10_000
            assert try_to_write(place) is None
            assert len(loop.devices_of(Path(volume.image))) == 1
            assert elsewhere.live(), "nobody of ours"
        elsewhere.end()
        await_true(lambda: len(loops_over(state)) == 1, "the old devices went with their holders")
        assert fsck(volume) == 0, "and wrote nothing into the file system that goes on"
        elsewhere.start(place)
        assert run.make(Wipe(volume)).resource.empty()
        elsewhere.start(place)
    assert leftovers(state) == []
    assert elsewhere.live()
    elsewhere.end()
    await_true(lambda: not loops_over(state), "the last device went with its holder")


def fsck(volume: Volume) -> int:
    program = {"ext4": ["e2fsck", "-fn"], "xfs": ["xfs_repair", "-n"]}[volume.file_system]
    volume.unmount()
    status = subprocess.run([*program, volume.image], capture_output=True, check=False).returncode
    volume.mount()
    return status


@pytest.mark.quick("file-ext4", "directory-xfs")
def test_a_kept_image_keeps_what_was_written_whoever_holds_it(machine: Any, kind: Any, elsewhere: Elsewhere) -> None:
    image, point = machine.folder / "kept.img", machine.run.path / "kept"
    volume = Volume("kept", machine.run.directory, str(image), str(point), kind, SMALLEST[kind], keep_image=True)
    for number in range(3):
        held = machine.run.make(volume)
        elsewhere.start(point)
        for earlier in range(number):
            assert (point / f"file-{earlier}").read_bytes() == b"x" * 10_000
        write(point / f"file-{number}", b"x" * 10_000, sync=False)
        machine.run.undo(held)
        assert volume.left() is None


@pytest.mark.quick("ext4")
def test_an_image_that_is_kept(machine: Any, kind: Any, tmp_path: Path) -> None:
    image, point = tmp_path / "kept.img", machine.run.path / "kept"
    volume = Volume("kept", machine.run.directory, str(image), str(point), kind, SMALLEST[kind], keep_image=True)
    for number in range(2):
        held = machine.run.make(volume)
        write(point / f"file-{number}", b"x", sync=True)
        machine.run.undo(held)
        assert volume.left() is None
    machine.run.make(volume)
    assert {path.name for path in point.iterdir()} >= {"file-0", "file-1"}


def test_too_small(machine: Any, kind: Any) -> None:
    with pytest.raises(MachineError, match=f"{kind} needs {SMALLEST[kind] // MIB} MiB, not 1"):
        machine.volume(kind, MIB)
    assert machine.run.outstanding() == []


@pytest.mark.quick("ext4")
def test_a_volume_that_exists_is_not_made_again_and_stays(machine: Any, kind: Any) -> None:
    volume = machine.volume(kind)
    write(Path(volume.mount_point) / "log", b"x", sync=True)
    with pytest.raises(MachineError, match=f"cannot be made: there is mount {volume.mount_point}"):
        machine.volume(kind)
    assert (Path(volume.mount_point) / "log").read_bytes() == b"x"


@pytest.mark.quick("ext4")
def test_an_image_to_keep_must_not_lie_where_it_is_deleted(machine: Any, kind: Any) -> None:
    place = machine.run.path / "kept"
    volume = Volume("kept", machine.run.directory, f"{place}.img", str(place), kind, SMALLEST[kind], keep_image=True)
    with pytest.raises(MachineError, match="cannot be kept"):
        machine.run.make(volume)
