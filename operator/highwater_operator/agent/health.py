"""Whether the agent does its work: its threads live, and each has come round lately."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(slots=True)
class _Watched:
    alive: Callable[[], bool]
    within: float
    beat: float
    failure: str = ""


class Health:
    """Threads report to it; ``/healthz`` asks it. Any thread may call."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._watched: dict[str, _Watched] = {}
        self._guard = threading.Lock()

    def watch(self, name: str, alive: Callable[[], bool], within: float = float("inf")) -> None:
        """Expect that ``alive`` says so, and a :meth:`beat` within so many seconds of the last one."""
        with self._guard:
            self._watched[name] = _Watched(alive, within, self._clock())

    def beat(self, name: str) -> None:
        """It has come round, and did what it is for."""
        with self._guard:
            if (watched := self._watched.get(name)) is not None:
                watched.beat, watched.failure = self._clock(), ""

    def failed(self, name: str, why: str) -> None:
        """It came round and could not do what it is for; said once it is too long ago that it could."""
        with self._guard:
            if (watched := self._watched.get(name)) is not None:
                watched.failure = why

    def wrong(self) -> str | None:
        """What is wrong; None: nothing."""
        with self._guard:
            for name, watched in self._watched.items():
                if not watched.alive():
                    return f"thread {name} has died"
                silent = self._clock() - watched.beat
                if silent > watched.within:
                    why = watched.failure or "it is stuck"
                    return f"thread {name} has done nothing for {silent:.0f} s: {why}"
        return None
