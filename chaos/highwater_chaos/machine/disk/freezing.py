"""A file system that takes no writes: every call that would change it waits in the kernel until it is thawed.

The ioctl ``FIFREEZE`` is what ``fsfreeze`` and snapshots of volumes use. It first makes everything durable that has
been written. Then ``write()``, ``open`` to create, rename, unlink and page faults on shared mappings wait; reads go on,
and so do fsyncs, which have nothing to do. A process that waits so is not reached by any signal, SIGKILL included, and
a file system that is in use by one cannot be unmounted: thaw first, whatever else is to be done.
"""

from __future__ import annotations

import errno
import fcntl
import os
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux

_FREEZE: Final = 0xC0045877
_THAW: Final = 0xC0045878


def freeze(point: Path) -> None:
    """Freeze the file system mounted at ``point``.

    Raises:
        OSError: EBUSY: it is frozen already.
        MachineError: nothing is mounted there.
    """
    # Never the file system that the machine lives on, however wrong the caller's path is.
    if not linux.mounted_at(point):
        raise MachineError(f"{point} is not a mount point; refusing to freeze the file system that it is part of")
    _control(point, _FREEZE)


def thaw(point: Path) -> bool:
    """Thaw the file system mounted at ``point``; whether it was frozen. Nothing if none is mounted, or a dead one."""
    if not linux.mounted_at(point):
        return False
    try:
        _control(point, _THAW)
    except OSError as error:
        # EINVAL: it is not frozen. EIO: XFS that was shut down does not even open.
        if error.errno not in (errno.EINVAL, errno.EIO):
            raise
        return False
    return True


def _control(point: Path, operation: int) -> None:
    fd = os.open(point, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.ioctl(fd, operation, 0)
    finally:
        os.close(fd)
