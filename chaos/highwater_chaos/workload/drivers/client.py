"""A driver as the harness sees it: its lines become operations of the history, its crash a doubt.

A driver that ends before it was told to leaves operations of which nobody knows the outcome: ``info``, each of them.
What it wrote and read until then stays valid; but a run whose clients died by themselves is not judged as if nothing
had happened.
"""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec

from highwater_chaos.backends.protocol import ClientProcess
from highwater_chaos.workload.drivers.lines import FINISH, Told, decode_line
from highwater_chaos.workload.history import HistoryRecorder, MicroOp


class DriverClient:
    """One driver's operations. Its methods are called where clients run; the properties from anywhere.

    Args:
        name: of the client, as in the history.
        recorder: where operations go.
        now_ns: run time, of which a driver's clock differs by a constant.
    """

    def __init__(self, name: str, recorder: HistoryRecorder, now_ns: Callable[[], int]) -> None:
        self.name = name
        self.doubt: str | None = None
        """Why its part of the history is not to be trusted to be whole; None where it is."""
        self._recorder = recorder
        self._origin_ns = time.monotonic_ns() - now_ns()
        self._open: dict[int, tuple[int, tuple[MicroOp, ...]]] = {}
        self._process: ClientProcess | None = None
        self._finishing = False
        self._done = False
        self._ended = False

    @property
    def idle(self) -> bool:
        """Whether it has ended, and every operation has its outcome."""
        return self._ended

    def started(self, process: ClientProcess) -> None:
        """This is the program."""
        self._process = process

    def finish(self) -> None:
        """Let it begin nothing new."""
        self._finishing = True
        if self._process is not None:
            self._process.write(FINISH)

    def on_line(self, line: bytes) -> None:
        """Take one line of its stdout."""
        try:
            self._take(decode_line(line))
        except (msgspec.DecodeError, KeyError) as error:
            self.doubt = f"{self.name}: its driver said {line[:200]!r}, which makes no sense ({error!r})"
            if self._process is not None:
                self._process.kill()

    def _take(self, told: Told) -> None:
        at_ns = told.at - self._origin_ns
        match told.type:
            case "invoke":
                process = self._recorder.invoke(self.name, told.f, told.value, at_ns=at_ns)
                self._open[told.operation] = (process, told.value)
            case "ok":
                self._recorder.ok(self.name, self._open.pop(told.operation)[0], told.value, at_ns=at_ns)
            case "fail":
                process, _ = self._open.pop(told.operation)
                self._recorder.fail(self.name, process, told.value, told.error, at_ns=at_ns)
            case "info":
                process, _ = self._open.pop(told.operation)
                self._recorder.info(self.name, process, told.value, told.error, at_ns=at_ns)
            case "done":
                self._done = True

    def on_exit(self, status: int, said: str) -> None:
        """It has ended, by itself or not."""
        for process, value in self._open.values():
            self._recorder.info(self.name, process, value, "its driver ended first")
        if status != 0 or not (self._done and self._finishing):
            last = f"; it said last: {said.splitlines()[-1]}" if said else ""
            early = "" if self._finishing else ", before it was told to"
            self.doubt = self.doubt or f"{self.name}: its driver ended with status {status}{early}{last}"
        self._open.clear()
        self._ended = True
