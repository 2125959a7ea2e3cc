"""One turn of a node: the events that one callback of the loop brings, then everything they have to say.

While events run, connections gather output and the trace gathers lines. At the end of the turn the lines are written
first, then the output leaves, one write a connection. That is the order which lets no SIGKILL hide an event whose
effect others saw, and it corks small replies for free.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Protocol

from highwater_runtime.host.event_log import EventLog


class Sender(Protocol):
    """A connection with output to send."""

    def flush(self) -> None:
        """Hand all gathered output to the transport."""


class Turn:
    """Gathers who has something to send; ``on_failure`` hears when the trace cannot be written."""

    __slots__ = ("_loop", "_on_failure", "_scheduled", "_senders", "is_open", "trace")

    def __init__(self, loop: asyncio.AbstractEventLoop, trace: EventLog, on_failure: Callable[[OSError], None]) -> None:
        self._loop = loop
        self._on_failure = on_failure
        self.trace = trace
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
