"""The disk port on a real directory.

Calls map one to one to system calls; the kernel's page cache is the page cache. What must not block, an fsync or a
step of a job, runs where ``run_blocking`` puts it (a thread), and its completion where ``post`` puts it (the node's
event loop), so that this module knows of neither asyncio nor executors.
"""

from __future__ import annotations

import errno
import os
import shutil
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Final

from highwater_runtime.host.files.file_range import (
    LEAST_BYTES,
    PosixFileRange,
    SharedDescriptor,
    copy_beginning,
    read_at,
)
from highwater_runtime.host.files.file_system import FileSystemSync, SyncFileSystem, find_syncfs, kind_of
from highwater_runtime.log.names import TEMPORARY
from highwater_runtime.ports import DiskJob, path_components

MANY_PATHS: Final = 16
"""From so many paths on, :meth:`PosixDisk.fsync_all` syncs the file system."""

Task = Callable[[], None]
OnSynced = Callable[[OSError | None], None]
SyncAll = Callable[[Callable[[str], OSError | None], Sequence[str]], Iterable[OSError | None]]


class PosixFile:
    """An open :class:`highwater_runtime.ports.DiskFile`."""

    __slots__ = ("_disk", "_fd", "_lent", "_lent_end", "_path")

    def __init__(self, disk: PosixDisk, fd: int, path: str) -> None:
        self._disk = disk
        self._fd: int | None = fd
        self._path = path
        self._lent: SharedDescriptor | None = None
        """Owns the descriptor as well, once ranges of the file were lent."""
        self._lent_end = 0

    def __del__(self) -> None:
        self.close()

    def _descriptor(self) -> int:
        if self._fd is None:
            raise ValueError(f"{self._path!r} is closed")
        return self._fd

    def append(self, data: bytes | bytearray | memoryview) -> int:
        """See :class:`highwater_runtime.ports.DiskFile`.

        Not by ``O_APPEND``: with it, Linux lets ``pwrite`` append as well.
        """
        fd = self._descriptor()
        position = os.lseek(fd, 0, os.SEEK_END)
        written = os.pwrite(fd, data, position)
        if written != len(data):
            _write_rest(fd, position, data, written)
        return position

    def pwrite(self, position: int, data: bytes | bytearray | memoryview) -> None:
        fd = self._descriptor()
        if position < 0:
            raise ValueError(f"position {position} is negative")
        _write_rest(fd, position, data, 0)

    def read(self, position: int, length: int) -> bytes:
        fd = self._descriptor()
        if position < 0 or length < 0:
            raise ValueError(f"cannot read {length} bytes at {position}")
        return read_at(fd, position, length)

    def lend(self, position: int, length: int) -> bytes | PosixFileRange:
        end = position + length
        if length < LEAST_BYTES or position < 0 or end > self.size():
            return self.read(position, length)
        if self._lent is None:
            self._lent = SharedDescriptor(self._descriptor())
        self._lent_end = max(self._lent_end, end)
        return PosixFileRange(self._lent, position, length)

    def size(self) -> int:
        return os.lseek(self._descriptor(), 0, os.SEEK_END)

    def truncate(self, length: int) -> None:
        fd = self._descriptor()
        if length < 0:
            raise ValueError(f"length {length} is negative")
        if length < self._lent_end:
            self._continue_in_a_copy(fd, length)
        else:
            os.ftruncate(fd, length)

    def _continue_in_a_copy(self, fd: int, length: int) -> None:
        """Put the first ``length`` bytes, durably, in the place of a file whose bytes are on their way to others."""
        path = os.readlink(f"/proc/self/fd/{fd}")  # noqa: PTH115 - the file may have another name by now
        new = os.open(path + TEMPORARY, os.O_RDWR | os.O_CLOEXEC | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            copy_beginning(fd, new, length)
            os.fsync(new)
            os.rename(path + TEMPORARY, path)  # noqa: PTH104
            fsync_directory(os.path.dirname(path))  # noqa: PTH120
        except OSError:
            os.close(new)
            with suppress(OSError):
                os.unlink(path + TEMPORARY)  # noqa: PTH108
            raise
        self.close()
        self._fd, self._lent_end = new, 0

    def fsync(self) -> None:
        os.fsync(self._descriptor())

    def fsync_later(self, on_done: Callable[[OSError | None], None]) -> None:
        # A descriptor of its own: the file may be closed, and its number reused, before the thread gets to it.
        self._disk.fsync_elsewhere(os.dup(self._descriptor()), on_done)

    def close(self) -> None:
        fd, self._fd = self._fd, None
        lent, self._lent = self._lent, None
        if fd is not None and lent is None:
            os.close(fd)


class PosixDisk:
    """The :class:`highwater_runtime.ports.Disk` of a data directory.

    Args:
        root: the data directory; must exist.
        run_blocking: runs a task off the event loop (``executor.submit``).
        post: runs a task on the event loop, from any thread (``loop.call_soon_threadsafe``).
        sync_all: applies a function that blocks to many paths (``executor.map``): the kernel lets fsyncs that wait
            together share a commit of its journal.
        syncfs: makes a whole file system durable; None where it is not there. It takes the place of many fsyncs.
    """

    def __init__(
        self,
        root: Path,
        *,
        run_blocking: Callable[[Task], object],
        post: Callable[[Task], object],
        sync_all: SyncAll = map,
        syncfs: SyncFileSystem | None = find_syncfs(),  # noqa: B008 - the same for all
    ) -> None:
        self._root = os.fspath(root)
        self._run_blocking = run_blocking
        self._post = post
        self._waiting: list[tuple[int, OnSynced]] = []
        self._syncing = False
        self._stalled = False
        self._finished: list[Task] = []
        """Reports that a stall holds back."""
        self._sync_all = sync_all
        self._whole = FileSystemSync(self._root, syncfs, kind_of(self._root))
        self._jobs: deque[tuple[DiskJob, OnSynced]] = deque()
        self._step_runs = False
        self._steps = Lock()
        """Held by the step that runs, so that :meth:`abandon` can wait for it."""
        self._abandoned = False

    def open(self, path: str, *, create: bool = False) -> PosixFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return PosixFile(self, os.open(self._entry(path), flags, 0o644), path)

    def exists(self, path: str) -> bool:
        return os.path.exists(self._full(path))  # noqa: PTH110 - one system call, no objects

    def list(self, path: str = "") -> list[str]:
        return sorted(os.listdir(self._full(path)))  # noqa: PTH208

    def is_dir(self, path: str) -> bool:
        return os.path.isdir(self._full(path))  # noqa: PTH112

    def mkdir(self, path: str) -> None:
        Path(self._full(path)).mkdir(parents=True, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.rename(self._entry(source), self._entry(target))  # noqa: PTH104

    def unlink(self, path: str) -> None:
        os.unlink(self._entry(path))  # noqa: PTH108

    def remove_tree(self, path: str) -> None:
        full = self._entry(path)
        if os.path.lexists(full):
            shutil.rmtree(full)

    def fsync_dir(self, path: str = "") -> None:
        fsync_directory(self._full(path))

    def fsync_all(self, paths: Iterable[str]) -> dict[str, OSError]:
        once = list(dict.fromkeys(paths))
        if len(once) >= MANY_PATHS and self._whole.sync():
            once = [path for path in once if not self.exists(path)]  # what is not there is not durable
        results = self._sync_all(self._sync_path, once)
        return {path: error for path, error in zip(once, results, strict=True) if error is not None}

    def _sync_path(self, path: str) -> OSError | None:
        try:
            fd = os.open(self._full(path), os.O_RDONLY | os.O_CLOEXEC)
            try:
                os.fsync(fd)
            finally:
                os.close(fd)
        except OSError as error:
            return error
        return None

    def run_later(self, job: DiskJob, on_done: Callable[[OSError | None], None]) -> None:
        self._jobs.append((job, on_done))
        self._next_step()

    def _next_step(self) -> None:
        if self._step_runs or self._stalled or self._abandoned or not self._jobs:
            return
        self._step_runs = True
        job, on_done = self._jobs[0]

        def step() -> None:
            with self._steps:
                if self._abandoned:
                    return
                goes_on, failure, bug = _run_step(job)
            self._post(lambda: self._step_is_done(on_done, goes_on, failure, bug))

        self._run_blocking(step)

    def _step_is_done(
        self, on_done: OnSynced, goes_on: bool, failure: OSError | None, bug: BaseException | None
    ) -> None:
        self._step_runs = False
        if bug is not None:
            raise bug
        if goes_on:
            self._next_step()
            return
        self._jobs.popleft()
        if self._stalled:
            self._finished.append(partial(on_done, failure))
            return
        self._next_step()
        on_done(failure)

    def stall(self, on: bool) -> None:
        """Keep asynchronous fsyncs and jobs from ending (the fault ``diskStall``); they go on when it is over."""
        self._stalled = on
        if not on:
            self._begin_batch()
            self._next_step()
            finished, self._finished = self._finished, []
            for report in finished:
                report()

    @property
    def is_stalled(self) -> bool:
        """Whether :meth:`stall` is in force."""
        return self._stalled

    def fsync_elsewhere(self, fd: int, on_done: Callable[[OSError | None], None]) -> None:
        """Fsync and close ``fd`` off the event loop, then report on it.

        Group commit: what is asked for while an fsync runs waits for it, and then goes together, each file once.
        Reports come in the order of the requests.
        """
        self._waiting.append((fd, on_done))
        self._begin_batch()

    def abandon(self) -> None:
        """The node is dead: nobody waits for an fsync that has not begun, and no step of a job runs after this call."""
        self._abandoned = True
        with self._steps:
            self._jobs.clear()
        waiting, self._waiting = self._waiting, []
        for fd, _ in waiting:
            os.close(fd)

    def _begin_batch(self) -> None:
        if self._syncing or self._stalled or not self._waiting:
            return
        batch, self._waiting = self._waiting, []
        self._syncing = True

        def sync_and_report() -> None:
            failures: dict[tuple[int, int], OSError | None] = {}
            results = [(on_done, _sync_once(fd, failures)) for fd, on_done in batch]
            self._post(lambda: self._batch_is_done(results))

        self._run_blocking(sync_and_report)

    def _batch_is_done(self, results: Sequence[tuple[OnSynced, OSError | None]]) -> None:
        self._syncing = False
        self._begin_batch()
        for on_done, failure in results:
            if self._stalled:
                self._finished.append(partial(on_done, failure))
            else:
                on_done(failure)

    def _full(self, path: str) -> str:
        return "/".join((self._root, *path_components(path)))

    def _entry(self, path: str) -> str:
        """The full path of something in the data directory, not the directory itself."""
        if not path:
            raise OSError(errno.EBUSY, os.strerror(errno.EBUSY), path)
        return self._full(path)


def fsync_directory(path: str) -> None:
    """Make the names in a directory durable."""
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def _run_step(job: DiskJob) -> tuple[bool, OSError | None, BaseException | None]:
    """Run the next step: whether there are more, the disk's error, or an exception that is a bug."""
    try:
        next(job)
    except StopIteration:
        return False, None, None
    except OSError as error:
        return False, error, None
    except Exception as error:
        return False, None, error
    return True, None, None


def _sync_once(fd: int, failures: dict[tuple[int, int], OSError | None]) -> OSError | None:
    """Fsync the file behind ``fd`` unless this batch has done so, and close ``fd``; what went wrong, if it did."""
    try:
        status = os.fstat(fd)
        file = (status.st_dev, status.st_ino)
        if file not in failures:
            failures[file] = None
            try:
                os.fsync(fd)
            except OSError as error:
                failures[file] = error
        return failures[file]
    finally:
        os.close(fd)


def _write_rest(fd: int, position: int, data: bytes | bytearray | memoryview, written: int) -> None:
    """Write what is behind the first ``written`` bytes."""
    rest = memoryview(data).cast("B")
    while written < len(rest):
        written += os.pwrite(fd, rest[written:], position + written)
