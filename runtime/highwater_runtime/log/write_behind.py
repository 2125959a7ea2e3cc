"""What a broker's logs want of the disk, done behind the broker's back and many at once.

A checkpoint that is replaced, a log that is created, a directory that is set aside: each needs two fsyncs or more, for
which no event of the broker may wait. They are *tasks*: they queue up here, and go to the disk in batches as jobs
(:meth:`highwater_runtime.ports.Disk.run_later`). A batch does one thing after the other for all of its tasks, so that
their fsyncs wait together:

1. ``prepare``: write files under names that nobody reads, or move away what must go;
2. fsync the files;
3. ``install``: rename them to where they are read;
4. fsync the directories.

Rules in words:

* Disk tasks are done in the order in which they came. One batch holds tasks of one kind, one for each path: so the
  renamed directory of a deleted log is durable before the batch begins that makes a new one of the same name.
* A task is done once it is durable. A caller that relies on that waits for ``done``.
* An error concerns only its own task. The other tasks of the batch are done.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final, Protocol

from highwater_runtime.log.checkpoints import write_temporary
from highwater_runtime.log.names import TEMPORARY, parent
from highwater_runtime.ports.disk import Disk, DiskJob

Done = Callable[[OSError | None], None]

MOST_TOGETHER: Final = 64
"""Disk tasks in a batch."""


class DiskTask(Protocol):
    """Something to do on the disk. ``path`` is what it is about, ``done`` hears of its end."""

    path: str
    done: Done

    def prepare(self, disk: Disk) -> list[str]:
        """The first step; returns the files to fsync. Raises ``OSError``."""

    def install(self, disk: Disk) -> list[str]:
        """The step behind these fsyncs; returns the directories to fsync. Raises ``OSError``."""


class Replace:
    """Replace a small file atomically by what ``encode`` returns; ``encode`` runs off the broker's events."""

    def __init__(self, path: str, encode: Callable[[], bytes], done: Done) -> None:
        self.path = path
        self.done = done
        self._encode = encode

    def prepare(self, disk: Disk) -> list[str]:
        return [write_temporary(disk, self.path, self._encode())]

    def install(self, disk: Disk) -> list[str]:
        disk.rename(self.path + TEMPORARY, self.path)
        return [parent(self.path)]


class SetAside:
    """Rename a directory, so that no start finds it under its name."""

    def __init__(self, path: str, target: str, done: Done) -> None:
        self.path = path
        self.done = done
        self._target = target

    def prepare(self, disk: Disk) -> list[str]:
        disk.rename(self.path, self._target)
        return []

    def install(self, disk: Disk) -> list[str]:  # noqa: ARG002
        return [parent(self.path)]


class RemoveTree:
    """Remove a directory with everything in it."""

    def __init__(self, path: str, done: Done) -> None:
        self.path = path
        self.done = done

    def prepare(self, disk: Disk) -> list[str]:
        disk.remove_tree(self.path)
        return []

    def install(self, disk: Disk) -> list[str]:  # noqa: ARG002
        return [parent(self.path)]


class Closing:
    """Make durable the files that ``prepare`` brings up to date, and the directory ``path`` that they are in."""

    def __init__(self, path: str, prepare: Callable[[], list[str]], done: Done) -> None:
        self.path = path
        self.done = done
        self._prepare = prepare

    def prepare(self, disk: Disk) -> list[str]:  # noqa: ARG002
        return self._prepare()

    def install(self, disk: Disk) -> list[str]:  # noqa: ARG002
        return [self.path]


class WriteBehind:
    """The queue of tasks of one data directory, and the job that is under way."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._queue: deque[DiskTask] = deque()
        self._is_busy = False

    def __len__(self) -> int:
        """Disk tasks that wait; those of the batch under way are not among them."""
        return len(self._queue)

    def add(self, task: DiskTask) -> None:
        """Do ``task`` behind all that came before it."""
        self._queue.append(task)
        self._begin_batch()

    def _begin_batch(self) -> None:
        if self._is_busy or not self._queue:
            return
        self._is_busy = True
        kind, batch = type(self._queue[0]), dict[str, DiskTask]()
        while self._queue and len(batch) < MOST_TOGETHER:
            task = self._queue[0]
            if type(task) is not kind or task.path in batch:
                break
            batch[task.path] = self._queue.popleft()
        failures: dict[str, OSError] = {}
        job = _batch(self._disk, batch, failures)
        self._disk.run_later(job, partial(self._batch_done, batch, failures))

    def _batch_done(self, batch: dict[str, DiskTask], failures: dict[str, OSError], error: OSError | None) -> None:
        self._is_busy = False
        self._begin_batch()
        for path, task in batch.items():
            task.done(failures.get(path, error))


def do_now(disk: Disk, task: DiskTask) -> None:
    """Do one task before returning. Blocks the node; ``done`` is not called.

    Raises:
        OSError: the disk failed.
    """
    failures: dict[str, OSError] = {}
    for _ in _batch(disk, {task.path: task}, failures):
        pass
    for error in failures.values():
        raise error


def _batch(disk: Disk, batch: dict[str, DiskTask], failures: dict[str, OSError]) -> DiskJob:
    """The steps of a batch; notes by path what went wrong."""
    for installs in (False, True):
        to_sync: dict[str, list[str]] = {}
        for path, task in batch.items():
            if path not in failures:
                try:
                    to_sync[path] = task.install(disk) if installs else task.prepare(disk)
                except OSError as failure:
                    failures[path] = failure
        yield
        unsynced = disk.fsync_all(name for names in to_sync.values() for name in names)
        for path, names in to_sync.items():
            failures.update((path, unsynced[name]) for name in names if name in unsynced)
        yield
