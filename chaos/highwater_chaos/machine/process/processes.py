"""Processes of a run: started in a namespace and a session of their own, marked, signalled by identity.

Each carries in its environment whose it is (:data:`RUN_MARK`) and which one (:data:`PROCESS_MARK`), and so does
everything that it starts. The mark finds a process whose maker was killed before it could write the pid down, and the
children of a shell or a Java launcher.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar, Final, Self

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.identity import Identity, ProcessState
from highwater_chaos.machine.kernel.proc import pids, user_of, variable_of
from highwater_chaos.machine.network.namespaces import in_namespace
from highwater_chaos.machine.process.control_groups import in_group
from highwater_chaos.machine.resource import TRANSIENT

RUN_MARK: Final = "HIGHWATER_MACHINE_RUN"
PROCESS_MARK: Final = "HIGHWATER_MACHINE_PROCESS"
_GONE_WITHIN: Final = 10.0

_children: dict[Identity, subprocess.Popen[bytes]] = {}
"""Processes that this process started, so that they are reaped and their exit status is known."""


@dataclass(frozen=True, slots=True)
class Spawn:
    """How to start a process. ``environment`` is all that it gets besides the marks; None: this process's. stdout and
    stderr are appended to ``log``."""

    arguments: Sequence[str]
    log: Path
    namespace: str | None = None
    environment: Mapping[str, str] | None = None
    directory: Path | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """The process ``name`` of the run at directory ``run``; or, where ``group`` is given, all processes of the
    container with this id, which another program started."""

    KIND: ClassVar[str] = "process"
    ALONE: ClassVar[bool] = False
    name: str
    run: str
    identity: Identity | None = None
    mark: str = field(default_factory=lambda: secrets.token_hex(8))
    group: str = ""
    spawn: Spawn | None = field(default=None, metadata=TRANSIENT)

    def make(self, _held: Sequence[int]) -> Self:
        # The child holds the run's lock until exec (its descriptors close there), from when on its mark shows: a healer
        # that has the lock sees every child there is.
        spawn = self.spawn
        assert spawn is not None, "a process read from a journal cannot be made again"
        environment = dict(os.environ if spawn.environment is None else spawn.environment)
        environment |= {RUN_MARK: self.run, PROCESS_MARK: self.mark}

        def start() -> subprocess.Popen[bytes]:
            with spawn.log.open("ab") as log:
                return subprocess.Popen(  # noqa: S603 - what to run is the caller's business
                    list(spawn.arguments),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    env=environment,
                    cwd=spawn.directory,
                    start_new_session=True,
                )

        child = in_namespace(spawn.namespace, start)
        identity = Identity.of_child(child.pid)
        _children[identity] = child
        return replace(self, identity=identity, spawn=None)

    def undo(self) -> None:
        """SIGKILL to it and everything that it started; returns when they are gone."""
        deadline = time.monotonic() + _GONE_WITHIN
        while members := self.members():
            for member in members:
                member.send(signal.SIGKILL)
            for member in members:
                if not member.wait_gone(max(0.0, deadline - time.monotonic())):
                    raise MachineError(f"process {self.name} (pid {member.pid}) does not die: it waits in the kernel")
        self.status()

    def left(self) -> str | None:
        """Which of its processes live."""
        members = self.members()
        return f"process {self.name} (pid {', '.join(str(member.pid) for member in members)})" if members else None

    def describe(self) -> str:
        return f"process {self.name}" + ("" if self.identity is None else f" (pid {self.identity.pid})")

    def members(self) -> list[Identity]:
        """The process, if it lives, and everything that it started and that still does."""
        if self.group:
            return in_group(self.group)
        found = marked(PROCESS_MARK, self.mark)
        own = self.identity
        if own is not None and own not in found and own.state() != "gone":
            found.insert(0, own)
        return found

    def state(self) -> ProcessState:
        """Probe: running, stopped (SIGSTOP) or gone."""
        return "gone" if self.identity is None else self.identity.state()

    def signal(self, number: signal.Signals) -> bool:
        """Send a signal to the process itself; False: it is gone."""
        return self.identity is not None and self.identity.send(number)

    def wait_gone(self, timeout: float) -> bool:
        """Wait up to ``timeout`` seconds for its exit; whether it is gone."""
        gone = self.identity is None or self.identity.wait_gone(timeout)
        if gone:
            self.status()
        return gone

    def pidfd(self) -> int | None:
        """Readable when it exits, for event loops; None: it is gone. The caller closes it."""
        return None if self.identity is None else self.identity.pidfd()

    def status(self) -> int | None:
        """Exit status (negative: the signal that killed it); None: it lives, or was started by another process."""
        child = None if self.identity is None else _children.get(self.identity)
        return None if child is None else child.poll()


def marked(name: str, value: str) -> list[Identity]:
    """Living processes of this user with ``name=value`` in their environment."""
    return [identity for identity, found in marks(name) if found == value]


def marks(name: str) -> list[tuple[Identity, str]]:
    """Living processes of this user that have ``name`` in their environment, and its value. What we start keeps our
    user; a process of another user may have any mark, and none of them is a reason to touch it or to wait for it."""
    found = []
    for pid in pids():
        if user_of(pid) != os.geteuid():
            continue
        identity, value = Identity.of(pid), variable_of(pid, name)
        if identity is not None and value is not None and identity.state() != "gone":
            found.append((identity, value))
    return found
