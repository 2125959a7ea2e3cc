"""Files as a log needs them, with the page cache made explicit.

Paths are POSIX-style and relative to the node's data directory (``"orders-0/00000000000000000000.log"``). Every
method may raise ``OSError`` with the errno of the real thing (``EIO``, ``ENOSPC``, ``ENOENT``, ``EEXIST`` …).

What survives what:

* A process crash (SIGKILL) keeps every completed call.
* A power loss keeps what :meth:`DiskFile.fsync` had covered; of the later writes any subset of pages. A file's
  creation, rename or removal is durable once its directory was fsynced (:meth:`Disk.fsync_dir`), and may or may not
  have happened otherwise. ``fsync`` of a file does not make its name durable (as POSIX says, though ext4 is kinder).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Protocol

DiskJob = Iterator[None]
"""File operations that wait for the disk, as a generator: it yields between steps that belong together."""


class FileRange(Protocol):
    """Bytes of a file, of a length that is known, which are read where they are sent.

    They stay what they are whatever becomes of the file, as long as the node lives.
    """

    on_failure: Callable[[OSError], object] | None
    """Runs as an event of its own if the disk does not give the bytes when they are due. Nobody has read them."""

    def __len__(self) -> int: ...

    def read(self, start: int = 0, length: int | None = None) -> bytes:
        """Return ``length`` bytes (all) from byte ``start`` of the range on."""


class DiskFile(Protocol):
    """One open file."""

    def append(self, data: bytes | bytearray | memoryview) -> int:
        """Write ``data`` at the end of the file. Return the position (bytes) at which it begins.

        Into the page cache only. The data is copied before the call returns. All or nothing, except on ``ENOSPC``
        and ``EIO`` where a prefix may have been written.
        """

    def pwrite(self, position: int, data: bytes | bytearray | memoryview) -> None:
        """Write ``data`` at ``position`` bytes from the start, into the page cache only; extends the file."""

    def read(self, position: int, length: int) -> bytes:
        """Return up to ``length`` bytes from ``position``; fewer (or none) only at the end of the file."""

    def lend(self, position: int, length: int) -> bytes | FileRange:
        """As :meth:`read`, or in its place a range, if the host can send that without reading it.

        While it is lent and afterwards, cutting the file below its end (:meth:`truncate`) takes long.
        """

    def size(self) -> int:
        """Return the length in bytes."""

    def truncate(self, length: int) -> None:
        """Cut (or zero-extend) the file to ``length`` bytes, in the page cache only."""

    def fsync(self) -> None:
        """Make content and length durable before returning. Blocks the node: for small, rare files only."""

    def fsync_later(self, on_done: Callable[[OSError | None], None]) -> None:
        """Make everything written before this call durable, without blocking.

        ``on_done(None)`` runs as an event of its own once that is so; ``on_done(error)`` when it failed, after which
        nothing is known about the writes it covered. Never called if the node dies first.
        """

    def close(self) -> None:
        """Release the handle; unsynced data stays in the page cache. Idempotent."""


class Disk(Protocol):
    """One node's data directory."""

    def open(self, path: str, *, create: bool = False) -> DiskFile:
        """Open for reading and writing. If there is no file, ``create`` makes an empty one; without it raises
        ``ENOENT``."""

    def exists(self, path: str) -> bool:
        """Return whether a file or directory has this name."""

    def list(self, path: str = "") -> list[str]:
        """Return the names (not paths) of a directory's entries, sorted. Raises ``ENOENT`` if there is no directory."""

    def is_dir(self, path: str) -> bool:
        """Return whether the name exists and is a directory."""

    def mkdir(self, path: str) -> None:
        """Make a directory and its missing parents. Does nothing if it exists."""

    def rename(self, source: str, target: str) -> None:
        """Atomically rename a file or directory, replacing a target file. Not durable before ``fsync_dir``."""

    def unlink(self, path: str) -> None:
        """Remove a file's name. Open handles stay usable."""

    def remove_tree(self, path: str) -> None:
        """Remove a directory with everything in it. Does nothing if it does not exist."""

    def fsync_dir(self, path: str = "") -> None:
        """Make the directory's entries (creations, renames, removals) durable before returning."""

    def fsync_all(self, paths: Iterable[str]) -> dict[str, OSError]:
        """Do ``fsync`` and ``fsync_dir`` of several files and directories, in any order. Costs less than one by one.

        Returns what failed, by path.
        """

    def run_later(self, job: DiskJob, on_done: Callable[[OSError | None], None]) -> None:
        """Run the steps of ``job`` without blocking the node; jobs run one after another, in the order of the calls.

        A step may use this disk, and values that nobody else changes meanwhile: it runs beside the node's events.
        Between two steps, and within one, the node may die: then no further step runs. ``on_done`` runs as an event of
        its own behind the last step: with None, or with the ``OSError`` that a step raised, which ends the job.
        """


def path_components(path: str) -> list[str]:
    """Return the components of a path as above; none for ``""``, the data directory itself.

    Raises:
        ValueError: for a path that is not relative and plain, and so might leave the data directory.
    """
    if not path:
        return []
    parts = path.split("/")
    if "" in parts or "." in parts or ".." in parts:
        raise ValueError(f"path {path!r} must be relative, without empty components, '.' or '..'")
    return parts
