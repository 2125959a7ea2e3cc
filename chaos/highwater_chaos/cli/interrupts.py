"""Ctrl-C and SIGTERM, also where libraries get in their way.

Python raises ``KeyboardInterrupt`` wherever the program happens to be. Inside a callback of native code it may come out
as another exception (pydantic makes a ``PydanticSerializationError`` of it), and inside a finalizer it is printed and
forgotten. Neither may turn an interruption into a fault of the harness or into a run that goes on.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Final, Protocol

_AGAIN_SECONDS: Final = 0.01


class _Unraisable(Protocol):
    exc_type: type[BaseException]
    exc_value: BaseException | None
    exc_traceback: TracebackType | None
    err_msg: str | None
    object: object


class EndedEarlyError(Exception):
    """The program was interrupted, and the run that was under way is kept as far as it went."""


@dataclass
class EarlyEnd:
    """Why the run under way is to end early; None: it is not."""

    why: str | None = None

    def __call__(self) -> str | None:
        """Return why."""
        return self.why


_under_way: list[EarlyEnd] = []


@contextmanager
def ending_early(possible: bool) -> Iterator[EarlyEnd]:
    """Let the first Ctrl-C or SIGTERM in here be noted only, if the run can end early. The next raises as always."""
    early = EarlyEnd()
    if possible:
        _under_way.append(early)
    try:
        yield early
    finally:
        if possible:
            _under_way.remove(early)


_listening: list[Interrupts] = []


def was_interrupted() -> bool:
    """Return whether this process has been asked to stop, as far as it listens."""
    return any(one.received for one in _listening)


@contextmanager
def raised_as_interruption() -> Iterator[None]:
    """Raise ``KeyboardInterrupt`` for any error after this process was asked to stop: a library made it of that."""
    try:
        yield
    except EndedEarlyError:
        raise
    except Exception as error:
        if was_interrupted():
            raise KeyboardInterrupt from error
        raise


class Interrupts:
    """Whether this process has been asked to stop."""

    def __init__(self) -> None:
        self.received = False

    def listen(self) -> None:
        """Raise ``KeyboardInterrupt`` on SIGINT and SIGTERM, and again where one got lost. Main thread only."""
        _listening[:] = [self]
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM):
            signal.signal(number, self._interrupt)
        sys.unraisablehook = self._unraisable

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        self.received = True
        if number != signal.SIGALRM and _under_way and _under_way[-1].why is None:
            _under_way[-1].why = f"the harness was asked to stop ({signal.Signals(number).name})"
            return
        raise KeyboardInterrupt

    def _unraisable(self, lost: _Unraisable, /) -> None:
        if issubclass(lost.exc_type, KeyboardInterrupt):
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_SECONDS)  # raised at once it would be lost once more
        else:
            sys.__unraisablehook__(lost)
