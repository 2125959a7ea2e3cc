"""One event after the other, each to its end: events are generators that yield operations and get their results.

An event waits for ZooKeeper at every ``yield``; no other event runs meanwhile. A lost connection suspends it: it goes
on once the session is connected again, and finds CONNECTION_LOSS as the result of what was under way. A controller
that is deposed drops the event that it is in, and all that wait (:meth:`EventQueue.drop`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Sequence
from functools import partial
from typing import Any, Final, TypeAlias, TypeVar

from highwater_runtime.ports import Clock
from highwater_runtime.ports.coordination import Children, Failure, Get, Operation, Session, WatchEvent

T = TypeVar("T")

_AT_ONCE: Final = 1000
"""Operations that are under way at a time: more would only fill the queues of client and server."""


class DeposedError(Exception):
    """There is a newer controller, or the session has ended: nothing of this controller counts from now on."""


Work: TypeAlias = Generator[Sequence[Operation[Any]], list[Any], T]
Event: TypeAlias = Callable[[], Work[None]]


def read(operations: Sequence[Operation[Any]]) -> Work[list[Any]]:
    """The results of reads, repeated as long as the connection is lost."""
    results = list((yield operations)) if operations else []
    while lost := [number for number, result in enumerate(results) if result is Failure.CONNECTION_LOSS]:
        for number, result in zip(lost, (yield [operations[number] for number in lost]), strict=True):
            results[number] = result
    return results


class EventQueue:
    """The events of one controller, from its election until :meth:`drop`.

    Args:
        on_deposed: an event has found that there is a newer controller, or that the session is over.
        after_event: runs after each event.
    """

    def __init__(
        self, session: Session, clock: Clock, on_deposed: Callable[[], None], after_event: Callable[[], None]
    ) -> None:
        self._session = session
        self._clock = clock
        self._on_deposed = on_deposed
        self._after_event = after_event
        self._waiting: dict[Hashable, Event] = {}
        self._current: Work[None] | None = None
        self._results: list[Any] | None = None
        """What the current event goes on with once the session is connected."""
        self._connected = True
        self._dropped = False
        self._watched: dict[tuple[bool, str], None] = {}

    def put(self, name: Hashable, event: Event) -> None:
        """Run ``event`` after those that wait; nothing if one of this name waits already."""
        if not self._dropped:
            self._waiting.setdefault(name, event)
            self._clock.call_later(0, self._next)

    def drop(self) -> None:
        """Forget every event, the current one too."""
        self._dropped = True
        self._waiting.clear()
        self._current = None

    def suspended(self) -> None:
        """The session is not connected."""
        self._connected = False

    def connected(self) -> None:
        """The session is connected again."""
        self._connected = True
        results, self._results = self._results, None
        if results is not None:
            self._go_on(results)

    def watch(self, operation: Get | Children, name: Hashable, event: Event) -> Watched:
        """``operation`` with a watch that puts ``event``; a path that is watched already is not watched twice."""
        return Watched(path=operation.path, operation=operation, name=name, event=event)

    # --- running --------------------------------------------------------------------------------------------------

    def _next(self) -> None:
        if self._dropped or self._current is not None or not self._waiting:
            return
        name = next(iter(self._waiting))
        self._current = self._waiting.pop(name)()
        self._go_on(None)

    def _go_on(self, results: list[Any] | None) -> None:
        current = self._current
        if current is None:
            return
        try:
            operations = next(current) if results is None else current.send(results)
        except StopIteration:
            self._ended()
        except DeposedError:
            self.drop()
            self._on_deposed()
        else:
            self._submit(current, operations)

    def _ended(self) -> None:
        self._current = None
        if not self._dropped:
            self._after_event()
            self._clock.call_later(0, self._next)

    def _submit(self, current: Work[None], operations: Sequence[Operation[Any]]) -> None:
        results: list[Any] = [None] * len(operations)
        following = iter(range(len(operations)))
        left = len(operations)

        def finish(number: int, result: Any) -> None:
            nonlocal left
            if current is not self._current:
                return
            results[number] = result
            left -= 1
            if left:
                submit_some(1)
            else:
                self._finished(results)

        def submit_some(most: int) -> None:
            for _, number in zip(range(most), following, strict=False):
                self._submit_one(operations[number], partial(finish, number))

        if not operations:
            self._clock.call_later(0, lambda: self._finished(results) if current is self._current else None)
        submit_some(_AT_ONCE)

    def _submit_one(self, operation: Operation[Any], on_result: Callable[[Any], None]) -> None:
        submit: Any = self._session.submit
        if not isinstance(operation, Watched):
            submit(operation, on_result)
            return
        key = isinstance(operation.operation, Children), operation.path
        if key in self._watched:
            submit(operation.operation, on_result)
            return
        self._watched[key] = None

        def fired(_: WatchEvent) -> None:
            self._watched.pop(key, None)
            self.put(operation.name, operation.event)

        def read_it(result: Any) -> None:
            if isinstance(result, Failure):
                self._watched.pop(key, None)
            on_result(result)

        submit(operation.operation, read_it, watch=fired)

    def _finished(self, results: list[Any]) -> None:
        """Go on, but after a lost connection only when there is one: see :meth:`connected`."""
        if Failure.SESSION_EXPIRED in results:
            self.drop()
            self._on_deposed()
        elif Failure.CONNECTION_LOSS not in results:
            self._go_on(results)
        else:
            self._results = results
            self._clock.call_later(0, self._retry)

    def _retry(self) -> None:
        """Go on if the session is connected: by now it would have reported that it was suspended."""
        if self._connected and self._results is not None:
            self.connected()


class Watched(Operation[Any], frozen=True):
    """A read with a watch that puts an event of a name."""

    operation: Get | Children
    name: Hashable
    event: Event


def in_batches(items: Iterable[T], size: Callable[[T], int], most: int) -> list[list[T]]:
    """Split ``items`` in their order so that the sizes of a batch are together ``most`` or it has one item."""
    batches: list[list[T]] = []
    filled = 0
    for item in items:
        if not batches or filled + size(item) > most:
            batches.append([])
            filled = 0
        batches[-1].append(item)
        filled += size(item)
    return batches
