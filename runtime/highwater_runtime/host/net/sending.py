"""The sending half of a connection: pieces gathered in a turn leave in one write, large ones without a copy."""

from __future__ import annotations

import asyncio
from typing import Final

from highwater_runtime.host.turn import Sender, Turn

LARGE_BYTES: Final = 256 * 1024
"""A piece from this size on has a write of its own; smaller ones are joined: to copy them costs less than another
system call, and a receiver that is woken for a head without its body."""


class Outbox:
    """Output of one connection."""

    __slots__ = ("_parts", "_sender", "_transport", "_turn", "gathered_bytes", "sent_bytes")

    def __init__(self, turn: Turn, sender: Sender) -> None:
        self._turn = turn
        self._sender = sender
        self._transport: asyncio.Transport | None = None
        self._parts: list[bytes] = []
        self.gathered_bytes = 0
        """What waits for the end of the turn."""
        self.sent_bytes = 0

    def attach(self, transport: asyncio.Transport) -> None:
        """Where output goes from now on."""
        self._transport = transport

    def put(self, parts: list[bytes]) -> None:
        """Add a frame, in pieces; it leaves at the end of the turn."""
        if not self._parts:
            self._turn.will_send(self._sender)
        self._parts += parts
        self.gathered_bytes += sum(map(len, parts))

    def flush(self) -> None:
        """Hand everything to the transport."""
        parts, self._parts = self._parts, []
        total, self.gathered_bytes = self.gathered_bytes, 0
        transport = self._transport
        if transport is None or transport.is_closing() or not parts:
            return
        self.sent_bytes += total
        if total < LARGE_BYTES:
            transport.write(b"".join(parts))
            return
        small: list[bytes] = []
        for part in parts:
            if len(part) < LARGE_BYTES:
                small.append(part)
                continue
            if small:
                transport.write(b"".join(small))
                small = []
            # As a view: asyncio cuts off what the socket took at once, and bytes would be copied by that.
            transport.write(memoryview(part))
        if small:
            transport.write(b"".join(small))
