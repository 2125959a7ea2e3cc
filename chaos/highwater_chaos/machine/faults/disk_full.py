"""A full disk: a ballast file takes every free block, so that ENOSPC is the file system's own."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import ClassVar, Final, Self

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.faults.node_fault import VolumeFault
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.kernel.safe_open import create_beneath

BALLAST: Final = ".highwater-ballast"
_SMALLEST: Final = 4096


@dataclass(frozen=True, slots=True)
class DiskFull(VolumeFault):
    """``volume`` has no free block. What its owner deletes meanwhile is free again, as on a real full disk."""

    KIND: ClassVar[str] = "full disk"
    ALONE: ClassVar[bool] = True
    MEETS: ClassVar[str] = "ENOSPC"

    def make(self, _held: Sequence[int]) -> Self:
        """Allocate in ever smaller steps until not a block is left."""
        # Never the file system that the machine lives on, however wrong the caller's path is.
        if not self.volume.mounted():
            raise MachineError(f"{self.volume.mount_point} is not a mount point; refusing to fill the disk below it")
        with self._root() as root:
            try:
                fd = create_beneath(root, BALLAST)
            except FileExistsError as error:
                found = f"found something else at {self.volume.mount_point}/{BALLAST}"
                raise MachineError(f"{self.describe()}: expected no file of the ballast's name, {found}") from error
        try:
            # First settles what is only promised (delayed allocation), or it would take blocks after we looked.
            linux.sync_file_system(fd)
            step = 1 << 40
            size = 0
            while step >= _SMALLEST:
                try:
                    os.posix_fallocate(fd, size, step)
                    size += step
                except OSError as error:
                    if error.errno not in (errno.ENOSPC, errno.EFBIG):
                        raise
                    step //= 2
            os.fsync(fd)
        finally:
            os.close(fd)
        return self

    def undo(self) -> None:
        """Delete the ballast. A directory in its place is not ours."""
        # Removes a name and follows none, whatever the volume's owner has put there meanwhile.
        with suppress(FileNotFoundError, IsADirectoryError), self._root() as root:
            os.unlink(BALLAST, dir_fd=root)

    def left(self) -> str | None:
        """Whether the ballast is there."""
        with suppress(FileNotFoundError), self._root() as root:
            status = os.stat(BALLAST, dir_fd=root, follow_symlinks=False)
            if not stat.S_ISDIR(status.st_mode):
                return f"ballast {self.volume.mount_point}/{BALLAST}"
        return None

    def describe(self) -> str:
        return f"full disk {self.volume.name}"

    @contextmanager
    def _root(self) -> Iterator[int]:
        fd = os.open(self.volume.mount_point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            yield fd
        finally:
            os.close(fd)
