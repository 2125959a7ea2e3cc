"""What processes use: processor time and memory, as the kernel counts them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable

import psutil


class Meter:
    """Processor time (user and system, in seconds) of processes since the last look; one that has ended is left out."""

    def __init__(self, pids: Iterable[int]) -> None:
        self._before = _processor_seconds(pids)

    def take(self, pids: Iterable[int]) -> float:
        """The sum over ``pids`` since the last call; all of it for a process that is new."""
        now = _processor_seconds(pids)
        spent = sum(seconds - self._before.get(pid, 0.0) for pid, seconds in now.items())
        self._before = now
        return spent


def resident_mib(pid: int) -> float:
    """The resident set."""
    return float(psutil.Process(pid).memory_info().rss) / 2**20


def _processor_seconds(pids: Iterable[int]) -> dict[int, float]:
    found = {}
    for pid in pids:
        with contextlib.suppress(psutil.NoSuchProcess):
            times = psutil.Process(pid).cpu_times()
            found[pid] = float(times.user + times.system)
    return found
