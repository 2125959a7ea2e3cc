"""Requests that wait: produces for replication, fetches for data. And the guarantee that none is forgotten.

A parked operation watches partitions. Two rules make a lost wake-up impossible:

1. An operation is tried and, if it has to wait, watched within one event (:meth:`Purgatory.park`), so nothing can
   happen in between; and what the trial itself changes is marked, and checked after the event.
2. Code that changes anything an operation may wait for (LEO, HW, ISR, leadership) marks the partition
   (:meth:`WakeUps.mark`), and after every event of the node, of any kind, all marked partitions are checked
   (:meth:`WakeUps.drain`). No code path has to remember to wake anyone, and no operation completes in the middle of
   a change.

A time-out is the only other way out of the purgatory, except for the end of the node. Nearly every operation completes
long before its own, so a purgatory keeps one timer, for the earliest deadline, and not one for each operation.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from heapq import heapify, heappop, heappush
from typing import Final, Protocol
from uuid import UUID

from highwater_runtime.ports import Clock, Timer

_MANY_ANSWERED: Final = 1024
"""Deadlines of answered operations that may be kept before they are thrown out."""

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

    __slots__ = ("keys", "operation", "sequence")

    def __init__(self, operation: Delayed, keys: Iterable[WatchKey], sequence: int) -> None:
        self.operation: Delayed | None = operation
        """None once it was answered."""
        self.keys = keys
        self.sequence = sequence


class Purgatory:
    """Operations of one kind, by the partitions they watch, tried in the order in which they came."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._watchers: dict[WatchKey, dict[int, _Parked]] = {}
        self._next = 0
        self._deadlines: list[tuple[int, int, _Parked]] = []
        """(node time, sequence, operation): a heap, in which answered operations stay for a while."""
        self._answered = 0
        self._timer: Timer | None = None
        self._timer_ns = 0

    def park(self, operation: Delayed, keys: Iterable[WatchKey], timeout_ns: int) -> None:
        """Complete ``operation`` now if it can be, else once ``keys`` let it, or ``timeout_ns`` have passed."""
        if operation.try_complete():
            return
        self._next = sequence = self._next + 1
        parked = _Parked(operation, dict.fromkeys(keys), sequence)
        for key in parked.keys:
            self._watchers.setdefault(key, {})[sequence] = parked
        now = self._clock.now_ns()
        heappush(self._deadlines, (now + timeout_ns, sequence, parked))
        if self._timer is None or now + timeout_ns < self._timer_ns:
            self._wake_at_first_deadline(now)

    def check(self, key: WatchKey) -> int:
        """Try everything that watches ``key``; returns how many operations completed."""
        watching = self._watchers.get(key)
        if not watching:
            return 0
        completed = 0
        for parked in list(watching.values()):
            if parked.operation is not None and parked.operation.try_complete():
                self._unwatch(parked)
                completed += 1
        self._answered += completed
        self._forget_answered()
        return completed

    def __len__(self) -> int:
        return len({sequence for watching in self._watchers.values() for sequence in watching})

    def _wake_at_first_deadline(self, now: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer_ns = self._deadlines[0][0]
        self._timer = self._clock.call_later(self._timer_ns - now, self._expire)

    def _expire(self) -> None:
        """A deadline has come, if perhaps that of an operation that was answered meanwhile."""
        self._timer = None
        now = self._clock.now_ns()
        deadlines = self._deadlines
        while deadlines and (deadlines[0][0] <= now or deadlines[0][2].operation is None):
            parked = heappop(deadlines)[2]
            operation = parked.operation
            if operation is None:
                self._answered -= 1
            else:
                self._unwatch(parked)
                operation.expire()
        if deadlines and self._timer is None:
            self._wake_at_first_deadline(now)

    @property
    def is_occupied(self) -> bool:
        return bool(self._watchers)

    def watched(self) -> list[WatchKey]:
        """The keys that some operation waits for."""
        return list(self._watchers)

    def _unwatch(self, parked: _Parked) -> None:
        parked.operation = None
        for key in parked.keys:
            watching = self._watchers[key]
            del watching[parked.sequence]
            if not watching:
                del self._watchers[key]

    def _forget_answered(self) -> None:
        """Keep the deadlines of answered operations from outnumbering the others."""
        deadlines = self._deadlines
        if self._answered > _MANY_ANSWERED and self._answered * 2 > len(deadlines):
            deadlines[:] = [entry for entry in deadlines if entry[2].operation is not None]
            heapify(deadlines)
            self._answered = 0


class Listener(Protocol):
    """Hears of everything that was marked in an event before anybody is woken for it."""

    def note(self, changed: Mapping[WatchKey, bool], appended: Iterable[WatchKey]) -> None:
        """Take in what was marked. ``changed`` says of each key whether only the HW has moved."""

    def wake(self) -> None:
        """Wake who waits for it."""


class WakeUps:
    """Partitions of which something changed in this event, and the purgatories that want to know.

    Args:
        on_change: purgatories whose operations may wait for anything (HW, ISR, leadership, data).
        on_append: those among them whose operations may also wait for nothing but more data in the log.
        listener: gets all the marks of an event at once.
    """

    def __init__(
        self,
        on_change: tuple[Purgatory, ...],
        on_append: tuple[Purgatory, ...] | None = None,
        listener: Listener | None = None,
    ) -> None:
        self._on_change = on_change
        self._on_append = on_change if on_append is None else on_append
        self._listener = listener
        self._changed: dict[WatchKey, bool] = {}
        """Whether only the HW has moved."""
        self._appended: dict[WatchKey, bool] = {}

    def mark(self, key: WatchKey) -> None:
        """Something that an operation may wait for has changed."""
        self._changed[key] = False

    def mark_committed(self, key: WatchKey) -> None:
        """The HW has moved forward, and nothing else has changed."""
        self._changed.setdefault(key, True)

    def mark_appended(self, key: WatchKey) -> None:
        """The log has grown, and nothing else has changed."""
        self._appended[key] = True

    def drain(self) -> None:
        """Check everything marked, until nothing is: completing one operation may mark others."""
        listener = self._listener
        while True:
            if self._changed or self._appended:
                changed, self._changed = self._changed, {}
                appended, self._appended = self._appended, {}
                for key in changed:
                    if appended.pop(key, False):
                        changed[key] = False
                if listener is not None:
                    listener.note(changed, appended)
                _check(self._on_change, changed)
                _check(self._on_append, appended)
            if listener is not None:
                listener.wake()
            if not self._changed and not self._appended:
                return


def _check(purgatories: tuple[Purgatory, ...], keys: Iterable[WatchKey]) -> None:
    occupied = [purgatory for purgatory in purgatories if purgatory.is_occupied]
    if occupied:
        for key in keys:
            for purgatory in occupied:
                purgatory.check(key)
