"""The clock port on a real machine: the kernel's monotonic clock, one heap of timers, and a skew for ``clockSkew``.

Why not asyncio's timers: those due at the same instant run in any order, the port promises the order in which they
were set; and a skewed clock moves every pending timer, which is one change of rate here. One asyncio timer stands for
the whole heap, armed for its head.

Skew, as in the simulator: the node's time runs at ``rate`` × true speed, its wall clock is ``offset_ns`` ahead on top.
The node's monotonic time never goes back; setting the skew again also lets the wall clock jump to the new offset.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from heapq import heapify, heappop, heappush
from time import monotonic_ns, time_ns
from typing import Final

_MILLION: Final = 1_000_000
_SECOND: Final = 1e9
_MANY_CANCELLED: Final = 64


class HostTimer:
    """A pending call (:class:`highwater_runtime.ports.Timer`)."""

    __slots__ = ("_clock", "callback")

    def __init__(self, clock: HostClock, callback: Callable[[], None]) -> None:
        self._clock = clock
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        if self.callback is not None:
            self.callback = None
            self._clock.one_cancelled()


class HostClock:
    """The :class:`highwater_runtime.ports.Clock` of one node.

    Args:
        loop: where timers run.
        run: runs a timer's callback as an event of the node.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, run: Callable[[Callable[[], None]], None]) -> None:
        self._loop = loop
        self._run = run
        self._heap: list[tuple[int, int, HostTimer]] = []
        self._sequence = 0
        self._cancelled = 0
        self._armed: asyncio.Handle | None = None
        self._armed_for = 0
        self._closed = False
        self.rate_ppm: int = _MILLION
        self._true_base = 0
        self._node_base = 0
        self._wall_base = 0
        """How far the wall clock is ahead of the true one, less what the rate adds from ``_true_base`` on."""

    # --- reading ---

    def now_ns(self) -> int:
        elapsed = monotonic_ns() - self._true_base
        if self.rate_ppm != _MILLION:
            elapsed = elapsed * self.rate_ppm // _MILLION
        return self._node_base + elapsed

    def wall_ns(self) -> int:
        """Nanoseconds since the Unix epoch by the node's wall clock."""
        return time_ns() + self.wall_error_ns()

    def wall_ms(self) -> int:
        return (time_ns() + self.wall_error_ns()) // _MILLION

    def wall_error_ns(self) -> int:
        """The node's wall clock minus the machine's."""
        if self.rate_ppm == _MILLION:
            return self._wall_base
        elapsed = monotonic_ns() - self._true_base
        return self._wall_base + elapsed * (self.rate_ppm - _MILLION) // _MILLION

    def true_delay_s(self, delay_ns: int) -> float:
        """How many real seconds ``delay_ns`` of the node's time take."""
        return delay_ns / _SECOND if self.rate_ppm == _MILLION else delay_ns * _MILLION / self.rate_ppm / _SECOND

    # --- skew ---

    def set_skew(self, offset_ns: int, rate: float) -> None:
        """Run at ``rate`` × true speed, the wall clock ``offset_ns`` ahead of the machine's. (0, 1.0): right again.

        Raises:
            ValueError: for a rate that is not positive.
        """
        rate_ppm = round(rate * _MILLION)
        if rate_ppm <= 0:
            raise ValueError(f"clock rate {rate} must be positive")
        self._node_base, self._true_base = self.now_ns(), monotonic_ns()
        self.rate_ppm = rate_ppm
        self._wall_base = offset_ns
        self._disarm()
        self._arm()

    # --- timers ---

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> HostTimer:
        if delay_ns < 0:
            raise ValueError(f"delay of {delay_ns} ns is negative")
        due = self.now_ns() + delay_ns
        timer = HostTimer(self, callback)
        self._sequence = sequence = self._sequence + 1
        heappush(self._heap, (due, sequence, timer))
        if not self._closed and (self._armed is None or due < self._armed_for):
            self._disarm()
            self._arm()
        return timer

    def one_cancelled(self) -> None:
        """A timer in the heap has become void: keep those from outnumbering the others."""
        self._cancelled += 1
        if self._cancelled > _MANY_CANCELLED and self._cancelled * 2 > len(self._heap):
            self._heap[:] = [entry for entry in self._heap if entry[2].callback is not None]
            heapify(self._heap)
            self._cancelled = 0

    def close(self) -> None:
        """No timer runs any more."""
        self._closed = True
        self._heap.clear()
        self._disarm()

    def _arm(self) -> None:
        if self._closed or not self._heap:
            return
        self._armed_for = due = self._heap[0][0]
        delay_ns = due - self.now_ns()
        if delay_ns <= 0:
            self._armed = self._loop.call_soon(self._fire)
        else:
            self._armed = self._loop.call_later(self.true_delay_s(delay_ns), self._fire)

    def _disarm(self) -> None:
        if self._armed is not None:
            self._armed.cancel()
            self._armed = None

    def _fire(self) -> None:
        """Run what is due now; what these set for now runs in the loop's next turn, so that sockets get theirs."""
        self._armed = None
        heap, now, last = self._heap, self.now_ns(), self._sequence
        while heap and heap[0][0] <= now and heap[0][1] <= last:
            timer = heappop(heap)[2]
            callback = timer.callback
            if callback is None:
                self._cancelled -= 1
                continue
            timer.callback = None
            self._run(callback)
        if self._armed is None:
            self._arm()
