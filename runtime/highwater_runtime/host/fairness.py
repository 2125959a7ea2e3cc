"""Turns for connections with many requests: one client that pipelines must not make all others wait.

Kafka takes one request of a connection at a time: it does not read from a connection whose request is not answered.
This server reads many requests at once, because that costs less, and bounds the time instead. All connections together
get one *slice* of time in each pass of the event loop. After the slice, a connection gets one request in when its bytes
come. What is left in its buffer waits in a line. Each pass takes one slice from the line, in equal parts and at least
one request for each connection that gets its turn. So a request of a client that has no other waits for at most one
slice and one request of each busy connection.
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
    """The line of one server."""

    __slots__ = ("_is_in_pass", "_line", "_loop", "_pass_until_ns", "until_ns")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._line: deque[WaitingConnection] = deque()
        self._is_in_pass = False
        self._pass_until_ns = 0
        self.until_ns = 0
        """``perf_counter_ns`` after which the connection at work handles no further request."""

    def begin(self) -> None:
        """Start the turn of a connection whose bytes have come."""
        if not self._is_in_pass:
            self._is_in_pass = True
            self._pass_until_ns = perf_counter_ns() + SLICE_NS
            self._loop.call_soon(self._next_pass)
        self.until_ns = 0 if self._line else self._pass_until_ns

    def join(self, connection: WaitingConnection) -> None:
        """Put ``connection`` at the end of the line. A connection may be in it only once."""
        self._line.append(connection)
        if not self._is_in_pass:
            self._is_in_pass = True
            self._pass_until_ns = 0
            self._loop.call_soon(self._next_pass)

    def _next_pass(self) -> None:
        """Serve the line for one slice. The loop calls this once in a pass, before what the sockets bring."""
        self._is_in_pass = False
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
        if line and not self._is_in_pass:
            self._is_in_pass = True
            self._loop.call_soon(self._next_pass)
        self._pass_until_ns = 0
