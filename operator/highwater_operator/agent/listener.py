"""The agent's port, which any process of the cluster's network may reach: how many connections there may be, and how
long one may take before its request is whole.

Connections need file descriptors, and so do heals. Nobody is known before the token, which comes with the headers.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from collections.abc import Callable
from typing import Final

MOST: Final = 512
MOST_OF_ONE: Final = 64
"""Of one address. Runner and operator keep eight at most for each agent."""
IDLE_S: Final = 30.0
"""Seconds from the beginning of a connection, or from an answer on it, until the next request's headers are whole. The
harness gives a connection up that it has not used for 20 s."""
_HANDSHAKE_S: Final = 10.0
_STUCK_MS: Final = 30_000
"""Milliseconds in which the other end takes nothing of an answer."""
_AFTER_LACK_S: Final = 0.1
_BACKLOG: Final = 128


class Listener:
    """Accepts connections on an address and gives each to a protocol of ``factory``. Beyond ``most``, and
    ``most_of_one`` from one address, it closes a connection at once."""

    def __init__(
        self,
        factory: Callable[[], asyncio.Protocol],
        context: ssl.SSLContext,
        *,
        most: int = MOST,
        most_of_one: int = MOST_OF_ONE,
        handshake_s: float = _HANDSHAKE_S,
    ) -> None:
        self._factory = factory
        self._context = context
        self._most = most
        self._most_of_one = most_of_one
        self._handshake_s = handshake_s
        self._open: list[tuple[socket.socket, str]] = []
        self._handshakes: set[asyncio.Task[None]] = set()
        self._accepting: asyncio.Task[None] | None = None

    def start(self, host: str, port: int) -> int:
        """Listen; returns the port (for 0: the one that it came to). Raises ``OSError``."""
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        server = socket.create_server((host, port), family=family, backlog=_BACKLOG)
        server.setblocking(False)
        self._accepting = asyncio.create_task(self._accept(server))
        return int(server.getsockname()[1])

    async def close(self) -> None:
        """Listen no more. Connections go on."""
        tasks = [*self._handshakes, *([] if self._accepting is None else [self._accepting])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def count(self) -> int:
        """Connections that are open, those whose handshake goes on among them."""
        # A transport closes its socket, however it ends.
        self._open = [(end, peer) for end, peer in self._open if end.fileno() >= 0]
        return len(self._open)

    async def _accept(self, server: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with server:
            while True:
                try:
                    end, address = await loop.sock_accept(server)
                except OSError:  # descriptors are short, or the other end has gone already
                    await asyncio.sleep(_AFTER_LACK_S)
                    continue
                peer = str(address[0])
                if self.count() >= self._most or sum(one == peer for _, one in self._open) >= self._most_of_one:
                    end.close()
                    continue
                self._open.append((end, peer))
                task = asyncio.create_task(self._connect(end))
                self._handshakes.add(task)
                task.add_done_callback(self._handshakes.discard)

    async def _connect(self, end: socket.socket) -> None:
        with contextlib.suppress(OSError):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, _STUCK_MS)
        try:
            await asyncio.get_running_loop().connect_accepted_socket(
                self._factory, end, ssl=self._context, ssl_handshake_timeout=self._handshake_s
            )
        except OSError:  # it does not speak TLS, or not in time
            end.close()
        except BaseException:
            end.close()
            raise
