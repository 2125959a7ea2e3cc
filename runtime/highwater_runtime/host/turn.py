"""One turn of a node: the events that one callback of the loop brings, then everything they have to say.

While events run, connections gather output and the trace gathers lines. At the end of the turn the lines are written
first, then the output leaves, one write a connection. That is the order which lets no SIGKILL hide an event whose
effect others saw, and it corks small replies for free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from time import monotonic_ns
from typing import Final, Protocol

from highwater_runtime.host.logs import NodeLog
from highwater_runtime.ports.trace import NodeEvent

LONGEST_TURN_NS: Final = 100_000_000
"""A turn that takes longer is worth a warning: requests, and heartbeats, wait behind it."""
_WARNING_EVERY_NS: Final = 1_000_000_000


class TurnWatch:
    """Warns of turns above :data:`LONGEST_TURN_NS`, once a second at most and then of the longest."""

    __slots__ = ("_count", "_log", "_longest_ns", "_next_warning_ns", "_what", "longest_ns")

    def __init__(self, log: NodeLog) -> None:
        self._log = log
        self._next_warning_ns = 0
        self._count = self._longest_ns = 0
        self._what = ""
        self.longest_ns = 0
        """The longest turn of this node's life."""

    def took(self, duration_ns: int, what: Callable[..., object]) -> None:
        """A turn that ran ``what`` is over."""
        self.longest_ns = max(self.longest_ns, duration_ns)
        if duration_ns < LONGEST_TURN_NS:
            return
        self._count += 1
        if duration_ns > self._longest_ns:
            self._longest_ns, self._what = duration_ns, name_of(what)
        now = monotonic_ns()
        if now >= self._next_warning_ns:
            self._next_warning_ns = now + _WARNING_EVERY_NS
            ms = self._longest_ns // 1_000_000
            self._log.warning("the event loop was held up", longest_ms=ms, by=self._what, turns=self._count)
            self._count = self._longest_ns = 0


def name_of(function: Callable[..., object]) -> str:
    """What a callback is for: the name of the function that wrappers and lambdas around it lead to."""
    for _ in range(6):
        inner = function.func if isinstance(function, partial) else _wrapped(function)
        if inner is None:
            break
        function = inner
    return getattr(function, "__qualname__", None) or repr(function)


def _wrapped(function: Callable[..., object]) -> Callable[..., object] | None:
    code = getattr(function, "__code__", None)
    cells = getattr(function, "__closure__", None) or ()
    for name, cell in zip(() if code is None else code.co_freevars, cells, strict=False):
        if name in _WRAPPED_AS and callable(cell.cell_contents):
            wrapped: Callable[..., object] = cell.cell_contents
            return wrapped
    return None


_WRAPPED_AS: Final = ("callback", "on_response", "on_done", "on_answer", "completion", "event", "deliver")
"""Names under which a closure holds what it is there for."""


class Sender(Protocol):
    """A connection with output to send."""

    def flush(self) -> None:
        """Hand all gathered output to the transport."""


class TurnTrace(Protocol):
    """Node events, written at the end of the turn."""

    @property
    def follows_records(self) -> bool: ...

    def emit(self, event: NodeEvent) -> None: ...

    def flush(self) -> None:
        """Write what was emitted since the last time. Raises ``OSError`` where that fails."""


class Turn:
    """Gathers who has something to send; ``on_failure`` hears when the trace cannot be written."""

    __slots__ = ("_loop", "_on_failure", "_scheduled", "_senders", "is_open", "trace")

    def __init__(
        self, loop: asyncio.AbstractEventLoop, trace: TurnTrace, on_failure: Callable[[OSError], None]
    ) -> None:
        self._loop = loop
        self._on_failure = on_failure
        self.trace: TurnTrace = trace
        self.is_open = False
        """Whether events run now: the end of the turn will come without being asked for."""
        self._senders: list[Sender] = []
        self._scheduled = False

    def will_send(self, sender: Sender) -> None:
        """``sender`` has output; it says so once, until its flush."""
        self._senders.append(sender)
        if not self.is_open and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self.end)

    def end(self) -> None:
        """Write the trace, then send."""
        self.is_open = self._scheduled = False
        try:
            self.trace.flush()
        except OSError as error:
            # What these events explain must not be seen by anybody, if the events themselves cannot be.
            self._senders.clear()
            self._on_failure(error)
            return
        while self._senders:
            senders, self._senders = self._senders, []
            for sender in senders:
                sender.flush()

    def abandon(self) -> None:
        """The node is dead: its events are kept, its unsent output is not."""
        self.is_open = False
        self._senders.clear()
        with suppress(OSError):  # the node ends anyway, and says why
            self.trace.flush()
