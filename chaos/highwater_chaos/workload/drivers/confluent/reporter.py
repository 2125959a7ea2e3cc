"""A driver's side of the pipe: each line is written whole, and before whatever it announces happens."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterable

from highwater_chaos.workload.drivers.lines import Told, encode_line
from highwater_chaos.workload.history import MicroOp, OperationKind


class Reporter:
    """Writes operations to file descriptor ``out``. Times are taken in the order in which lines are written."""

    def __init__(self, out: int) -> None:
        self._out = out
        self._lock = threading.Lock()
        self._next = 0

    def invoke(self, f: OperationKind, value: Iterable[MicroOp] = ()) -> int:
        """Begin an operation; returns its number."""
        with self._lock:
            number, self._next = self._next, self._next + 1
            self._write(Told("invoke", time.monotonic_ns(), number, f, tuple(value)))
            return number

    def ok(self, operation: int, value: Iterable[MicroOp]) -> None:
        """It took effect."""
        with self._lock:
            self._write(Told("ok", time.monotonic_ns(), operation, value=tuple(value)))

    def fail(self, operation: int, value: Iterable[MicroOp], error: str) -> None:
        """It certainly did not, and never will."""
        with self._lock:
            self._write(Told("fail", time.monotonic_ns(), operation, value=tuple(value), error=error))

    def info(self, operation: int, value: Iterable[MicroOp], error: str) -> None:
        """Nobody knows."""
        with self._lock:
            self._write(Told("info", time.monotonic_ns(), operation, value=tuple(value), error=error))

    def done(self) -> None:
        """Every operation has its outcome, and there will be no more."""
        with self._lock:
            self._write(Told("done", time.monotonic_ns()))

    def _write(self, told: Told) -> None:
        line = memoryview(encode_line(told) + b"\n")
        while line:
            line = line[os.write(self._out, line) :]
