"""Ports of a core in a test's hands: a clock that stands until it is moved, and a trace that remembers."""

from __future__ import annotations

import heapq
from collections.abc import Callable
from typing import Any

from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import NodeEvent


class HandTimer:
    """One call, until it is cancelled."""

    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class HandClock:
    """Due timers run in order, also those that they set."""

    def __init__(self, now: int = 0) -> None:
        self.now = now
        self._due: list[tuple[int, int, HandTimer]] = []
        self._count = 0

    def now_ns(self) -> int:
        return self.now

    def wall_ms(self) -> int:
        return self.now // MS

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> HandTimer:
        timer = HandTimer(callback)
        self._count += 1
        heapq.heappush(self._due, (self.now + delay_ns, self._count, timer))
        return timer

    def armed(self) -> int:
        """How many timers are yet to end."""
        return sum(timer.callback is not None for _, _, timer in self._due)

    def disarm(self) -> None:
        """Forget all timers, as a process that dies does."""
        self._due.clear()

    def advance(self, by_ns: int) -> None:
        self.advance_to(self.now + by_ns)

    def advance_ms(self, by_ms: int) -> None:
        self.advance(by_ms * MS)

    def advance_to(self, until: int) -> None:
        while self._due and self._due[0][0] <= until:
            due, _, timer = heapq.heappop(self._due)
            self.now = max(self.now, due)  # it is late if an earlier one has taken its time
            if timer.callback is not None:
                callback, timer.callback = timer.callback, None
                callback()
        self.now = max(self.now, until)


class HandTrace:
    """Keeps what it is told."""

    follows_records = True

    def __init__(self) -> None:
        self.events: list[NodeEvent] = []

    def emit(self, event: NodeEvent) -> None:
        self.events.append(event)

    def of(self, kind: type[NodeEvent]) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]


class HandNetwork:
    """A network in the test's hands."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any, int, Callable[[Any], None], int]] = []
        self.repeated: tuple[str, int, Callable[[int, Any], None]] | None = None

    def send(
        self, to: Any, request: Any, version: int, on_response: Any, *, timeout_ns: int, channel: str = ""
    ) -> None:
        self.sent.append((to.host, request, version, on_response, timeout_ns))

    def repeat_while_held_up(self, heartbeat: Any) -> None:
        assert heartbeat.request is self.sent[-1][1], "what is repeated is what was sent"
        self.repeated = (heartbeat.to.host, heartbeat.every_ns, heartbeat.on_response)

    def stop_repeating(self) -> None:
        self.repeated = None

    def answer(self, response: Any) -> None:
        """Answer the last request."""
        self.sent[-1][3](response)
