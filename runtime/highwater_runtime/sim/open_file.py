"""Open files of a :class:`~highwater_runtime.sim.disk.SimDisk`."""

from __future__ import annotations

import errno
from collections.abc import Callable
from typing import Any, Final, Protocol

from highwater_runtime.ports import DiskJob
from highwater_runtime.sim.directories import os_error
from highwater_runtime.sim.page_cache import CachedFile

_LAST_POSITION: Final = 2**63 - 1


class Owner(Protocol):
    """The process that holds the disk; gets completions as events of its own."""

    def deliver(self, callback: Callable[[Any], None], argument: Any) -> None:
        """Run ``callback(argument)`` as (part of) an event of this process, unless it is dead."""

    def hold(self) -> None:
        """Take note that the present call on the disk blocks, until :meth:`release`."""

    def release(self) -> None:
        """Take note that calls on the disk do not block any more."""


class DiskBelow(Protocol):
    """The disk, as far as its open files have to do with it."""

    owner: Owner | None
    operations: int
    """Operations that change something, so far."""
    armed: bool
    """Whether calls have to be checked for faults at all."""

    def begin(self, path: str) -> None:
        """An operation that changes something begins."""

    def check_power(self) -> None:
        """Raise if this is the operation that the power does not live to see."""

    def block(self) -> None:
        """Hold the owner if the disk takes no writes now."""

    def admit_read(self, path: str) -> None:
        """Raise if reads fail now."""

    def admit_write(self, file: CachedFile, path: str, position: int, data: bytes) -> None:
        """Raise if this write fails now; of one that runs into the quota a prefix may be written."""

    def begin_fsync(self, job: Fsync) -> None:
        """Let ``job`` end some time later."""

    def finish_fsync(self, file: CachedFile, end: int, path: str) -> None:
        """Make ``file`` durable up to ``end``, or fail as Linux does."""


class Fsync:
    """One fsync under way."""

    __slots__ = ("end", "file", "number", "on_done", "owner", "path")

    def __init__(self, disk: DiskBelow, file: CachedFile, path: str, on_done: Callable[[OSError | None], None]) -> None:
        self.file = file
        self.path = path
        self.end = file.end_of_operations()
        self.on_done = on_done
        self.owner = disk.owner
        self.number = disk.operations
        """In the order of their calls; those that a stall held up go on in it."""


class Job:
    """A job under way or waiting for its turn."""

    __slots__ = ("on_done", "owner", "steps")

    def __init__(self, owner: Owner | None, steps: DiskJob, on_done: Callable[[OSError | None], None]) -> None:
        self.owner = owner
        self.steps = steps
        self.on_done = on_done


class SimFile:
    """An open :class:`highwater_runtime.ports.DiskFile` of a :class:`~highwater_runtime.sim.disk.SimDisk`."""

    __slots__ = ("_disk", "_file", "_path")

    def __init__(self, disk: DiskBelow, file: CachedFile, path: str) -> None:
        self._disk = disk
        self._file: CachedFile | None = file
        self._path = path

    def _open_file(self) -> CachedFile:
        if self._file is None:
            raise ValueError(f"{self._path!r} is closed")
        return self._file

    def append(self, data: bytes | bytearray | memoryview) -> int:
        file = self._open_file()
        if type(data) is not bytes:
            data = bytes(data)
        disk = self._disk
        disk.operations += 1
        cache = file.cache
        position = len(cache)
        if disk.armed:
            disk.admit_write(file, self._path, position, data)
        file.operations.append((position, data))
        cache += data
        return position

    def pwrite(self, position: int, data: bytes | bytearray | memoryview) -> None:
        file = self._open_file()
        if position < 0:
            raise ValueError(f"position {position} is negative")
        if type(data) is not bytes:
            data = bytes(data)
        disk = self._disk
        disk.operations += 1
        if disk.armed:
            disk.admit_write(file, self._path, position, data)
        if data:
            file.write(position, data)

    def read(self, position: int, length: int) -> bytes:
        file = self._open_file()
        if position < 0 or length < 0:
            raise ValueError(f"cannot read {length} bytes at {position}")
        if position + length > _LAST_POSITION:
            raise os_error(errno.EINVAL, self._path)  # as pread does
        if self._disk.armed:
            self._disk.admit_read(self._path)
        return bytes(memoryview(file.cache)[position : position + length])

    def lend(self, position: int, length: int) -> bytes:
        return self.read(position, length)

    def size(self) -> int:
        return len(self._open_file().cache)

    def truncate(self, length: int) -> None:
        file = self._open_file()
        if length < 0:
            raise ValueError(f"length {length} is negative")
        self._disk.begin(self._path)
        file.truncate(length)

    def fsync(self) -> None:
        file = self._open_file()
        disk = self._disk
        disk.operations += 1
        if disk.armed:
            disk.check_power()
            disk.block()
        disk.finish_fsync(file, file.end_of_operations(), self._path)

    def fsync_later(self, on_done: Callable[[OSError | None], None]) -> None:
        file = self._open_file()
        disk = self._disk
        disk.operations += 1
        if disk.armed:
            disk.check_power()
        disk.begin_fsync(Fsync(disk, file, self._path, on_done))

    def close(self) -> None:
        self._file = None
