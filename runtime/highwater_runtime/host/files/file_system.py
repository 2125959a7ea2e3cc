"""Make everything on a file system durable at once (Linux ``syncfs``).

A broker that makes or closes a thousand logs has thousands of files to fsync. One by one, each costs a system call, a
switch between threads and often a commit of the journal; together they cost one commit. The call makes durable whatever
else is on the file system too, so that it pays only for many files.

Since Linux 5.8 it reports errors of writing back, though not of which file. A descriptor hears of each error that came
since it was opened, once. So one is kept for as long as the disk is in use; and after the first error every file is
synced by itself again, for a file whose pages could not be written says so only to its own fsync. Where it is not known
that errors come through (older kernels, overlayfs, FUSE, the network), it is not used.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Final

_REPORTS_ERRORS_SINCE: Final = (5, 8)
_REPORT_ERRORS: Final = frozenset({"ext4", "xfs"})

SyncFileSystem = Callable[[int], None]
"""Makes the file system of a descriptor durable. Raises ``OSError``."""


def find_syncfs() -> SyncFileSystem | None:
    """The system call; None where there is none that reports errors."""
    release = re.match(r"(\d+)\.(\d+)", platform.release())
    if platform.system() != "Linux" or release is None:
        return None
    if (int(release[1]), int(release[2])) < _REPORTS_ERRORS_SINCE:
        return None
    function = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if function is None:
        return None

    def syncfs(fd: int) -> None:
        if function(fd) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))

    return syncfs


class FileSystemSync:
    """Syncs the file system of ``root``, for as long as that can be relied on.

    ``syncfs``: the system call; None where there is none. ``kind``: what the file system is, by its name in Linux.
    """

    def __init__(self, root: str, syncfs: SyncFileSystem | None, kind: str | None) -> None:
        self._syncfs = syncfs if kind in _REPORT_ERRORS else None
        self._fd = -1
        if self._syncfs is not None:
            # Opened before anything is written: what fails later, this descriptor hears of.
            self._fd = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            weakref.finalize(self, os.close, self._fd)

    def sync(self) -> bool:
        """Return whether all that is in the file system is durable now; False if each file must be asked."""
        if self._syncfs is None:
            return False
        try:
            self._syncfs(self._fd)
        except OSError:
            self._syncfs = None
            return False
        return True


def kind_of(root: str) -> str | None:
    """The kind of file system that a directory is on; None where it is not known."""
    device = os.stat(root).st_dev  # noqa: PTH116
    name = b"%d:%d" % (os.major(device), os.minor(device))
    try:
        mounts = Path("/proc/self/mountinfo").read_bytes().split(b"\n")
    except OSError:
        return None
    for mount in mounts:
        fields = mount.split(b" ")  # by nothing else: paths may hold any byte but a space
        if len(fields) > 2 and fields[2] == name and b"-" in fields[6:-1]:
            return os.fsdecode(fields[fields.index(b"-", 6) + 1])
    return None
