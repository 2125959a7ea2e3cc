"""A disk of a node's own: a file system on a loop device over a sparse image.

Real ext4 and XFS, so that what survives a power loss is what their journals say and not what we think. The image is
small on the disk below until it is written to. No TRIM at mkfs (nothing to trim), no access times (they would make
readers write), no root reserve on ext4 (a full disk must be full for root too).

**Others' mount namespaces.** A process that gets a mount namespace while a volume is mounted (``unshare --mount``, a
container, a service with a private /tmp) gets a copy of the mount, which outlives our umount: mounting the device again
would give the same file system in whatever state it is, after a power loss a dead one. So the mount point is removed
after umount and made again before mount: the kernel takes a directory's mounts out of every namespace with it. Where
a process works below the copy (an open file, a working directory) the old file system lives on all the same. Then it
keeps the old image, unlinked, and the volume goes on with a copy, on a device of its own: nothing that the old one may
still write can reach it.

**Frozen ones** (:mod:`~.freezing`) are thawed before umount: what waits for one neither ends nor lets go of it.

A pod has a copy on purpose (:mod:`~.mount_copies`), at another mount point: its processes are ended before umount.
A pod of someone else has a directory of the volume where the kubelet wants it (:mod:`~.shares`).
"""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Literal, Self

from highwater_chaos.machine.disk import loop
from highwater_chaos.machine.disk.freezing import thaw
from highwater_chaos.machine.disk.mount_copies import holders
from highwater_chaos.machine.disk.shares import Share
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux, proc
from highwater_chaos.machine.kernel.identity import Identity
from highwater_chaos.machine.kernel.sparse import copy_sparse
from highwater_chaos.machine.process.control_groups import in_group
from highwater_chaos.machine.process.processes import RUN_MARK, marked

FileSystem = Literal["ext4", "xfs"]

MIB: Final = 1 << 20
SMALLEST: Final[dict[FileSystem, int]] = {"ext4": 32 * MIB, "xfs": 300 * MIB}
"""mkfs.xfs refuses less; ext4 of less has no room for a journal worth the name."""
PACKAGES: Final[dict[FileSystem, str]] = {"ext4": "e2fsprogs", "xfs": "xfsprogs"}
_MKFS: Final[dict[FileSystem, tuple[str, ...]]] = {
    "ext4": ("mkfs.ext4", "-q", "-F", "-m", "0", "-E", "lazy_itable_init=1,lazy_journal_init=1,nodiscard"),
    "xfs": ("mkfs.xfs", "-q", "-f", "-K"),
}
_OPTIONS: Final[dict[FileSystem, str]] = {"ext4": "noinit_itable", "xfs": "nouuid"}
"""ext4 would zero its inode tables in the background, which a loop device turns into holes in the image: blocks that
were kept for the volume would be others'. XFS refuses a second file system of the same UUID: of a copied image, while
the old one lives."""
_FREE_WITHIN: Final = 10.0


