"""Requests that wait: produces for replication, fetches for data. And the guarantee that none is forgotten.

A parked operation watches partitions. Two rules make a lost wake-up impossible:

1. An operation is tried and, if it has to wait, watched within one event (:meth:`Purgatory.park`), so nothing can
   happen in between; and what the trial itself changes is marked, and checked after the event.
2. Whoever changes anything an operation may wait for (LEO, HW, ISR, leadership) marks the partition
   (:meth:`WakeUps.mark`), and after every event of the node, whatever it was, all marked partitions are checked
   (:meth:`WakeUps.drain`). No code path has to remember to wake anyone, and no operation completes in the middle of
   a change.

A time-out is the only other way out of the purgatory, except for the end of the node.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Protocol
from uuid import UUID

from highwater_runtime.ports import Clock, Timer

PartitionKey = tuple[UUID, int]
"""Topic id and partition index: what a partition is known by in a broker."""

WatchKey = Hashable
"""What operations watch. A broker uses a partition's name, which is cheaper to look up than its key; a topic that
returns under its name under another id only finds operations that its predecessor's end has answered in that event."""


class Delayed(Protocol):
    """A request that may have to wait."""

    def try_complete(self) -> bool:
        """Answer the request if its condition holds (or can never hold any more); whether it was answered."""

    def expire(self) -> None:
        """Answer the request as it stands: its time is up."""


class _Parked:
    """One waiting operation with its place in the watch lists."""

    __slots__ = ("keys", "operation", "sequence", "timer")

    def __init__(self, operation: Delayed, keys: Iterable[WatchKey], sequence: int) -> None:
        self.operation = operation
        self.keys = keys
        self.sequence = sequence
        self.timer: Timer


class Purgatory:
    """Operations of one kind, by the partitions they watch, tried in the order in which they came."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._watchers: dict[WatchKey, dict[int, _Parked]] = {}
        self._next = 0

    def park(self, operation: Delayed, keys: Iterable[WatchKey], timeout_ns: int) -> None:
        """Complete ``operation`` now if it can be, else once ``keys`` let it, or ``timeout_ns`` have passed."""
        if operation.try_complete():
            return
        self._next = sequence = self._next + 1
        parked = _Parked(operation, dict.fromkeys(keys), sequence)
        for key in parked.keys:
            self._watchers.setdefault(key, {})[sequence] = parked
        parked.timer = self._clock.call_later(timeout_ns, lambda: self._expire(parked))

    def check(self, key: WatchKey) -> int:
        """Try everything that watches ``key``; returns how many operations completed."""
        watching = self._watchers.get(key)
        if not watching:
            return 0
        completed = 0
        for parked in list(watching.values()):
            if parked.operation.try_complete():
                self._remove(parked)
                completed += 1
        return completed

    def __len__(self) -> int:
        """How many operations wait."""
        return len({sequence for watching in self._watchers.values() for sequence in watching})

    def _expire(self, parked: _Parked) -> None:
        self._remove(parked)
        parked.operation.expire()

    def _remove(self, parked: _Parked) -> None:
        parked.timer.cancel()
        for key in parked.keys:
            watching = self._watchers[key]
            del watching[parked.sequence]
            if not watching:
                del self._watchers[key]


class WakeUps:
    """Partitions of which something changed in this event, and the purgatories that want to know.

    Args:
        on_change: purgatories whose operations may wait for anything (HW, ISR, leadership, data).
        on_append: those among them whose operations may also wait for nothing but more data in the log.
    """

    def __init__(self, on_change: tuple[Purgatory, ...], on_append: tuple[Purgatory, ...] | None = None) -> None:
        self._on_change = on_change
        self._on_append = on_change if on_append is None else on_append
        self._changed: dict[WatchKey, None] = {}
        self._appended: dict[WatchKey, None] = {}

    def mark(self, key: WatchKey) -> None:
        """Something that an operation may wait for has changed."""
        self._changed[key] = None

    def mark_appended(self, key: WatchKey) -> None:
        """The log has grown, and nothing else has changed."""
        self._appended[key] = None

    def drain(self) -> None:
        """Check everything marked, until nothing is: completing one operation may mark others."""
        while self._changed or self._appended:
            changed, self._changed = self._changed, {}
            appended, self._appended = self._appended, {}
            for key in changed:
                appended.pop(key, None)
                for purgatory in self._on_change:
                    purgatory.check(key)
            for key in appended:
                for purgatory in self._on_append:
                    purgatory.check(key)
