"""Sparse files: where they have data, and copies that keep their holes."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator


def data_ranges(fd: int) -> Iterator[tuple[int, int]]:
    """Yield the ranges of a file that have data, in order: (first byte, end), by lseek(2) with ``SEEK_DATA``.

    Raises:
        OSError: it cannot be read.
    """
    size, end = os.fstat(fd).st_size, 0
    while end < size:
        try:
            start = os.lseek(fd, end, os.SEEK_DATA)
        except OSError as error:
            if error.errno == errno.ENXIO:
                return  # nothing but a hole up to the end
            raise
        end = os.lseek(fd, start, os.SEEK_HOLE)
        yield start, end


def copy_sparse(old: int, new: int) -> None:
    """Copy a file into an empty one; holes stay holes."""
    os.ftruncate(new, os.fstat(old).st_size)
    for start, end in data_ranges(old):
        os.lseek(new, start, os.SEEK_SET)
        at = start
        while at < end:
            at += os.sendfile(new, old, at, end - at)
