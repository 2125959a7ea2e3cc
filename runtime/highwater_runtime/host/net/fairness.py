"""Turns for connections with many requests: one client that pipelines must not make all others wait.

Kafka takes one request of a connection at a time: it does not read from a connection whose request is not answered.
This server reads many requests at once, because that costs less, and bounds the time instead. All connections together
get a *slice* of time. When it is used up, a connection gets one request in when its bytes come, until the next pass of
the event loop begins a new slice. What is left in its buffer waits in a line. Each pass gives one slice to the line, in
equal parts and at least one request for each connection that gets its turn. So a request of a client that has no other
waits for at most one slice and one request of each busy connection.
"""

from __future__ import annotations

import asyncio
from collections import deque
from time import perf_counter_ns
from typing import Final, Protocol

SLICE_NS: Final = 2_000_000


class WaitingConnection(Protocol):
    """A connection that waits for its turn."""

    def go_on(self) -> None:
        """Handle requests until :attr:`TurnLine.until_ns`."""


class TurnLine:
    """The line of one server.

    A slice that is not used up goes on in the passes that follow, and grows again while the loop does anything else.
    So a pass takes a callback of the loop only when a slice is over or a connection waits, and not for each read of a
    socket.
    """

    __slots__ = ("_began_ns", "_ended_ns", "_is_in_pass", "_left_ns", "_line", "_loop", "until_ns")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._line: deque[WaitingConnection] = deque()
        self._is_in_pass = False
        """Whether the next pass is due."""
        self._left_ns = SLICE_NS
        """Of the slice of the connections whose bytes come."""
        self._began_ns = self._ended_ns = 0
        self.until_ns = 0
        """``perf_counter_ns`` after which the connection at work handles no further request."""

    def begin(self) -> None:
        """Start the turn of a connection whose bytes have come."""
        self._began_ns = began = perf_counter_ns()
        self._left_ns = left = min(SLICE_NS, self._left_ns + began - self._ended_ns)
        self.until_ns = 0 if self._line else began + left

    def end(self) -> None:
        """The turn of that connection is over."""
        self._ended_ns = ended = perf_counter_ns()
        self._left_ns -= ended - self._began_ns
        if self._left_ns <= 0:
            self._go_to_next_pass()

    def join(self, connection: WaitingConnection) -> None:
        """Put ``connection`` at the end of the line. A connection may be in it only once."""
        self._line.append(connection)
        self._go_to_next_pass()

    def _go_to_next_pass(self) -> None:
        if not self._is_in_pass:
            self._is_in_pass = True
            self._loop.call_soon(self._next_pass)

    def _next_pass(self) -> None:
        """Serve the line for one slice. The loop calls this once in a pass, before what the sockets bring."""
        self._is_in_pass = False
        self._left_ns = SLICE_NS
        line = self._line
        if not line:
            return
        now = perf_counter_ns()
        end = now + SLICE_NS
        part = SLICE_NS // len(line)
        for _ in range(len(line)):
            self.until_ns = min(end, now + part)
            line.popleft().go_on()
            now = perf_counter_ns()
            if now >= end:
                break
        if line:
            self._go_to_next_pass()
