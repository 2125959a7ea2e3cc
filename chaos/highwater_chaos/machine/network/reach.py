"""Probe: whether a datagram gets from one namespace to another. One way only: nothing has to come back.

A socket stays in the namespace in which it was created, so one thread can hold one in each.
"""

from __future__ import annotations

import secrets
import select
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final, Self

from highwater_chaos.machine.network.namespaces import in_namespace

_AGAIN: Final = 0.05
"""Seconds until the datagram is sent once more: the first may be lost while an address is still being resolved."""


@dataclass(slots=True)
class Reach:
    """Sockets of a run's nodes. Not for more than one thread at a time."""

    sockets: dict[str, socket.socket] = field(default_factory=dict)

    def add(self, node: str, namespace: str | None, address: str) -> None:
        """Open the socket of ``node`` at ``address`` in its namespace (None: the machine's own)."""

        def bind() -> socket.socket:
            opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            opened.bind((address, 0))
            opened.setblocking(False)
            return opened

        self.sockets[node] = in_namespace(namespace, bind)

    def reaches(self, source: str, destination: str, timeout: float = 0.5) -> bool:
        """Whether a datagram from ``source`` arrives at ``destination`` within ``timeout`` seconds."""
        receiver = self.sockets[destination]
        token = secrets.token_bytes(16)
        poll = select.poll()
        poll.register(receiver, select.POLLIN)
        deadline = time.monotonic() + timeout
        while (left := deadline - time.monotonic()) > 0:
            # EHOSTUNREACH and its kin: no way there at the moment.
            with suppress(OSError):
                self.sockets[source].sendto(token, receiver.getsockname())
            until = time.monotonic() + min(_AGAIN, left)
            while (rest := until - time.monotonic()) > 0:
                # Datagrams of earlier probes may still come in; only this one's count.
                if poll.poll(rest * 1000) and receiver.recv(64) == token:
                    return True
        return False

    def close(self) -> None:
        """Close all sockets. Idempotent."""
        for opened in self.sockets.values():
            opened.close()
        self.sockets.clear()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