@dataclass(frozen=True, slots=True)
class Volume:
    """``file_system`` of ``size`` bytes in the file ``image``, mounted at ``mount_point``; of the run at ``run``.

    ``keep_image``: undoing leaves the image with its data, to be made into a volume again; one that exists already is
    taken as it is. ``group``: processes in control groups that carry this (a pod's uid) count as the run's own, as do
    those for which a directory of it is mounted elsewhere (``share``)."""

    KIND: ClassVar[str] = "volume"
    ALONE: ClassVar[bool] = True
    name: str
    run: str
    image: str
    mount_point: str
    file_system: FileSystem = "ext4"
    size: int = 1024 * MIB
    keep_image: bool = False
    group: str = ""
    share: Share | None = None

    def make(self, held: Sequence[int]) -> Self:
        """Create, attach, make the file system, mount."""
        if os.geteuid() != 0:
            raise MachineError(f"volume {self.name}: only root may mount file systems; run as root")
        if self.size < SMALLEST[self.file_system]:
            least = SMALLEST[self.file_system] // MIB
            raise MachineError(f"volume {self.name}: {self.file_system} needs {least} MiB, not {self.size // MIB}")
        image = Path(self.image)
        if self.keep_image and image.resolve().is_relative_to(Path(self.run).resolve()):
            raise MachineError(f"volume {self.name}: {image} cannot be kept, the run's directory goes with the run")
        Path(self.mount_point).mkdir(parents=True, exist_ok=True)
        if not (self.keep_image and image.exists()):
            with image.open("xb") as file:
                file.truncate(self.size)
            make_file_system(self.file_system, self.image, held)
        self.mount()
        return self

    def undo(self) -> None:
        """Unmount, detach, delete. Processes of this run that still use it are killed, no others."""
        self.thaw()
        if self.keep_image:
            self._settle()
        self.unmount()
        loop.detach(Path(self.image))
        self._successor().unlink(missing_ok=True)
        if not self.keep_image:
            Path(self.image).unlink(missing_ok=True)
        point = Path(self.mount_point)
        if point.exists():
            point.rmdir()

    def left(self) -> str | None:
        """What is mounted, attached or lies on the disk. A device that a copy of the mount holds is its holder's."""
        parts = []
        if linux.mounted_at(Path(self.mount_point)):
            parts.append(f"mount {self.mount_point}")
        parts += [f"loop device {device}" for device in self._unheld()]
        if not self.keep_image and Path(self.image).exists():
            parts.append(f"image {self.image}")
        return ", ".join(parts) or None

    def describe(self) -> str:
        """Return the kind and the place of the volume."""
        return f"{self.file_system} volume {self.name} at {self.mount_point}"

    def mounted(self) -> bool:
        """Whether it is mounted, everywhere where it has to be."""
        point = Path(self.mount_point)
        return bool(linux.mounted_at(point)) and (self.share is None or self.share.mounted(point))

    def mount(self) -> None:
        """Attach and mount, replaying the file system's journal, and share; nothing where that is so."""
        self._mount()
        if self.share is not None:
            self.share.mount(Path(self.mount_point))

    def _mount(self) -> None:
        point, image = Path(self.mount_point), Path(self.image)
        if linux.mounted_at(point):
            if linux.device_at(point) in loop.numbers_of(image):
                return
            self.unmount()  # of an image that was deleted under its mount
        self.free_image()
        point.mkdir(parents=True, exist_ok=True)
        flags = linux.MS_NOATIME | linux.MS_NODEV | linux.MS_NOSUID
        try:
            with loop.attached(image) as device:
                linux.mount(device, point, self.file_system, flags, _OPTIONS[self.file_system])
        except OSError as error:
            if error.errno != errno.ENODEV:
                raise
            raise MachineError(f"this kernel has no {self.file_system}; load its module (modprobe)") from error

    def thaw(self) -> None:
        """Let writes go on, if the file system is frozen."""
        thaw(Path(self.mount_point))

    def free_image(self) -> None:
        """Have an image on which no file system lives. For a volume that is not mounted."""
        image = Path(self.image)
        loop.detach(image)
        if loop.is_claimed(image):
            self._leave_image()

    def _leave_image(self) -> None:
        # A process that has the image open keeps it; what the volume holds goes on in a copy.
        image, successor = Path(self.image), self._successor()
        loop.wait_idle(image)
        with image.open("rb") as old, successor.open("wb") as new:
            status = os.fstat(old.fileno())
            if status.st_blocks * 512 >= status.st_size:  # the disk below may fill up: no block is missing in the copy
                os.posix_fallocate(new.fileno(), 0, status.st_size)
            copy_sparse(old.fileno(), new.fileno())
        successor.replace(image)

    def _unheld(self) -> list[str]:
        return [] if loop.is_claimed(Path(self.image)) else loop.devices_of(Path(self.image))

    def _successor(self) -> Path:
        return Path(f"{self.image}.successor")

    def _settle(self) -> None:
        # Another process's copy of the mount may keep the file system from writing everything at umount.
        if not linux.mounted_at(Path(self.mount_point)):
            return
        fd = os.open(self.mount_point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            linux.sync_file_system(fd)
        except OSError as error:
            if error.errno != errno.EIO:
                raise
            # Shut down: what it did not write is lost, as was meant.
        finally:
            os.close(fd)

    def unmount(self) -> None:
        """Unmount, here and wherever copies of the mount are, killing processes of this run that hold it; nothing where
        it is not mounted. The mount point goes with it."""
        point = Path(self.mount_point)
        deadline, pause = time.monotonic() + _FREE_WITHIN, 0.01
        self.thaw()
        groups = self._groups()
        if groups:
            self._end_copies(groups)
        if self.share is not None:
            self.share.unmount()
            self._end_copies(groups)  # a container that began in between has what is down now
        while linux.mounted_at(point):
            try:
                linux.umount(point)
                continue
            except OSError as error:
                if error.errno != errno.EBUSY:
                    raise
            users = users_of(point)
            ours = [*marked(RUN_MARK, self.run), *(one for group in groups for one in in_group(group))]
            for user in users:
                if user in ours:
                    user.send(signal.SIGKILL)
                    user.wait_gone(_FREE_WITHIN)
            if time.monotonic() > deadline:
                names = ", ".join(f"pid {user.pid}" for user in users) or "no visible process"
                raise MachineError(f"{point} cannot be unmounted: in use by {names}")
            time.sleep(pause)
            pause = min(2 * pause, 0.5)  # each look reads much of /proc
        try:
            point.rmdir()
        except FileNotFoundError:
            pass
        except OSError as error:
            # Something lay below the mount: copies elsewhere stay, and ``free_image`` sees to it.
            if error.errno != errno.ENOTEMPTY:
                raise

    def holders(self, *, shared: bool = False) -> list[Identity]:
        """Processes elsewhere that have a copy of the mount, which would outlive it; ``shared``: or that would not."""
        return holders(loop.numbers_of(Path(self.image)), staying=not shared)

    def _groups(self) -> list[str]:
        return [one for one in (self.group, *(() if self.share is None else self.share.groups())) if one]

    def _end_copies(self, groups: Sequence[str]) -> None:
        ours = [one for group in groups for one in in_group(group)]
        for process in self.holders(shared=self.share is not None) if ours else ():
            if process in ours:
                process.send(signal.SIGKILL)
                process.wait_gone(_FREE_WITHIN)


def make_file_system(kind: FileSystem, device: str, held: Sequence[int]) -> None:
    """``mkfs`` on a device or image, whatever it held before."""
    done = subprocess.run(  # noqa: S603
        [find_mkfs(kind), *_MKFS[kind][1:], device], capture_output=True, text=True, check=False, pass_fds=tuple(held)
    )
    if done.returncode != 0:
        raise MachineError(f"mkfs.{kind} {device} failed: {done.stderr.strip()}")


def find_mkfs(kind: FileSystem) -> str:
    """Where ``mkfs`` for a file system is. Raises ``MachineError`` naming the package to install."""
    program = shutil.which(_MKFS[kind][0], path="/usr/sbin:/sbin:/usr/bin:/bin")
    if program is None:
        raise MachineError(f"mkfs.{kind} is not installed; install the Debian package {PACKAGES[kind]}")
    return program


def users_of(point: Path) -> list[Identity]:
    """Processes with an open file, a working directory or a mapping below a mount point, of the file system that this
    process sees there: another machine on this kernel may have another at the same path."""
    number = linux.device_at(point)
    if number is None and not point.exists():
        return []
    major, minor = number.split(":") if number else (os.major(there := point.stat().st_dev), os.minor(there))
    device = os.makedev(int(major), int(minor))
    users = (Identity.of(pid) for pid in proc.pids() if proc.uses(pid, os.fsencode(point), device))
    return [user for user in users if user is not None]
