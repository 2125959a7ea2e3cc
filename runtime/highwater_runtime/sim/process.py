"""One incarnation of one node: what a SIGKILL ends.

Everything that happens to a core passes through its :class:`Process`: a running one gets its events, a paused one
(SIGSTOP) finds them waiting when it goes on, a dead one never hears of them. One that is held waits in the kernel for a
disk that does not take its write: it finds its events when the write has ended. A pause and a held write may overlap;
then events come when both are over.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import IntEnum
from random import Random
from typing import Any

from highwater_runtime.ports import Clock, Trace
from highwater_runtime.sim.loop import EventLoop
from highwater_runtime.sim.metrics import SimMetrics


class ProcessState(IntEnum):
    """Truthy unless events may be delivered."""

    RUNNING = 0
    PAUSED = 1
    RESUMING = 2
    """Going on, with events of the pause still to run: new ones queue up behind them."""
    DEAD = 3
    HELD = 4
    """In ``write()``, which does not return."""


class Process:
    """The host's side of one :class:`highwater_runtime.ports.NodeCore`."""

    __slots__ = (
        "backlog",
        "beside",
        "clock",
        "core",
        "host",
        "incarnation",
        "loop",
        "metrics",
        "name",
        "on_held",
        "random",
        "state",
        "trace",
        "write_blocks",
    )

    def __init__(self, loop: EventLoop, name: str, incarnation: int, random: Random, host: Any) -> None:
        self.loop = loop
        self.name = name
        self.incarnation = incarnation
        self.random = random
        self.host = host
        """The node (machine) this process runs on."""
        self.state = ProcessState.RUNNING
        self.write_blocks = False
        """Whether a write of it waits for its disk, paused or not."""
        self.on_held: Callable[[], None] = _nothing
        """Called when it becomes held: its other threads go on."""
        self.beside: Process | None = None
        """Another thread of it, if it needs one: they stop and end together, but no write of a core holds this one."""
        self.core: Any = None  # a NodeCore from its boot on; untyped so that handing over costs no check
        self.clock: Clock
        self.trace: Trace
        self.metrics = SimMetrics()
        self.backlog: deque[tuple[Callable[[Any], None], Any]] = deque()

    def __repr__(self) -> str:
        return f"<{self.name}#{self.incarnation} {self.state.name.lower()}>"

    def park(self, function: Callable[[Any], None], argument: Any) -> None:
        """An event found the process not running: a paused one gets it later, a dead one never."""
        if self.state is not ProcessState.DEAD:
            self.backlog.append((function, argument))

    def deliver(self, callback: Callable[[Any], None], argument: Any) -> None:
        """Run ``callback(argument)`` in this process, within the current event."""
        _deliver((self, callback, argument))

    @property
    def is_held(self) -> bool:
        """Whether its event loop waits for a write and nothing else stands still: its other threads run."""
        return self.state is ProcessState.HELD

    def pause(self) -> bool:
        """Stop (SIGSTOP). Returns whether it ran, or waited for its disk."""
        if self.state is ProcessState.DEAD or self.state is ProcessState.PAUSED:
            return False
        self.state = ProcessState.PAUSED
        if self.beside is not None:
            self.beside.pause()
        return True

    def resume(self) -> bool:
        """End a pause (SIGCONT). Returns whether there was one."""
        if self.state is not ProcessState.PAUSED:
            return False
        if self.beside is not None:
            self.beside.resume()
        if self.write_blocks:
            self._become_held()
        else:
            self._go_on()
        return True

    def hold(self) -> None:
        """A write of the present event blocks: the event still ends, and no other is delivered until :meth:`release`.

        The write is done, as if the disk had taken it and then no other.
        """
        if self.state is ProcessState.DEAD:
            return
        self.write_blocks = True
        if self.state is not ProcessState.PAUSED and self.state is not ProcessState.HELD:
            self._become_held()

    def _become_held(self) -> None:
        self.state = ProcessState.HELD
        self.on_held()

    def release(self) -> None:
        """The disk takes writes again."""
        self.write_blocks = False
        if self.state is ProcessState.HELD:
            self._go_on()

    def _go_on(self) -> None:
        # What waited becomes events of now, in the order in which it came.
        self.state = ProcessState.RESUMING
        self.loop.push(self.loop.now, _resume_next, self)


def _nothing() -> None:
    """It has no other threads."""


def _deliver(delivery: tuple[Process, Callable[[Any], None], Any]) -> None:
    process, callback, argument = delivery
    if process.state:
        process.park(_deliver, delivery)
        return
    process.loop.running = process
    callback(argument)


def _resume_next(process: Process) -> None:
    if process.state is not ProcessState.RESUMING:
        return
    process.state = ProcessState.RUNNING
    if process.backlog:
        function, argument = process.backlog.popleft()
        function(argument)
        if process.state is ProcessState.RUNNING:
            process.state = ProcessState.RESUMING
            process.loop.push(process.loop.now, _resume_next, process)
