"""A full disk: a ballast file takes every free block, so that ENOSPC is the file system's own."""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Final, Self

from highwater_chaos.machine import linux
from highwater_chaos.machine.power_loss import try_to_write
from highwater_chaos.machine.volumes import Volume

BALLAST: Final = ".highwater-ballast"
_SMALLEST: Final = 4096


@dataclass(frozen=True, slots=True)
class DiskFull:
    """``volume`` has no free block. What its owner deletes meanwhile is free again, as on a real full disk."""

    KIND: ClassVar[str] = "full disk"
    ALONE: ClassVar[bool] = True
    volume: Volume

    def make(self, _held: Sequence[int]) -> Self:
        """Allocate in ever smaller steps until not a block is left."""
        fd = os.open(self._ballast(), os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o600)
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
        """Delete the ballast."""
        self._ballast().unlink(missing_ok=True)

    def left(self) -> str | None:
        """Whether the ballast is there."""
        return f"ballast {self._ballast()}" if self._ballast().exists() else None

    def describe(self) -> str:
        """Which disk."""
        return f"full disk {self.volume.name}"

    def probe(self) -> str | None:
        """Evidence: ``ENOSPC`` while the disk is full, None: a small file could be written and synced."""
        return try_to_write(Path(self.volume.mount_point))

    def _ballast(self) -> Path:
        return Path(self.volume.mount_point) / BALLAST
