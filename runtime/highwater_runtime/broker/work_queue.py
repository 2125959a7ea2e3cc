"""Work on many partitions, done in pieces: no event does more than a bounded part of it.

A change of metadata may concern every partition of a broker. Were it acted on in one event, requests and heartbeats
would wait behind that for longer than the session lasts. So the work is put into a queue, and each event does a slice
of it; whatever else is due comes between two slices. The most urgent kind of work goes first, whenever it was added.

A small change is done within the event that brings it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import Final, TypeVar

from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.ports import Clock

SLICE: Final = 100
"""Partitions that one event works on."""

Work = Callable[[PartitionKey], None]
T = TypeVar("T")
R = TypeVar("R")


def answer_in_slices(
    clock: Clock, asked: Iterable[T], answer: Callable[[T], R], reply: Callable[[list[R]], None]
) -> None:
    """Have ``answer`` called for each of ``asked``, :data:`SLICE` in an event, and ``reply`` with what it returned, in
    order: a client that asks for much must not keep others waiting. A small request is answered within its event."""
    items, answers = iter(asked), list[R]()

    def go_on() -> None:
        done = [answer(item) for item in islice(items, SLICE)]
        answers.extend(done)
        if len(done) < SLICE:
            reply(answers)
        else:
            clock.call_later(0, go_on)

    go_on()


class PartitionWorkQueue:
    """A queue for each of ``kinds``, the most urgent kind first; a partition is in it once, however often it is added.

    ``on_idle`` is called at the end of an event that leaves nothing to do.
    """

    def __init__(self, clock: Clock, kinds: Sequence[Work], on_idle: Callable[[], None]) -> None:
        self._clock = clock
        self._kinds = kinds
        self._queues: tuple[dict[PartitionKey, None], ...] = tuple({} for _ in kinds)
        self._on_idle = on_idle
        self._is_scheduled = False
        self._is_closed = False

    def __len__(self) -> int:
        """How much there is to do."""
        return sum(len(queue) for queue in self._queues)

    def add(self, kind: int, key: PartitionKey) -> None:
        """Have work of a kind (its index in ``kinds``) done for a partition; begins with :meth:`begin`."""
        self._queues[kind][key] = None

    def begin(self) -> None:
        """Do the first slice now, unless earlier work is still under way; the rest in events of its own."""
        if not self._is_scheduled:
            self._do_slice()

    def close(self) -> None:
        self._is_closed = True

    def _do_slice(self) -> None:
        self._is_scheduled = False
        if self._is_closed:
            return
        left = SLICE
        for queue, work in zip(self._queues, self._kinds, strict=True):
            while queue and left:
                key = next(iter(queue))
                del queue[key]
                work(key)
                left -= 1
        if any(self._queues):
            self._is_scheduled = True
            self._clock.call_later(0, self._do_slice)
        else:
            self._on_idle()
