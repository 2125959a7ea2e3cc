"""A directory of a volume, mounted at other places too: where the kubelet wants it for a pod's containers.

While the volume is down a place holds an empty file, where otherwise there is a directory. A container that is started
in that moment does not start, and is started again: with an empty directory there it would write to the disk below.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from highwater_chaos.machine.kernel import linux

_FLAGS = linux.MS_NOATIME | linux.MS_NODEV | linux.MS_NOSUID


@dataclass(frozen=True, slots=True)
class Place:
    """The directory is mounted at ``target``, whose parent is another's: without it the place is not needed any more.
    ``group``: processes in control groups that carry this (a pod's uid) use it there."""

    target: str
    group: str
    read_only: bool = False

    def mounted(self, point: Path) -> bool:
        """Whether the volume that is mounted at ``point`` is mounted here, or need not be."""
        if not self._is_needed():
            return True
        device = linux.device_at(Path(self.target))
        return device is not None and device == linux.device_at(point)

    def mount(self, directory: Path, point: Path) -> None:
        """Mount a directory of the volume at ``point``; nothing where that is so."""
        target = Path(self.target)
        if self.mounted(point):
            return
        self.unmount()
        with suppress(FileNotFoundError):
            target.unlink()
        target.mkdir(mode=0o750)
        # Whole before it is there: whoever is killed in the middle must leave nothing that can be written to.
        copy = linux.copy_mount(directory, _FLAGS | (linux.MS_RDONLY if self.read_only else 0))
        try:
            there = os.open(target, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                linux.move_mount(copy, there)
            finally:
                os.close(there)
        finally:
            os.close(copy)

    def unmount(self) -> None:
        """Take it away, whoever uses it, and leave a file in its place."""
        self.remove()
        if self._is_needed():
            with suppress(FileExistsError):
                Path(self.target).touch(mode=0o600, exist_ok=False)

    def remove(self) -> None:
        """Take it away with its mount point, and so out of every mount namespace; nothing where it is not."""
        target = Path(self.target)
        while linux.device_at(target) is not None:
            linux.umount(target, linux.MNT_DETACH)
        with suppress(FileNotFoundError):
            if stat.S_ISDIR(target.lstat().st_mode):
                target.rmdir()
            else:
                target.unlink()

    def _is_needed(self) -> bool:
        return Path(self.target).parent.is_dir()


@dataclass(frozen=True, slots=True)
class Share:
    """The directory ``name`` of a volume, which is made with these ids and this mode where it is missing."""

    name: str
    user: int = 0
    group: int = 0
    mode: int = 0o755
    places: tuple[Place, ...] = ()

    def groups(self) -> list[str]:
        """Return what control groups of those who use it carry."""
        return sorted({place.group for place in self.places})

    def mounted(self, point: Path) -> bool:
        """Whether it is mounted everywhere where it has to be."""
        return all(place.mounted(point) for place in self.places)

    def mount(self, point: Path) -> None:
        """Have the directory on the volume at ``point``, and mount it everywhere."""
        directory = point / self.name
        # On a frozen file system mkdir waits, also for what is there.
        if not (self.places and self.mounted(point)) and not os.path.lexists(directory):
            directory.mkdir(mode=0o700)
            self.give(point)
        for place in self.places:
            place.mount(directory, point)

    def unmount(self) -> None:
        """Take it away everywhere."""
        for place in self.places:
            place.unmount()

    def give(self, point: Path) -> None:
        """Give the directory itself its ids and its mode. Raises ``OSError`` where it is none: nothing is followed."""
        fd = os.open(point / self.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            os.fchown(fd, self.user, self.group)
            os.fchmod(fd, self.mode)
        finally:
            os.close(fd)

    def as_is(self, point: Path) -> Self:
        """Return the share with the ids and the mode that the directory has now."""
        found = os.lstat(point / self.name)
        mode = stat.S_IMODE(found.st_mode)
        return type(self)(self.name, found.st_uid, found.st_gid, mode, self.places)
