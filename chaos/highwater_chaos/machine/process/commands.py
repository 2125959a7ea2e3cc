"""A command that is undone by another command, and a third that says what is left: for what no code of ours can undo.

Commands are lists of arguments, run without a shell, in a given directory, each within a bound of time. One that prints
too much is killed, and the end of what it printed is read. The *probe* says what is left by its exit status: 0, it is
there; 1, it is gone; any other, or none in time: that is not known, which is not gone.
"""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import IO, ClassVar, Final, Self

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.kernel.own_program import own_program
from highwater_chaos.machine.resource import TRANSIENT

THERE: Final = 0
GONE: Final = 1
_SHOWN: Final = 300
"""Characters of the last line of what a command printed."""
_READ: Final = 1 << 16
_MOST: Final = 1 << 24
"""Bytes that a command may print."""
_LOOKS_EVERY: Final = 0.1
_OUTLIVED: Final = 2.0
"""Seconds after which a command is killed if nobody did so in time."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a command ended. ``status`` None: it did not, and was killed; ``why`` says why. ``said``: the last line that
    it printed."""

    status: int | None
    said: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """``inject`` brings something about; empty: nothing. ``environment`` is added to that of the process."""

    KIND: ClassVar[str] = "command"
    ALONE: ClassVar[bool] = False
    name: str
    heal: tuple[str, ...]
    probe: tuple[str, ...]
    directory: str
    seconds: float
    environment: dict[str, str] = field(default_factory=dict)
    inject: tuple[str, ...] = field(default=(), metadata=TRANSIENT)

    def make(self, held: Sequence[int], /) -> Self:
        if self.inject:
            self._succeed("inject", self.inject, held)
        return self

    def undo(self) -> None:
        """The heal command, which may fail if there was nothing to heal: what the probe says counts."""
        try:
            self._succeed("heal", self.heal)
        except MachineError:
            if self.look()[0]:
                raise

    def look(self) -> tuple[bool, str]:
        """Whether it is there, and what the probe said. Raises ``MachineError``: that is not known."""
        ended = run_command(self.probe, self.directory, self.environment, self.seconds)
        if ended.status not in (THERE, GONE):
            raise MachineError(f"the probe of {self.name} {_how(ended)}; expected 0 (there) or 1 (gone)")
        return ended.status == THERE, ended.said

    def left(self) -> str | None:
        is_there, said = self.look()
        return f"{self.name}{f' ({said})' if said else ''}" if is_there else None

    def describe(self) -> str:
        return self.name

    def _succeed(self, what: str, argv: Sequence[str], held: Sequence[int] = ()) -> None:
        ended = run_command(argv, self.directory, self.environment, self.seconds, held)
        if ended.status != 0:
            raise MachineError(f"the {what} command of {self.name} {_how(ended)}")


def run_command(
    argv: Sequence[str], directory: str, environment: Mapping[str, str], seconds: float, held: Sequence[int] = ()
) -> Ended:
    """Run a command, with all that it starts in its own session, within ``seconds``; what runs longer is killed.

    ``held``: file descriptors that stay open until it has ended, also if this process ends before
    (:mod:`~.bounded`). Raises ``MachineError``: it cannot be started.
    """
    bounded = own_program("highwater_chaos.machine.process.bounded", str(seconds + _OUTLIVED)) if held else ()
    with tempfile.TemporaryFile() as output:
        try:
            process = subprocess.Popen(  # noqa: S603 - the user's own command, which he allowed
                [*bounded, *argv],
                cwd=directory,
                env={**os.environ, **environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=tuple(held),
            )
        except (OSError, ValueError) as error:
            raise MachineError(f"{_printable(argv[0])}: cannot be run: {error}") from error
        try:
            why = _waited_for(process, seconds, output)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        size = output.seek(0, os.SEEK_END)
        output.seek(max(0, size - _READ))
        lines = output.read(_READ).decode("utf-8", "replace").split("\n")
    said = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return Ended(None if why else process.returncode, _printable(said), why)


def _waited_for(process: subprocess.Popen[bytes], seconds: float, output: IO[bytes]) -> str:
    """Wait until it has ended; returns why it must be killed instead, or nothing."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        try:
            process.wait(min(left, _LOOKS_EVERY))
        except subprocess.TimeoutExpired:
            if os.fstat(output.fileno()).st_size > _MOST:
                return f"printed more than {_MOST >> 20} MiB, and was killed"
        else:
            return ""
    return f"did not end within {seconds:g} s"


def _printable(text: str) -> str:
    return "".join(one if one.isprintable() else "?" for one in text[:_SHOWN])


def _how(ended: Ended) -> str:
    how = ended.why or f"ended with status {ended.status}"
    return f"{how}{f': {ended.said}' if ended.said else ''}"
