"""The few system calls that Python 3.11 does not offer: setns, unshare, mounts, openat2, time since boot.

Called with ctypes on the C library. Every function raises ``OSError`` with the errno of the call.
"""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Final

from highwater_chaos.machine.kernel import proc

CLONE_FS: Final = 0x00000200
CLONE_NEWNS: Final = 0x00020000
CLONE_NEWNET: Final = 0x40000000
MS_RDONLY: Final = 1
MS_NODEV: Final = 4
MS_NOSUID: Final = 2
MS_NOATIME: Final = 1024
MS_REMOUNT: Final = 32
MS_BIND: Final = 4096
MS_REC: Final = 16384
MS_PRIVATE: Final = 1 << 18
MS_SHARED: Final = 1 << 20
MNT_DETACH: Final = 2
_WAIT_BEFORE: Final = 1
_WRITE: Final = 2
_WAIT_AFTER: Final = 4
_KEEP_SIZE: Final = 1
_PUNCH_HOLE: Final = 2
_CACHESTAT: Final = 451
_OPEN_TREE: Final = 428
_MOVE_MOUNT: Final = 429
_OPENAT2: Final = 437
_MOUNT_SETATTR: Final = 442
_OPEN_TREE_CLONE: Final = 1
_MOVE_MOUNT_EMPTY_PATHS: Final = 0x04 | 0x40
_AT_EMPTY_PATH: Final = 0x1000
_ATTR_NOATIME: Final = 0x10
_ATTR_ATIME: Final = 0x70
"""Attributes of a mount; the others that are set here have the values of their flags."""
RESOLVE_NO_MAGICLINKS: Final = 0x02
RESOLVE_NO_SYMLINKS: Final = 0x04
RESOLVE_IN_ROOT: Final = 0x10


def boot_time_ns() -> int:
    """Nanoseconds since the machine booted, suspended time included: a clock that all processes share and that cannot
    be set. Deadlines are in it."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def setns(fd: int, kind: int) -> None:
    """Move the calling thread into the namespace that ``fd`` refers to."""
    _check(_libc().setns(fd, kind), "setns")


def unshare(flags: int) -> None:
    """Give the calling thread new namespaces of its own."""
    _check(_libc().unshare(flags), "unshare")


def mount(source: str, target: Path, kind: str, flags: int = 0, options: str = "") -> None:
    """``mount -t kind -o options source target``."""
    result = _libc().mount(
        source.encode(), os.fsencode(target), kind.encode(), ctypes.c_ulong(flags), options.encode() or None
    )
    _check(result, f"mount {source} on {target}")


def umount(target: Path, flags: int = 0) -> None:
    """Take away the topmost mount at ``target``."""
    _check(_libc().umount2(os.fsencode(target), flags), f"umount {target}")


def dirty_bytes(fd: int) -> int | None:
    """Bytes of a file that only memory has: pages written to and not yet on disk. None: the kernel does not tell
    (cachestat, since Linux 6.5)."""
    whole = (ctypes.c_uint64 * 2)(0, 0)
    found = (ctypes.c_uint64 * 5)()
    if _libc().syscall(_CACHESTAT, fd, ctypes.byref(whole), ctypes.byref(found), 0) != 0:
        return None
    return int(found[1] + found[2]) * os.sysconf("SC_PAGESIZE")


def write_back(fd: int, offset: int, length: int) -> None:
    """Have the kernel write a file's dirty pages in a range and wait for it: as its own writeback does, without making
    anything durable that the file system's journal must tell of."""
    if length > 0:
        result = _libc().sync_file_range(
            fd, ctypes.c_int64(offset), ctypes.c_int64(length), _WAIT_BEFORE | _WRITE | _WAIT_AFTER
        )
        _check(result, "sync_file_range")


def punch_hole(fd: int, length: int) -> None:
    """Give up the first bytes of a file, which keeps its size: they read as zeros, and take no room."""
    call = _libc().fallocate(fd, _KEEP_SIZE | _PUNCH_HOLE, ctypes.c_int64(0), ctypes.c_int64(length))
    _check(call, "fallocate")


def sync_file_system(fd: int) -> None:
    """``syncfs``: everything of the file system that ``fd`` lies on."""
    _check(_libc().syncfs(fd), "syncfs")


def openat2(directory: int, path: str, flags: int, resolve: int, mode: int = 0) -> int:
    """Open ``path`` below an open directory, resolved as ``resolve`` says; the caller closes the descriptor. ``mode``:
    of a file that is created. On all architectures it has the same number."""
    how = (ctypes.c_uint64 * 3)(flags, mode, resolve)
    result = _libc().syscall(_OPENAT2, directory, os.fsencode(path), ctypes.byref(how), ctypes.sizeof(how))
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number), path)
    return int(result)


def copy_mount(point: Path, flags: int = 0) -> int:
    """A copy of the mount at ``point``, or of a directory of it, that is nowhere yet and hears of no other (since Linux
    5.12); the caller closes the descriptor, and the copy goes unless it was moved somewhere.

    Args:
        flags: ``MS_RDONLY``, ``MS_NODEV``, ``MS_NOSUID``, ``MS_NOATIME``, that it gets beside those of the mount.
    """
    fd = int(_libc().syscall(_OPEN_TREE, -100, os.fsencode(point), _OPEN_TREE_CLONE | os.O_CLOEXEC))
    if fd < 0:
        _check(fd, f"open_tree {point}")
    try:
        wanted = flags & (MS_RDONLY | MS_NODEV | MS_NOSUID)
        wanted, replaced = (wanted | _ATTR_NOATIME, _ATTR_ATIME) if flags & MS_NOATIME else (wanted, 0)
        how = (ctypes.c_uint64 * 4)(wanted, replaced, MS_PRIVATE, 0)
        result = _libc().syscall(_MOUNT_SETATTR, fd, b"", _AT_EMPTY_PATH, ctypes.byref(how), ctypes.sizeof(how))
        _check(result, "mount_setattr")
    except OSError:
        os.close(fd)
        raise
    return fd


def move_mount(copy: int, target: int) -> None:
    """Mount what :func:`copy_mount` gave on an open directory of this thread's mount namespace."""
    _check(_libc().syscall(_MOVE_MOUNT, copy, b"", target, b"", _MOVE_MOUNT_EMPTY_PATHS), "move_mount")


def mounted_at(target: Path) -> list[str]:
    """Sources of what is mounted at ``target`` or below it, innermost last; empty: nothing."""
    return [mount.source for mount in _mounts_below(target)]


def device_at(target: Path) -> str | None:
    """Number (``7:3``) of the device that is mounted at exactly ``target``, topmost; None: it is no mount point. A file
    system that was shut down does not even say what device it is on."""
    wanted = str(target.resolve())
    found = [mount.device for mount in proc.mounts() if mount.point == wanted]
    return found[-1] if found else None


def mount_points(below: Path) -> list[Path]:
    """Mount points at or below a directory, in the order in which they were mounted."""
    return [Path(mount.point) for mount in _mounts_below(below)]


def _mounts_below(directory: Path) -> Iterator[proc.Mount]:
    top = str(directory.resolve())
    return (mount for mount in proc.mounts() if mount.point == top or mount.point.startswith(top + "/"))


@cache
def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
