"""Opening what others can change: a path below a directory that a pod writes to, without leaving that directory.

A pod may put a link to another pod's data where its own file should be, also between a look and the opening. So the
kernel itself resolves the path (``openat2``, since Linux 5.6): no link at any place, and no ``..`` above the root.
"""

from __future__ import annotations

import errno
import os
import re
import stat
from pathlib import Path
from typing import Final

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel import linux
from highwater_chaos.machine.kernel.identity import Identity

_RESOLVE: Final = linux.RESOLVE_IN_ROOT | linux.RESOLVE_NO_SYMLINKS | linux.RESOLVE_NO_MAGICLINKS
_PROCESS_ROOT: Final = re.compile(r"(/proc/[0-9]+/root)(/.*)")


def open_beneath(root: Path | int, path: str, flags: int) -> int:
    """Open ``path`` inside ``root`` (trusted: a path, or an open directory); the caller closes the descriptor.

    ``flags`` as for ``os.open``; it never waits for a pipe's other end, and nothing is created
    (:func:`create_beneath`).

    Raises:
        MachineError: there is a link on the way.
        OSError: it cannot be opened; ``FileNotFoundError`` and ``NotADirectoryError`` where it is not there.
    """
    if isinstance(root, Path):
        opened = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            return open_beneath(opened, path, flags)
        finally:
            os.close(opened)
    flags |= os.O_CLOEXEC
    if not flags & os.O_PATH:
        flags |= os.O_NONBLOCK | os.O_NOCTTY
    try:
        return linux.openat2(root, path, flags, _RESOLVE)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise MachineError(f"{path!r} is not opened: expected a path without links, found a link on it") from error
        raise


def open_file(root: Path | int, path: str, flags: int = os.O_RDONLY) -> int:
    """A regular file inside ``root``, to be read unless ``flags`` say otherwise. Raises ``MachineError`` for anything
    else: a link, a device, a pipe; otherwise as :func:`open_beneath`."""
    fd = open_beneath(root, path, flags)
    mode = os.fstat(fd).st_mode
    if not stat.S_ISREG(mode):
        os.close(fd)
        raise MachineError(f"{path!r} is not read: expected a regular file, found mode {mode:o}")
    return fd


def create_beneath(root: int, path: str, mode: int = 0o600) -> int:
    """A new regular file inside an open directory, to be written; the caller closes the descriptor. Raises
    ``FileExistsError`` where anything is there already, a link too; otherwise as :func:`open_beneath`."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        return linux.openat2(root, path, flags, _RESOLVE, mode)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise MachineError(f"{path!r} is not made: expected a path without links, found a link on it") from error
        raise


def split_root(path: str) -> tuple[str, str]:
    """A path as a root that is trusted and what lies below: of ``/proc/7/root/run/x``, ``/proc/7/root`` and
    ``/run/x``."""
    match = _PROCESS_ROOT.fullmatch(path)
    return ("/", path) if match is None else (match[1], match[2])


def open_root(process: Identity) -> int:
    """The root directory of exactly this process (``O_PATH``). Raises ``FileNotFoundError`` where it is gone."""
    try:
        fd = os.open(f"/proc/{process.pid}/root", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    except ProcessLookupError as error:
        raise FileNotFoundError(errno.ENOENT, "the process is gone", str(process.pid)) from error
    # Opened first, looked at then: as long as the process looked at is the one meant, the directory is its own.
    if process.state() == "gone":
        os.close(fd)
        raise FileNotFoundError(errno.ENOENT, "the process is gone", str(process.pid))
    return fd
