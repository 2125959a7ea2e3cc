"""All files below a directory whose owner is not trusted: no link is followed, nothing waits, and no depth is too deep.

The way down is by name and the way up by ``..``, one directory open at a time: nested deeper than there are file
descriptors, than Python may recurse, and than a path may be long.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from stat import S_ISREG
from typing import Final

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.safe_open import open_beneath

_MOST_DIRECTORIES: Final = 1_000_000
"""In one directory."""
_CHANGED: Final = (errno.ENOENT, errno.ENOTDIR, errno.ENXIO)
"""What opening a name gives that was something else a moment ago."""
_DIRECTORY: Final = os.O_RDONLY | os.O_DIRECTORY


def directories(top: int) -> Iterator[int]:
    """Each directory at or below an open one, above before below, as a descriptor that is closed behind the caller.
    Those of other file systems, and what is gone meanwhile, are left out.

    Raises:
        MachineError: one was moved meanwhile, or holds too many.
        OSError: one cannot be read.
    """
    fd = open_beneath(top, ".", _DIRECTORY)
    try:
        way = [_identity(fd)]
        yield fd
        left = [_below(fd)]
        while left:
            if left[-1]:
                below = _opened(fd, left[-1].pop(), _DIRECTORY)
                if below is None:
                    continue
                if _identity(below)[0] != way[0][0]:
                    os.close(below)
                    continue
                os.close(fd)
                fd = below
                way.append(_identity(fd))
                yield fd
                left.append(_below(fd))
                continue
            left.pop()
            way.pop()
            if left:
                above = os.open("..", _DIRECTORY | os.O_CLOEXEC, dir_fd=fd)
                os.close(fd)
                fd = above
                if _identity(fd) != way[-1]:
                    raise MachineError("a directory was moved while it was read")
    finally:
        os.close(fd)


def files(top: int) -> Iterator[int]:
    """Each regular file at or below an open directory, opened to be read; closed behind the caller. A file with several
    names comes once for each. Raises as :func:`directories`."""
    for directory in directories(top):
        with os.scandir(directory) as entries:
            for entry in entries:
                if not entry.is_file(follow_symlinks=False):
                    continue
                fd = _opened(directory, entry.name, os.O_RDONLY)
                if fd is None:
                    continue
                try:
                    if S_ISREG(os.fstat(fd).st_mode):
                        yield fd
                finally:
                    os.close(fd)


def _below(directory: int) -> list[str]:
    with os.scandir(directory) as entries:
        names = []
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                names.append(entry.name)
                if len(names) > _MOST_DIRECTORIES:
                    raise MachineError(f"a directory holds more than {_MOST_DIRECTORIES} others")
    return names


def _opened(directory: int, name: str, flags: int) -> int | None:
    try:
        return open_beneath(directory, name, flags)
    except MachineError:
        return None  # a link by now
    except OSError as error:
        if error.errno in _CHANGED:
            return None
        raise


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino
