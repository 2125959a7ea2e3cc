"""Logs of deleted partitions, until no restart finds them any more.

The directory of a deleted log is renamed behind the broker's back (:mod:`.write_behind`). Until that is durable, a
power loss or a kill brings the log back. So whoever promises that a replica is gone waits for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from highwater_runtime.log.creation import Creation
from highwater_runtime.log.log import Log
from highwater_runtime.log.names import TopicPartition

_Leaving = tuple[TopicPartition, Log | Creation]


class Departures:
    """Of one data directory; ``logs`` are those that are there."""

    def __init__(self, logs: Mapping[TopicPartition, Log]) -> None:
        self._logs = logs
        self._creating: dict[TopicPartition, Creation] = {}
        """Logs that are being made: whoever makes them deletes them if they are not wanted then."""
        self._leaving: dict[str, _Leaving] = {}
        """By the new names of their directories: these are not durable yet."""
        self._awaited: list[tuple[list[_Leaving], Callable[[], None]]] = []

    def create(self, partition: TopicPartition, task: Creation) -> None:
        """A log is being made."""
        self._creating[partition] = task

    def created(self, partition: TopicPartition, log: Log) -> None:
        """It is there. Who waits for its departure waits for this log."""
        before, after = (partition, self._creating.pop(partition)), (partition, log)
        self._awaited = [([after if one == before else one for one in logs], done) for logs, done in self._awaited]

    def begin(self, name: str, partition: TopicPartition, log: Log) -> None:
        """A log has been taken out of the logs, and its directory is to be renamed to ``name``."""
        self._leaving[name] = partition, log

    def end(self, name: str) -> None:
        """The new name is durable."""
        del self._leaving[name]
        self._look()

    def when_over(self, partitions: Iterable[TopicPartition], on_done: Callable[[], None]) -> None:
        """Call ``on_done`` once the present logs of partitions that are to be deleted are gone for every restart."""
        concerned = {*partitions}
        present: list[_Leaving] = [*self._logs.items(), *self._creating.items(), *self._leaving.values()]
        self._awaited.append(([one for one in present if one[0] in concerned], on_done))
        self._look()

    def _look(self) -> None:
        awaited, self._awaited = self._awaited, []
        for logs, on_done in awaited:
            left = [one for one in logs if self._is_here(*one)]
            if left:
                self._awaited.append((left, on_done))
            else:
                on_done()

    def _is_here(self, partition: TopicPartition, log: Log | Creation) -> bool:
        is_known = log in (self._logs.get(partition), self._creating.get(partition))
        return is_known or (partition, log) in self._leaving.values()
