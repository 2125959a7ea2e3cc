"""The checkpoints that all logs of a data directory share: recovery points, log start offsets, high watermarks.

They are written behind (:mod:`.write_behind`), each file by one writer: what comes up while it is being written goes
into the next content, however much that is. Two rules keep a crash from finding one that says too much:

* **A recovery point rises** only once the leader epochs below it are durable (:mod:`.epoch_cache`): recovery does not
  read the batches there.
* **A recovery point falls** durably before the log is cut (:meth:`OffsetCheckpoints.lower`).

An error of one of these files is the failure of the only log directory: it is raised in the event in which it is heard
of, and so ends the node.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from highwater_runtime.log.checkpoints import (
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    encode_offsets,
    read_offsets,
    write_offsets,
)
from highwater_runtime.log.log import Log
from highwater_runtime.log.names import TopicPartition
from highwater_runtime.log.write_behind import Replace, WriteBehind
from highwater_runtime.ports.disk import Disk

FILES: Final = (RECOVERY_POINTS, LOG_START_OFFSETS, HIGH_WATERMARKS)


class _File:
    """What a checkpoint is to say, and how far that is from being durable."""

    __slots__ = ("is_stale", "offsets", "writes")

    def __init__(self) -> None:
        self.offsets: dict[TopicPartition, int] = {}
        self.is_stale = False
        """Whether no write under way has :attr:`offsets`."""
        self.writes = 0
        """How many are under way."""


class OffsetCheckpoints:
    """The three files of one data directory."""

    def __init__(self, disk: Disk, behind: WriteBehind) -> None:
        self._disk = disk
        self._behind = behind
        self._files = {path: _File() for path in FILES}
        self._rising: dict[TopicPartition, int] | None = None
        """The recovery points that are written as soon as the leader epochs below them are durable."""
        self._on_written: list[Callable[[OSError | None], None]] = []

    # --- reading, writing --------------------------------------------------------------------------------------------

    def read(self, path: str) -> dict[TopicPartition, int]:
        """The content of a file. Raises ``CorruptCheckpointError``."""
        offsets = read_offsets(self._disk, path)
        self._files[path].offsets = dict(offsets)
        return offsets

    def write_now(self, path: str, offsets: dict[TopicPartition, int]) -> None:
        """Write ``offsets``, unless the file says so already; durable when this returns. For a start."""
        file = self._files[path]
        if offsets != file.offsets:
            write_offsets(self._disk, path, offsets)
            file.offsets = offsets

    def write(self, path: str, offsets: dict[TopicPartition, int]) -> None:
        """Write ``offsets``, unless the file says so already or is about to."""
        file = self._files[path]
        if offsets != file.offsets:
            file.offsets = offsets
            file.is_stale = True
            self._write_soon(path)

    def forget(self, tp: TopicPartition) -> None:
        """A partition is deleted: one of the same name must not inherit its offsets."""
        if self._rising is not None:
            self._rising.pop(tp, None)
        for path, file in self._files.items():
            if file.offsets.pop(tp, None) is not None:
                file.is_stale = True
                self._write_soon(path)

    def write_stale(self) -> None:
        """Have whatever is not written yet written before any task that comes later."""
        for path, file in self._files.items():
            if file.is_stale:
                self._begin_write(path)

    def when_written(self, on_done: Callable[[OSError | None], None]) -> None:
        """Call ``on_done`` once nothing is left to write, with the error if there was one. For a shutdown."""
        self._on_written.append(on_done)
        self.write_stale()
        self._notify_if_written(None)

    def _write_soon(self, path: str) -> None:
        if self._files[path].writes == 0:
            self._begin_write(path)

    def _begin_write(self, path: str) -> None:
        file = self._files[path]
        file.is_stale = False
        file.writes += 1
        self._behind.add(Replace(path, partial(encode_offsets, dict(file.offsets)), partial(self._written, path)))

    def _written(self, path: str, error: OSError | None) -> None:
        file = self._files[path]
        file.writes -= 1
        if error is not None and not self._on_written:
            raise error
        if error is None and file.is_stale:
            self._write_soon(path)
        self._notify_if_written(error)

    def _notify_if_written(self, error: OSError | None) -> None:
        if error is not None or not any(file.writes or file.is_stale for file in self._files.values()):
            callbacks, self._on_written = self._on_written, []
            for on_done in callbacks:
                on_done(error)

    # --- recovery points ---------------------------------------------------------------------------------------------

    def save_recovery_points(self, logs: Mapping[TopicPartition, Log]) -> None:
        """Write how far each log is durable, once its leader epochs are."""
        if self._rising is not None:
            return  # the next time
        rising = self._rising = {tp: log.recovery_point for tp, log in logs.items()}
        stale = [log for log in logs.values() if log.epochs_are_stale]
        waiting = len(stale)

        def saved() -> None:
            nonlocal waiting
            waiting -= 1
            if waiting <= 0 and self._rising is rising:
                self._rising = None
                self.write(RECOVERY_POINTS, self._vouched_for(rising, logs))

        for log in stale:
            self._behind.add(log.save_epochs_later(saved))
        if not stale:
            saved()

    def _vouched_for(
        self, rising: Mapping[TopicPartition, int], logs: Mapping[TopicPartition, Log]
    ) -> dict[TopicPartition, int]:
        """The points to write: those of a log that has failed stay as they were, for its epochs may not be durable."""
        before = self._files[RECOVERY_POINTS].offsets
        return {
            tp: point if tp in logs and logs[tp].failure is None else min(point, before.get(tp, 0))
            for tp, point in rising.items()
        }

    def write_recovery_points(self, logs: Mapping[TopicPartition, Log]) -> None:
        """Write how far each log is durable; their leader epochs are, except where a log has failed."""
        self._rising = None
        points = {tp: log.recovery_point for tp, log in logs.items()}
        self.write(RECOVERY_POINTS, self._vouched_for(points, logs))

    def lower(self, tp: TopicPartition, offset: int) -> bool:
        """Whether the checkpoint vouches for nothing of ``tp`` behind ``offset``, durably; have it so if not."""
        if self._rising is not None and tp in self._rising:
            self._rising[tp] = min(self._rising[tp], offset)
        file = self._files[RECOVERY_POINTS]
        if file.offsets.get(tp, 0) > offset:
            file.offsets[tp] = offset
            file.is_stale = True
            self._write_soon(RECOVERY_POINTS)
        return not file.is_stale and file.writes == 0
