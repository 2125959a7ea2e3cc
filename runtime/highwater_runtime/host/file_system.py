"""Make everything on a file system durable at once (Linux ``syncfs``).

A broker that makes or closes a thousand logs has thousands of files to fsync. One by one, each costs a system call, a
switch between threads and often a commit of the journal; together they cost one commit. The call makes durable whatever
else is on the file system too, so that it pays only for many files.

Since Linux 5.8 it reports errors of writing back, though not of which file. Before that it reports none, so it is not
used there.
"""

from __future__ import annotations

import ctypes
import os
import platform
import re
from collections.abc import Callable
from typing import Final

_REPORTS_ERRORS_SINCE: Final = (5, 8)

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
