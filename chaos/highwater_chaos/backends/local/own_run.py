"""What backends share whose run is one of this machine: its clock, the log of what was seen, commands of the user's."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from pathlib import Path

from highwater_chaos.backends.local.recording import EventLog
from highwater_chaos.backends.primitives import Primitive, implemented_by
from highwater_chaos.backends.protocol import EventFiles, TimedEvent
from highwater_chaos.backends.user_commands import UserCommands
from highwater_chaos.base.user_error import UserError
from highwater_chaos.machine.errors import PlaceError
from highwater_chaos.machine.runs.run import MachineRun


class OwnRun(UserCommands):
    """A part of a backend. ``root``: the state directory; None: where this user's runs are."""

    name: str
    _log: EventLog

    def __init__(self, root: Path | None) -> None:
        self._state_root = root
        self._run: MachineRun | None = None
        self._start_ns = 0

    @property
    def primitives(self) -> frozenset[Primitive]:
        """All that this class implements."""
        return implemented_by(type(self))

    def _begin(self, label: str, spool: Path | None) -> MachineRun:
        self._start_ns = time.monotonic_ns()
        self._log = EventLog(self._start_ns, spool=spool)
        try:
            self._run = MachineRun.open(label=label, root=self._state_root)
        except PlaceError as error:
            raise UserError(f"--backend {self.name}: {error}") from error
        return self._run

    def _take_events(self) -> None:
        raise NotImplementedError

    def now_ns(self) -> int:
        """CLOCK_MONOTONIC since the run began: the same clock for all processes of this machine."""
        return time.monotonic_ns() - self._start_ns

    def events_since(self, seq: int) -> Sequence[TimedEvent]:
        """A slice of what has been taken in; taken in now what has come up."""
        self._take_events()
        return self._log.since(seq)

    def event_lines(self) -> Iterable[bytes]:
        """All of them, by time."""
        self._take_events()
        return self._log.lines()

    def event_files(self) -> EventFiles:
        return EventFiles(self._start_ns, self._log.paths())
