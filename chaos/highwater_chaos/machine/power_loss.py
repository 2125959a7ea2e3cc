"""A machine that loses power: its processes end in the middle of an instruction, and what was not on disk is gone.

The file system is shut down at once (``FS_IOC_SHUTDOWN``), which throws away what only memory held. The processes are
killed. The file system is mounted again, so that its journal is replayed as after a reboot. What
each way of going down keeps was found by experiment, on ext4 and XFS alike:

==========  ==================  ====================================================================================
``keep``    ioctl flag          what is there afterwards
==========  ==================  ====================================================================================
``none``    ``NOLOGFLUSH`` (2)  what was fsynced, and what the kernel had happened to write back by itself
``prefix``  ``LOGFLUSH`` (1)    the same; every creation, rename and removal; and of the bytes that only memory had, in
                                each file the leading half, cut at a page: a record may end in the middle
``torn``    ``LOGFLUSH`` (1)    the same, but the *last* half: before it lies a hole of zeros, as after writeback that
                                was under way in another order
==========  ==================  ====================================================================================

What an fsync covered is always there: with ext4 an fsync of one file also commits every creation and rename before it,
with XFS too. ``LOGFLUSH`` alone keeps names but no bytes (new files exist and are empty), so the halves are first
written back with ``sync_file_range``, which makes data reach the disk and no metadata.

Limits: the device's own cache is taken as safe, and dirty pages older than the kernel's expiry (30 s) are normally on
disk already, as they are on a real machine.
"""

from __future__ import annotations

import array
import errno
import fcntl
import os
import signal
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Final, Literal, Self

from highwater_chaos.machine import linux
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.freezing import thaw
from highwater_chaos.machine.processes import Process
from highwater_chaos.machine.resource import TRANSIENT
from highwater_chaos.machine.sparse import data_ranges
from highwater_chaos.machine.volumes import Volume
from highwater_chaos.machine.write_probe import probe_write

SHUTDOWN: Final = 0x8004587D
"""``FS_IOC_SHUTDOWN``: XFS's own of old (``XFS_IOC_GOINGDOWN``), and since Linux 4.11 ext4's too."""
FLUSH_ALL: Final = 0
FLUSH_LOG: Final = 1
FLUSH_NOTHING: Final = 2

Keep = Literal["none", "prefix", "torn"]
_STOPPED_WITHIN: Final = 2.0


@dataclass(frozen=True, slots=True)
class PowerLoss:
    """``volume`` and the ``processes`` on it lose power.

    ``lost_bytes``: how many fewer bytes its files hold afterwards (holes not counted), and ``lost_files``: how many of
    them are not there any more, of ``files`` that held ``bytes``. ``dirty_bytes``: what memory alone had, in whole
    pages, overwritten ones too; None where the kernel does not tell."""

    KIND: ClassVar[str] = "power loss"
    ALONE: ClassVar[bool] = False
    volume: Volume
    processes: tuple[Process, ...] = ()
    keep: Keep = field(default="none", metadata=TRANSIENT)
    files: int = 0
    bytes: int = 0
    lost_bytes: int = 0
    lost_files: int = 0
    dirty_bytes: int | None = None

    def make(self, _held: Sequence[int]) -> Self:
        """Stop the processes, so that none sees its disk fail first; go down; kill them; come up again."""
        point = Path(self.volume.mount_point)
        members = [member for process in self.processes for member in process.members()]
        for member in members:
            member.send(signal.SIGSTOP)
        # What waits for a frozen disk stops only behind its write.
        self.volume.thaw()
        deadline = time.monotonic() + _STOPPED_WITHIN
        while any(member.state() == "running" for member in members) and time.monotonic() < deadline:
            time.sleep(0.001)
        before: dict[str, int] = {}
        dirty = None
        try:
            # Nothing here may sync: one fsync would make others' files durable too.
            before = held_bytes(point)
            dirty = _dirty(point, before)
            if self.keep != "none":
                for name in before:
                    _write_back_half(point / name, self.keep)
            shut_down(point, FLUSH_NOTHING if self.keep == "none" else FLUSH_LOG)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            # It fails already (a disk error came first) and has lost what it loses.
        for process in self.processes:
            process.undo()
        self.volume.unmount()
        self.volume.mount()
        after = held_bytes(point)
        return replace(
            self,
            files=len(before),
            bytes=sum(before.values()),
            lost_bytes=sum(max(0, size - after.get(path, 0)) for path, size in before.items()),
            dirty_bytes=dirty,
            lost_files=sum(path not in after for path in before),
        )

    def undo(self) -> None:
        """Bring the volume up again, where that did not happen; its processes stay dead."""
        bring_up(self.volume)

    def left(self) -> str | None:
        """Whether the volume is down."""
        return down(self.volume)

    def describe(self) -> str:
        """Whose power."""
        return f"power loss of volume {self.volume.name}"


def shut_down(point: Path, flag: int) -> None:
    """``FS_IOC_SHUTDOWN`` on the file system mounted at ``point``: every later write fails with EIO until it is mounted
    again. A frozen one is thawed first: XFS that is shut down does not even open, so nobody could thaw it any more."""
    thaw(point)
    fd = os.open(point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        # Never the file system that the machine lives on, however wrong the caller's path is.
        if not linux.mounted_at(point):
            raise MachineError(
                f"{point} is not a mount point; refusing to shut down the file system that it is part of"
            )
        fcntl.ioctl(fd, SHUTDOWN, array.array("I", [flag]))
    finally:
        os.close(fd)


def bring_up(volume: Volume) -> None:
    """Mount a volume again that is down: not mounted, or mounted and shut down. Nothing for one that is gone."""
    if down(volume) is None or not Path(volume.image).exists():
        return
    volume.unmount()
    volume.mount()


def down(volume: Volume) -> str | None:
    """Probe: why a volume cannot be used; None: it can, or it does not exist any more."""
    if not Path(volume.image).exists():
        return None
    if not volume.mounted():
        return f"volume {volume.name} is not mounted"
    failure = probe_write(Path(volume.mount_point), volume.run)
    return f"volume {volume.name} fails with {failure}" if failure == "EIO" else None


def try_to_write(point: Path, size: int = 4096) -> str | None:
    """Probe: create a file of ``size`` bytes, sync and remove it; the name of the error that this met (``EIO``,
    ``ENOSPC``), None: it worked."""
    path = point / ".highwater-probe"
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(fd, bytes(size))
            os.fsync(fd)
        finally:
            os.close(fd)
            path.unlink()
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return None


def held_bytes(point: Path) -> dict[str, int]:
    """Bytes that every file below a directory holds, by relative path; holes and space set aside do not count."""
    found = {}
    for folder, _, names in os.walk(point):
        for name in names:
            path = Path(folder) / name
            if path.is_file() and not path.is_symlink():
                with path.open("rb") as file:
                    found[str(path.relative_to(point))] = sum(end - start for start, end in data_ranges(file.fileno()))
    return found


def _write_back_half(path: Path, keep: Keep) -> None:
    # The kernel reports how many pages are dirty, not which. Logs grow at the end: take the last pages.
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        dirty = linux.dirty_bytes(file.fileno())
        half = size - (size if dirty is None else min(dirty, size)) // 2
        if keep == "prefix":
            linux.write_back(file.fileno(), 0, half)
        else:
            linux.write_back(file.fileno(), half, size - half)


def _dirty(point: Path, names: Iterable[str]) -> int | None:
    total = 0
    for name in names:
        with (point / name).open("rb") as file:
            found = linux.dirty_bytes(file.fileno())
        if found is None:
            return None
        total += found
    return total
