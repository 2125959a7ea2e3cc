"""Cooperative processes over a backend's clock, so that a schedule reads like a script and replays exactly.

A process is a generator. ``yield Sleep(ns)`` waits; ``met = yield Until(predicate, timeout_ns, what)`` waits for a
condition and returns whether it came true in time. Predicates only read the cluster. They are evaluated every
``poll_ns`` of run time. Processes due at the same instant run in the order in which they were spawned.

No asyncio here: its order of wake-ups follows memory addresses, and a simulated run must replay byte by byte.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import TypeVar

from highwater_runtime.ports import MS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Sleep:
    """Wait for this many nanoseconds of run time (0: until the next turn)."""

    ns: int


@dataclass(frozen=True, slots=True)
class Until:
    """Wait until ``predicate()`` or for ``timeout_ns`` at most. Resumes with whether it came true."""

    predicate: Callable[[], bool]
    timeout_ns: int
    what: str


Process = Generator[Sleep | Until, bool, T]
"""A process that returns a ``T``."""


class Task:
    """A spawned process."""

    def __init__(self, name: str, process: Process[object]) -> None:
        self.name = name
        self.done = False
        self.waiting_for = ""
        self._process = process
        self._started = False
        self._until: Until | None = None
        self._wake_ns = 0

    def cancel(self) -> None:
        """Stop the process where it waits (its ``finally`` clauses run). Idempotent."""
        if not self.done:
            self.done = True
            self._process.close()


class Scheduler:
    """Runs processes while the backend's time advances.

    ``advance(until_ns)`` lets the cluster live; ``on_turn`` runs before predicates are looked at, to refresh what
    they look at.
    """

    def __init__(
        self,
        now_ns: Callable[[], int],
        advance: Callable[[int], None],
        *,
        on_turn: Callable[[], None] = lambda: None,
        poll_ns: int = 5 * MS,
    ) -> None:
        self._now_ns = now_ns
        self._advance = advance
        self._on_turn = on_turn
        self._poll_ns = poll_ns
        self._tasks: list[Task] = []

    def now_ns(self) -> int:
        return self._now_ns()

    def spawn(self, name: str, process: Process[object]) -> Task:
        """Start a process; its first step runs in the next turn."""
        task = Task(name, process)
        task._wake_ns = self._now_ns()
        self._tasks.append(task)
        return task

    def run(self, until: Callable[[], bool], deadline_ns: int) -> bool:
        """Let cluster and processes live until ``until()``; False when ``deadline_ns`` came first.

        An exception of a process ends the run: it is the harness's own error.
        """
        while True:
            self._turn()
            if until():
                return True
            now = self._now_ns()
            if now >= deadline_ns:
                return False
            self._advance(min(deadline_ns, self._next_wake(now)))

    def _next_wake(self, now: int) -> int:
        wake = now + self._poll_ns
        waiting = any(task._until is not None for task in self._tasks)
        sleeping = [task._wake_ns for task in self._tasks]
        if sleeping and not waiting:
            # Nothing looks at the cluster meanwhile except `until`, which is about tasks or coarse conditions.
            wake = min(*sleeping, now + 20 * self._poll_ns)
        elif sleeping:
            wake = min(wake, *sleeping)
        return max(wake, now + 1)

    def _turn(self) -> None:
        self._on_turn()
        # Decide once which processes are due. If a look at the cluster takes long, a process that sleeps for less than
        # that would be due again and again. The turn, with the run's deadline behind it, would never end.
        now = self._now_ns()
        progress = True
        while progress:
            progress = False
            for task in list(self._tasks):
                if task.done:
                    continue
                result = self._ready(task, now)
                if result is not None:
                    self._resume(task, result)
                    progress = True
            self._tasks = [task for task in self._tasks if not task.done]
            if progress:
                self._on_turn()

    def _ready(self, task: Task, now: int) -> bool | None:
        """What to resume the task with, or None while it must wait."""
        if task._until is not None and task._until.predicate():
            return True
        if now >= task._wake_ns:
            return False
        return None

    def _resume(self, task: Task, result: bool) -> None:
        task._until = None
        task.waiting_for = ""
        try:
            wait = task._process.send(result) if task._started else next(task._process)
            task._started = True
        except StopIteration:
            task.done = True
            return
        match wait:
            case Sleep(ns):
                # At least one nanosecond, so that a process that sleeps for 0 ns lets time go on.
                task._wake_ns = self._now_ns() + max(1, ns)
            case Until(_, timeout_ns, what):
                task._until = wait
                task._wake_ns = self._now_ns() + timeout_ns
                task.waiting_for = what
