"""A pod's data directory, to be read and nothing else: what a dump asks of a disk."""

from __future__ import annotations

import os
from typing import Self

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.safe_open import open_beneath, open_file

_MOST_NAMES = 100_000
_MOST_READ = 64 << 20
"""Bytes of one read. A dump reads a batch at a time."""


class PodFile:
    """A regular file that is open for reading."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def read(self, position: int, length: int) -> bytes:
        """At most ``length`` bytes; fewer at its end. Raises ``MachineError`` for more than may be in memory."""
        if length > _MOST_READ:
            raise MachineError(f"{length} bytes are not read at once: expected {_MOST_READ} or fewer")
        return os.pread(self._fd, length, position)

    def size(self) -> int:
        """Return the present size in bytes."""
        return os.fstat(self._fd).st_size

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close


class PodDirectory:
    """Paths in it are resolved by the kernel without a link and without leaving it."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    @classmethod
    def below(cls, root: int, path: str) -> Self:
        """The directory at ``path`` inside an open directory, which is closed. Raises ``MachineError``, ``OSError``."""
        try:
            return cls(open_beneath(root, path, os.O_PATH | os.O_DIRECTORY))
        finally:
            os.close(root)

    def open(self, path: str) -> PodFile:
        """A regular file. Raises ``MachineError`` for anything else, ``OSError``."""
        return PodFile(open_file(self._fd, path))

    def list(self, path: str = "") -> list[str]:
        """Names, sorted. Raises ``MachineError`` where there are more than one can hold."""
        fd = open_beneath(self._fd, path or ".", os.O_RDONLY | os.O_DIRECTORY)
        try:
            names = []
            with os.scandir(fd) as entries:
                for entry in entries:
                    names.append(entry.name)
                    if len(names) > _MOST_NAMES:
                        raise MachineError(f"more than {_MOST_NAMES} names in a directory of the pod")
        finally:
            os.close(fd)
        return sorted(names)

    def is_dir(self, path: str) -> bool:
        """False for a link too."""
        return self._can_open(path, os.O_PATH | os.O_DIRECTORY)

    def exists(self, path: str) -> bool:
        """False for what a link leads to."""
        return self._can_open(path, os.O_PATH)

    def _can_open(self, path: str, flags: int) -> bool:
        try:
            os.close(open_beneath(self._fd, path, flags))
        except (OSError, MachineError):
            return False
        return True

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    __del__ = close
