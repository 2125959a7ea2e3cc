"""Commands of the user's as a part of a backend: each fault's run in threads of their own, one after the other.

They are journaled by the machine (``Command``), so the run's guardian and
``highwater heal`` undo them too. A command may take its time, and the harness's thread waits for none.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from types import MappingProxyType
from typing import Final, TypeVar

from highwater_chaos.backends.primitives import Commands, Probed
from highwater_chaos.backends.protocol import BackendError
from highwater_chaos.machine.errors import MachineError, RunGoneError
from highwater_chaos.machine.process.commands import Command
from highwater_chaos.machine.runs.run import MachineRun
from highwater_chaos.workload.client_host import HasClientConfig
from highwater_runtime.ports import Endpoint

T = TypeVar("T")

_INSISTS_FOR: Final = 30.0
"""Seconds for which a heal that fails is tried again; afterwards the guardian does, at the fault's deadline."""
_AGAIN_S: Final = 1.0
_LOOKS_EVERY: Final = 0.5


class UserCommands:
    """A part of a backend (:class:`~highwater_chaos.backends.primitives.RunsCommands`)."""

    commands_in: Path | None = None
    """The directory in which they run; None: the user has not allowed any."""
    _run: MachineRun | None
    _of_users: Mapping[str, _Fault] = MappingProxyType({})

    def now_ns(self) -> int:
        raise NotImplementedError

    def bootstrap(self) -> tuple[Endpoint, ...]:
        raise NotImplementedError

    def client_namespace(self) -> str:
        """The network namespace (of ``ip netns``) from which brokers can be reached; empty: from any."""
        return ""

    def allows_commands(self) -> bool:
        return self.commands_in is not None

    def add_commands(self, name: str, commands: Commands) -> None:
        """Take commands of the user; none runs before its fault is injected."""
        assert self._run is not None
        if self.commands_in is None:
            raise BackendError("commands of the experiment's file were not allowed")
        # Who heals by hand may have another PATH, or none.
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HIGHWATER_BOOTSTRAP": ",".join(str(one) for one in self.bootstrap()),
            "HIGHWATER_NAMESPACE": self.client_namespace(),
            **commands.environment,
        }
        if isinstance(self, HasClientConfig) and (file := self.client_config()) is not None:
            environment["HIGHWATER_CLIENT_CONFIG"] = str(file)
        command = Command(
            name,
            commands.heal,
            commands.probe,
            str(self.commands_in),
            commands.seconds,
            environment,
            inject=commands.inject,
        )
        self._of_users = {**self._of_users, name: _Fault(self._run, command)}

    def begin_commands(self, name: str, until_ns: int | None = None) -> None:
        self._of_users[name].begin(lambda: None if until_ns is None else max(1, until_ns - self.now_ns()))

    def end_commands(self, name: str) -> None:
        self._of_users[name].end()

    def commands_outcome(self, name: str) -> str | None:
        return self._of_users[name].outcome()

    def probe_commands(self, name: str) -> Probed | None:
        return self._of_users[name].look()


class _Fault:
    """The commands of one fault."""

    def __init__(self, run: MachineRun, command: Command) -> None:
        self._run = run
        self._command = command
        self._was_begun = False
        self._doing: Future[None] | None = None
        self._looking: Future[Probed] | None = None
        self._seen: Probed | None = None
        self._next_look = 0.0

    @property
    def _tag(self) -> str:
        return f"{self._command.name}:commands"

    def begin(self, lasts_ns: Callable[[], int | None]) -> None:
        self._was_begun = True
        self._start(lambda: self._inject(lasts_ns()))

    def end(self) -> None:
        if self._was_begun:
            self._start(self._heal)

    def outcome(self) -> str | None:
        if self._doing is None:
            return ""
        if not self._doing.done():
            return None
        error = self._doing.exception()
        return "" if error is None else str(error)

    def look(self) -> Probed | None:
        if self._looking is not None and self._looking.done():
            self._seen, self._looking = self._looking.result(), None
            self._next_look = time.monotonic() + _LOOKS_EVERY
        if self._looking is None and time.monotonic() >= self._next_look:
            self._looking = _in_background(self._probe)
        return self._seen

    def _start(self, work: Callable[[], None]) -> None:
        self._seen = self._looking = None  # what it would say is of before
        self._next_look = 0.0
        self._doing = _in_background(work)

    def _inject(self, lasts_ns: int | None) -> None:
        self._run.make(self._command, lasts_ns=lasts_ns, tag=self._tag)

    def _heal(self) -> None:
        until = time.monotonic() + _INSISTS_FOR
        try:
            while left := self._run.undo_tagged(self._tag).left:
                if time.monotonic() > until:
                    raise MachineError("; ".join(left))
                time.sleep(_AGAIN_S)
        except RunGoneError:
            return  # another one has healed all of it

    def _probe(self) -> Probed:
        try:
            return Probed(*self._command.look())
        except (MachineError, OSError) as error:
            return Probed(None, str(error))


def _in_background(work: Callable[[], T]) -> Future[T]:
    """In a thread that keeps no process from ending."""
    future: Future[T] = Future()

    def do() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # handed to who asks
            future.set_exception(error)

    threading.Thread(target=do, name="commands", daemon=True).start()
    return future
