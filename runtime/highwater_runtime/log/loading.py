"""The logs of a data directory, opened when a node starts: a bounded number in one event, the rest as jobs.

A log costs some system calls and, after an unclean stop, a walk over what it holds. Ten thousand of them take many
seconds, in which the node has to register and to replay metadata. So a job of the disk reads a slice of them, and the
event behind it takes them in. A directory with few logs is loaded before the start returns.

Apache Kafka loads its logs in threads of their own as well (``num.recovery.threads.per.data.dir``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple
from uuid import UUID

from highwater_runtime.log.checkpoints import read_partition_metadata
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.names import TopicPartition
from highwater_runtime.log.recovery import Loader, Recovery
from highwater_runtime.ports.disk import Disk, DiskJob

AT_ONCE: Final = 100
"""Logs that are loaded before a start returns."""
IN_A_JOB: Final = 25


class FoundLog(NamedTuple):
    """A log as its files tell it; ``topic_id`` is None where none was written down."""

    loader: Loader
    recovery: Recovery
    topic_id: UUID | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogPlace:
    """Where a log is, and what checkpoints say of it."""

    partition: TopicPartition
    config: LogConfig
    now_ms: int
    clean: bool
    recovery_point: int
    log_start_offset: int

    def read(self, disk: Disk) -> FoundLog:
        """Load it from the disk, which recovers it where need be. Raises as :meth:`.log.Log.open` does."""
        directory = str(self.partition)
        topic_id = read_partition_metadata(disk, directory)
        loader = Loader(
            disk=disk,
            directory=directory,
            config=self.config,
            now_ms=self.now_ms,
            clean=self.clean,
            recovery_point=self.recovery_point,
            log_start_offset=self.log_start_offset,
        )
        return FoundLog(loader, loader.load(), topic_id)


class Loading:
    """Reads ``places`` in order. ``take`` gets each log, ``on_done`` is called behind the last one."""

    def __init__(
        self,
        disk: Disk,
        places: Sequence[LogPlace],
        take: Callable[[TopicPartition, FoundLog], None],
        on_done: Callable[[], None],
    ) -> None:
        self._disk = disk
        self._places = places
        self._next = 0
        self._take = take
        self._on_done = on_done
        self._is_stopped = False

    def begin(self) -> None:
        """Load the first logs now, the others later. Raises ``OSError``, in this event or in that of a later slice."""
        for place in self._slice(AT_ONCE):
            self._take(place.partition, place.read(self._disk))
        self._go_on()

    def stop(self) -> None:
        """Load no more; ``on_done`` is not called."""
        self._is_stopped = True

    def _slice(self, size: int) -> Sequence[LogPlace]:
        begin, self._next = self._next, min(self._next + size, len(self._places))
        return self._places[begin : self._next]

    def _go_on(self) -> None:
        places, found = self._slice(IN_A_JOB), list[FoundLog]()
        if not places:
            self._on_done()
            return

        def read() -> DiskJob:
            for place in places:
                found.append(place.read(self._disk))
                yield

        def done(error: OSError | None) -> None:
            if error is not None:
                raise error
            if not self._is_stopped:
                for place, log in zip(places, found, strict=True):
                    self._take(place.partition, log)
                self._go_on()

        self._disk.run_later(read(), done)
