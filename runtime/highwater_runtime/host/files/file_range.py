"""Bytes of a file that leave for a socket without being read into this process.

A range keeps the inode open, so its bytes stay what they were when the file is renamed, unlinked or closed. A file must
never be cut in place below the end of a range, not even of one that has left: until the receiver has copied them, bytes
that were sent are pages of the page cache, and Linux overwrites the page (or large folio) in which a file is cut with
zeros, then with what is appended. :meth:`.posix_disk.PosixFile.truncate` puts a copy in the place of such a file.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import Final, NoReturn

LEAST_BYTES: Final = 512 * 1024
"""Less is read at once: that costs less than another system call."""


class SharedDescriptor:
    """A file descriptor of several owners, closed with the last of them."""

    __slots__ = ("number",)

    def __init__(self, number: int) -> None:
        self.number = number

    def __del__(self) -> None:
        os.close(self.number)


class PosixFileRange:
    """A :class:`highwater_runtime.ports.FileRange`: ``size`` bytes at ``position`` of an open file."""

    __slots__ = ("_descriptor", "on_failure", "position", "size")

    def __init__(self, descriptor: SharedDescriptor, position: int, size: int) -> None:
        self._descriptor = descriptor
        self.position = position
        self.size = size
        self.on_failure: Callable[[OSError], object] | None = None

    def __len__(self) -> int:
        return self.size

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        due = self.size - start if length is None else length
        data = read_at(self._descriptor.number, self.position + start, due)
        return data if len(data) == due else self._too_short(start + len(data))

    def send(self, socket: int, start: int, most: int) -> int:
        """Send up to ``most`` bytes from byte ``start`` of the range on; returns how many.

        Raises ``OSError``: ``BlockingIOError`` if the socket takes nothing now, else a failure of socket or disk.
        """
        return os.sendfile(socket, self._descriptor.number, self.position + start, most) or self._too_short(start)

    def _too_short(self, start: int) -> NoReturn:
        raise OSError(errno.EIO, f"the file ends at byte {self.position + start}, expected {self.position + self.size}")


def read_at(descriptor: int, position: int, length: int) -> bytes:
    """``length`` bytes at ``position``; fewer only at the end of the file."""
    data = os.pread(descriptor, length, position)
    if not data or len(data) == length:
        return data
    # A short read is the end of the file, or a signal: ask on until it is the former.
    parts = [data]
    got = len(data)
    while got < length and (data := os.pread(descriptor, length - got, position + got)):
        parts.append(data)
        got += len(data)
    return b"".join(parts)


def copy_beginning(source: int, target: int, length: int) -> None:
    """Copy the first ``length`` bytes of one file to the beginning of another."""
    done = 0
    while done < length:
        copied = os.sendfile(target, source, done, length - done)
        if not copied:
            raise OSError(errno.EIO, f"the file ends at byte {done}, expected {length}")
        done += copied
