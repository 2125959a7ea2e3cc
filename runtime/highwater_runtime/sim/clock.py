"""What one node believes about time: a rate, and an offset of its wall clock (``clockSkew``)."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify
from typing import Final

from highwater_runtime.sim.loop import Cancellable, Event, EventLoop
from highwater_runtime.sim.process import Process

EPOCH_MS: Final = 1_704_067_200_000
"""Wall-clock time (ms since 1970) at which every simulation begins: 2024-01-01T00:00:00Z."""

_MILLION: Final = 1_000_000


class HostClock:
    """The clock of one machine; it survives its processes."""

    __slots__ = ("_latest_wall_ns", "loop", "node_base", "offset_ns", "rate_ppm", "time_base")

    def __init__(self, loop: EventLoop) -> None:
        self.loop = loop
        self.rate_ppm = _MILLION
        self.offset_ns = 0
        self.time_base = 0
        self.node_base = 0
        self._latest_wall_ns = 0

    def now_ns(self) -> int:
        """Monotonic nanoseconds of this node."""
        now = self.loop.now
        if self.rate_ppm == _MILLION:
            return now - self.time_base + self.node_base
        return self.node_base + (now - self.time_base) * self.rate_ppm // _MILLION

    def wall_ns(self) -> int:
        """Nanoseconds since the simulation's epoch by this node's wall clock."""
        return self.now_ns() + self.offset_ns

    def latest_wall_ms(self) -> int:
        """The latest wall-clock time (ms since 1970) that this clock has ever shown, or shows now."""
        return EPOCH_MS + self._latest_ns() // _MILLION

    def _latest_ns(self) -> int:
        return max(self._latest_wall_ns, self.wall_ns())

    def run_time_of(self, node_ns: int) -> int:
        """The first instant of the run at which this node's clock shows ``node_ns``, as long as its rate stays."""
        elapsed = node_ns - self.node_base
        if self.rate_ppm == _MILLION:
            return self.time_base + elapsed
        return self.time_base - (-elapsed * _MILLION // self.rate_ppm)

    def run_delay(self, delay_ns: int) -> int:
        """How long ``delay_ns`` of this node's time takes."""
        return delay_ns if self.rate_ppm == _MILLION else -(-delay_ns * _MILLION // self.rate_ppm)

    def set(self, rate: float, offset_ns: int) -> None:
        """Run at ``rate`` × true speed from now on, with the wall clock ``offset_ns`` ahead of the monotonic one.

        Timers already set keep the node time at which they are due, so they are due at another instant.
        """
        rate_ppm = round(rate * _MILLION)
        if rate_ppm <= 0:
            raise ValueError(f"clock rate {rate} must be positive")
        self._latest_wall_ns = self._latest_ns()
        self.node_base, self.time_base = self.now_ns(), self.loop.now
        self.rate_ppm = rate_ppm
        self.offset_ns = offset_ns
        heap = self.loop.heap
        heap[:] = [self._moved(event) for event in heap]
        heapify(heap)

    def _moved(self, event: Event) -> Event:
        timer = event[3]
        if isinstance(timer, SimTimer) and timer.host_clock is self:
            return (max(self.run_time_of(timer.due), self.loop.now), *event[1:])
        return event


class SimTimer(Cancellable):
    """A pending call of one process."""

    __slots__ = ("due", "host_clock", "process")

    def __init__(self, process: Process, host_clock: HostClock, due: int, callback: Callable[[], None]) -> None:
        self.loop = process.loop
        self.callback = callback
        self.process = process
        self.host_clock = host_clock
        self.due = due


class SimClock:
    """The :class:`highwater_runtime.ports.Clock` of one process."""

    __slots__ = ("_host_clock", "_loop", "_process", "now_ns")

    def __init__(self, process: Process, host_clock: HostClock) -> None:
        self._process = process
        self._host_clock = host_clock
        self._loop = process.loop
        self.now_ns = host_clock.now_ns

    def wall_ms(self) -> int:
        return EPOCH_MS + self._host_clock.wall_ns() // 1_000_000

    def call_later(self, delay_ns: int, callback: Callable[[], None]) -> SimTimer:
        if delay_ns < 0:
            raise ValueError(f"delay of {delay_ns} ns is negative")
        host_clock = self._host_clock
        due = host_clock.now_ns() + delay_ns
        timer = SimTimer(self._process, host_clock, due, callback)
        loop = self._loop
        when = loop.now + delay_ns if host_clock.rate_ppm == _MILLION else host_clock.run_time_of(due)
        loop.push(when, _fire, timer)
        return timer


def _fire(timer: SimTimer) -> None:
    callback = timer.callback
    if callback is None:
        timer.loop.cancelled -= 1
        return
    process = timer.process
    if process.state:
        process.park(_fire, timer)
        return
    timer.callback = None
    timer.loop.running = process
    callback()
