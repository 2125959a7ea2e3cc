"""What the clients of a process write down, from any thread: each line before whatever it announces happens."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from highwater_chaos.workload.history import HistoryRecorder, MicroOp, Operation, OperationKind


class Reporter:
    """Writes operations of all clients of a process, under one lock: their times are in the order of the lines.

    Args:
        now_ns: run time.
        write: gets each operation, and returns when it is in the file.
    """

    def __init__(self, now_ns: Callable[[], int], write: Callable[[Operation], None]) -> None:
        self._lock = threading.Lock()
        self.recorder = HistoryRecorder(now_ns, write)
        self.held_back = 0
        """Sends left out since as many were open as may be."""

    def invoke(self, client: str, f: OperationKind, value: Iterable[MicroOp] = ()) -> int:
        """Begin an operation; returns its process."""
        with self._lock:
            return self.recorder.invoke(client, f, value)

    def ok(self, client: str, process: int, value: Iterable[MicroOp]) -> None:
        """It took effect."""
        with self._lock:
            self.recorder.ok(client, process, value)

    def fail(self, client: str, process: int, value: Iterable[MicroOp], error: str) -> None:
        """It certainly did not, and never will."""
        with self._lock:
            self.recorder.fail(client, process, value, error)

    def info(self, client: str, process: int, value: Iterable[MicroOp], error: str) -> None:
        """Record an operation whose outcome is not known."""
        with self._lock:
            self.recorder.info(client, process, value, error)

    def take_news(self) -> dict[str, int]:
        """What has changed in ``recorder.acknowledged_ns`` since the last time."""
        with self._lock:
            news, self.recorder.news = self.recorder.news, {}
            return news

    def hold_back(self) -> None:
        """Leave a send out."""
        with self._lock:
            self.held_back += 1
