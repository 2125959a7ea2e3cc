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
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import ClassVar, Final, Literal, Self

from highwater_chaos.machine.disk.freezing import thaw
from highwater_chaos.machine.disk.volumes import Volume
from highwater_chaos.machine.disk.write_probe import probe_write
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.sparse import data_ranges
from highwater_chaos.machine.kernel.tree import files
from highwater_chaos.machine.process.processes import Process
from highwater_chaos.machine.resource import TRANSIENT

SHUTDOWN: Final = 0x8004587D
"""``FS_IOC_SHUTDOWN``: XFS's own of old (``XFS_IOC_GOINGDOWN``), and since Linux 4.11 ext4's too."""
FLUSH_ALL: Final = 0
FLUSH_LOG: Final = 1
FLUSH_NOTHING: Final = 2

Keep = Literal["none", "prefix", "torn"]
_STOPPED_WITHIN: Final = 2.0
_GET_VERSION: Final = 0x80087601
_MOST_FILES: Final = 1_000_000
_COUNTS_FOR: Final = 60.0


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
        before = Contents()
        try:
            # Nothing here may sync: one fsync would make others' files durable too.
            before = held_bytes(point, None if self.keep == "none" else self.keep)
            shut_down(point, FLUSH_NOTHING if self.keep == "none" else FLUSH_LOG)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            # It fails already (a disk error came first) and has lost what it loses.
        for process in self.processes:
            process.undo()
        self.volume.unmount()
        self.volume.mount()
        after = held_bytes(point).sizes
        return replace(
            self,
            files=len(before.sizes),
            bytes=sum(before.sizes.values()),
            lost_bytes=sum(max(0, size - after.get(file, 0)) for file, size in before.sizes.items()),
            dirty_bytes=before.dirty,
            lost_files=sum(file not in after for file in before.sizes),
        )

    def undo(self) -> None:
        """Bring the volume up again, where that did not happen; its processes stay dead. Those that were stopped before
        anything was lost go on."""
        if down(self.volume) is None:
            for member in self._stopped():
                member.send(signal.SIGCONT)
            return
        for process in self.processes:
            process.undo()
        bring_up(self.volume)

    def left(self) -> str | None:
        """Whether the volume is down, or a process is stopped."""
        stopped = ", ".join(str(member.pid) for member in self._stopped())
        return down(self.volume) or (f"processes stopped (pid {stopped})" if stopped else None)

    def _stopped(self) -> list[Identity]:
        members = [member for process in self.processes for member in process.members()]
        return [member for member in members if member.state() == "stopped"]

    def describe(self) -> str:
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


def try_to_write(directory: Path, size: int = 4096) -> str | None:
    """Probe: write and sync a file of ``size`` bytes that has no name (see :mod:`~.write_probe`); the name of the error
    that this met (``EIO``, ``ENOSPC``), None: it worked."""
    try:
        with tempfile.TemporaryFile(dir=directory, buffering=0) as file:
            file.write(bytes(size))
            os.fsync(file.fileno())
    except OSError as error:
        return errno.errorcode.get(error.errno or 0, str(error))
    return None


@dataclass(slots=True)
class Contents:
    """What the files of a volume hold: the bytes of each, by inode and generation, as far as they were looked at; and
    the bytes that only memory has of them, None where the kernel does not tell."""

    sizes: dict[tuple[int, int], int] = field(default_factory=dict)
    dirty: int | None = None


def held_bytes(point: Path, write_back: Keep | None = None) -> Contents:
    """Bytes that every file below a directory holds; holes and space set aside do not count. At most a million files
    and a minute's worth are looked at: the owner of the disk has put them there. ``write_back``: of each file, the
    half that is to survive is written to the disk, without anything being made durable."""
    held = Contents(dirty=0)
    until = time.monotonic() + _COUNTS_FOR
    top = os.open(point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for fd in islice(files(top), _MOST_FILES):
            number = array.array("q", [0])
            fcntl.ioctl(fd, _GET_VERSION, number)
            key = os.fstat(fd).st_ino, number[0]
            if key not in held.sizes:
                held.sizes[key] = sum(end - start for start, end in data_ranges(fd))
                dirty = linux.dirty_bytes(fd)
                held.dirty = None if dirty is None or held.dirty is None else held.dirty + dirty
                if write_back is not None:
                    _write_back_half(fd, write_back, dirty)
            if time.monotonic() > until:
                break
    finally:
        os.close(top)
    return held


def _write_back_half(fd: int, keep: Keep, dirty: int | None) -> None:
    # The kernel reports how many pages are dirty, not which. Logs grow at the end: take the last pages.
    size = os.fstat(fd).st_size
    half = size - (size if dirty is None else min(dirty, size)) // 2
    if keep == "prefix":
        linux.write_back(fd, 0, half)
    else:
        linux.write_back(fd, half, size - half)
