"""Virtual time: one heap of events, run one after the other.

An event is ``(when_ns, sequence, function, argument)``. Equal instants run in the order in which they were pushed,
so that the order of a run follows from its seed alone. There is no asyncio here: its scheduling is slower and follows
memory addresses in places.

``after_event`` holds callables that run after every single event, ``after_this_event`` some that run after the
present one (or, between events, after the next) and no more: the invariants monitor comes when there is news. Both
cost nothing while they are empty.
"""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import Any, Final, Protocol

Function = Callable[[Any], None]
Event = tuple[int, int, Function, Any]

FOREVER: Final = 1 << 62
"""An instant (ns) that no run reaches."""

SPAN_NS: Final = 10_000_000
MAX_EVENTS_AT_ONCE: Final = 1_000_000
"""Events within :data:`SPAN_NS` of virtual time after which time is taken to stand still for good, be it at one instant
or by a nanosecond an event. Honest bursts (a resumed node gets all that waited for it) stay far below, and so do honest
loads: this is a hundred events in each microsecond."""


class Watchdog(Protocol):
    """Looks at the events of a crowded span (:mod:`.standstill`)."""

    def before_event(self, running: Any, now: int, span: int, function: Function, argument: Any) -> bool:
        """Note one more event of a crowded ``span``; ``running`` is who ran the one before it. Returns whether somebody
        has been blamed, after which counting begins again."""


class Cancellable:
    """An event's argument that may be cancelled: its ``callback`` becomes None and the event does nothing."""

    __slots__ = ("callback", "loop")

    def __init__(self, loop: EventLoop, callback: Callable[[], None]) -> None:
        self.loop = loop
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        """Make sure that the callback never runs. Idempotent; does nothing once it has run."""
        if self.callback is not None:
            self.callback = None
            self.loop.note_cancelled()


class EventLoop:
    """The heap and the clock of the whole simulation."""

    __slots__ = (
        "after_event",
        "after_this_event",
        "cancelled",
        "crowd",
        "events_run",
        "heap",
        "now",
        "on_error",
        "running",
        "sequence",
        "span_ends",
        "standstill",
    )

    def __init__(
        self,
        on_error: Callable[[BaseException, Function], None] | None = None,
        standstill: Watchdog | None = None,
    ) -> None:
        self.heap: list[Event] = []
        self.now = 0
        self.sequence = 0
        self.events_run = 0
        self.cancelled = 0
        self.after_event: list[Callable[[], None]] = []
        self.after_this_event: list[Callable[[], None]] = []
        self.running: Any = None
        """Whose code the current event runs: a process, or None for the harness."""
        self.on_error = on_error
        """Gets what an event raised, and its function; returns if the run can go on."""
        self.span_ends = 0
        self.crowd = 0
        """Events since the present span of :data:`SPAN_NS` began."""
        self.standstill = standstill
        """Looks at events once there are too many in one span."""

    def push(self, when: int, function: Function, argument: Any) -> None:
        """Run ``function(argument)`` at ``when`` (ns, not before now)."""
        self.sequence = sequence = self.sequence + 1
        heappush(self.heap, (when, sequence, function, argument))

    def call_at(self, when: int, callback: Callable[[], None]) -> Cancellable:
        """Run the harness's ``callback`` at ``when`` (ns)."""
        timer = Cancellable(self, callback)
        self.push(max(when, self.now), _run_harness, timer)
        return timer

    def note_cancelled(self) -> None:
        """One event of the heap will do nothing; when most do nothing they are thrown out."""
        self.cancelled += 1
        if self.cancelled > 1024 and self.cancelled * 2 > len(self.heap):
            self.heap[:] = [event for event in self.heap if not _is_cancelled(event[3])]
            heapify(self.heap)
            self.cancelled = 0

    def run(self, until_ns: int, predicate: Callable[[], bool] | None = None, max_events: int | None = None) -> bool:
        """Run events up to and including ``until_ns``, until ``predicate`` holds after one, or for ``max_events``.

        Returns whether ``predicate`` held; without one, whether ``until_ns`` was reached. Time then stands at
        ``until_ns``, even if nothing was left to do before it (except for an end at ``FOREVER``).
        """
        if predicate is not None and predicate():
            return True
        heap = self.heap
        hooks, hooks_once = self.after_event, self.after_this_event
        budget = -1 if max_events is None else max_events
        most = MAX_EVENTS_AT_ONCE
        while heap:
            if heap[0][0] > until_ns:
                break
            if budget == 0:
                return False
            budget -= 1
            when, _, function, argument = heappop(heap)
            self.now = when
            if when < self.span_ends:
                self.crowd += 1
                if self.crowd > most:
                    self._watch(function, argument)
            else:
                self.span_ends, self.crowd = when + SPAN_NS, 0
            self.events_run += 1
            self.running = None
            try:
                function(argument)
            except BaseException as error:
                if self.on_error is None:
                    raise
                self.on_error(error, function)
            if hooks_once:
                for hook in hooks_once:
                    hook()
                hooks_once.clear()
            if hooks:
                for hook in hooks:
                    hook()
            if predicate is not None and predicate():
                return True
        if self.now < until_ns < FOREVER:
            self.now = until_ns
        return predicate is None

    def _watch(self, function: Function, argument: Any) -> None:
        if self.standstill is not None and self.standstill.before_event(
            self.running, self.now, self.span_ends, function, argument
        ):
            self.crowd = 0


def _run_harness(timer: Cancellable) -> None:
    callback = timer.callback
    if callback is None:
        timer.loop.cancelled -= 1
        return
    timer.callback = None
    callback()


def _is_cancelled(argument: Any) -> bool:
    return isinstance(argument, Cancellable) and argument.callback is None
