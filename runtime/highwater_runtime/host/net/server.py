"""The server of one node: its listeners, whom it lets in, and the end of idle connections."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from time import monotonic
from typing import Any, Final

from highwater_runtime.host.hosting import Hosting
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.host.net.accepting import Acceptor
from highwater_runtime.host.net.connection import ServerConnection
from highwater_runtime.host.net.listeners import Listener
from highwater_runtime.host.net.pool import ConnectionPool
from highwater_runtime.ports import Endpoint

_BACKLOG: Final = 1024
_SWEEPS_PER_IDLE_TIME: Final = 10


class Server(ConnectionPool):
    """Accepts connections and hands their requests to the node's core."""

    def __init__(self, node: Hosting, listeners: Sequence[Listener], limits: ServerLimits) -> None:
        super().__init__(node, limits)
        self._listeners = tuple(listeners)
        self._sockets: list[tuple[Listener, socket.socket]] = []
        self._acceptors: list[Acceptor] = []
        self._opening: set[asyncio.Task[None]] = set()
        """Connections whose TLS handshake goes on."""
        self._sweeper: asyncio.TimerHandle | None = None

    # --- life ---

    def bind(self) -> None:
        """Take the addresses, without accepting anybody yet. Raises ``OSError`` with the address in its text."""
        for listener in self._listeners:
            sock = _bound_socket(listener.endpoint)
            self._sockets.append((listener, sock))
            self.bound[listener.name] = Endpoint(*sock.getsockname()[:2])

    def accept(self) -> None:
        for listener, sock in self._sockets:
            acceptor = Acceptor(
                self.node.loop, sock, partial(self._accepted, listener), partial(self._exhausted, listener)
            )
            acceptor.start(_BACKLOG)
            self._acceptors.append(acceptor)
        self._sockets.clear()
        if self.limits.max_idle_ms > 0:
            self._sweep()

    def stop_accepting(self) -> None:
        """Refuse new connections; those that stand go on."""
        for acceptor in self._acceptors:
            acceptor.close()
        self._acceptors.clear()
        for _, sock in self._sockets:
            sock.close()
        self._sockets.clear()

    def close(self, *, after_output: bool) -> None:
        """Stop accepting and close every connection."""
        self.stop_accepting()
        if self._sweeper is not None:
            self._sweeper.cancel()
        self.interference.close()
        for task in list(self._opening):
            task.cancel()
        for connection in list(self._connections):
            connection.close(None, after_output=after_output)

    # --- new connections ---

    def _accepted(self, listener: Listener, sock: socket.socket, address: Any) -> None:
        host, peer = str(address[0]), f"{address[0]}:{address[1]}"
        self.accepted += 1
        refusal = self.why_refused(host, sock.fileno())
        if refusal is not None:
            self.refused += 1
            self.log.warning("connection closed", peer=peer, listener=listener.name, why=refusal)
            sock.close()
            return
        connection = self.connection_for(listener, host, peer)
        self.admit(connection)
        task = self.node.loop.create_task(self._open(connection, sock))
        self._opening.add(task)
        task.add_done_callback(self._opening.discard)

    def connection_for(self, listener: Listener, host: str, peer: str) -> ServerConnection:
        """What serves a client from ``host``; ``peer`` has its port as well."""
        return ServerConnection(self, listener, host, peer)

    async def _open(self, connection: ServerConnection, sock: socket.socket) -> None:
        security = connection.listener.security
        try:
            sock.setblocking(False)
            with suppress(OSError):  # the peer may be gone already
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await self.node.loop.connect_accepted_socket(
                lambda: connection,
                sock,
                ssl=security.ssl_context,
                ssl_handshake_timeout=None if security.ssl_context is None else security.authentication_timeout_s,
            )
        except (OSError, asyncio.CancelledError):
            # A handshake that failed is logged by the context. A cancelled one: the server closes.
            connection.close(None)
            sock.close()

    def _exhausted(self, listener: Listener, error: OSError) -> None:
        self.log.warning("cannot accept connections", listener=listener.name, why=error.strerror)

    # --- idle ones ---

    def _sweep(self) -> None:
        idle_s = self.limits.max_idle_ms / 1000
        since = monotonic() - idle_s
        for connection in list(self._connections):
            if connection.is_idle(since):
                connection.close(f"idle for longer than connections.max.idle.ms ({self.limits.max_idle_ms})")
        self._sweeper = self.node.loop.call_later(max(0.01, idle_s / _SWEEPS_PER_IDLE_TIME), self._sweep)


def _bound_socket(endpoint: Endpoint) -> socket.socket:
    host, port = endpoint
    try:
        (family, kind, protocol, _, address), *_ = socket.getaddrinfo(
            host or "0.0.0.0",  # noqa: S104 - what an empty host means in Kafka's listeners
            port,
            type=socket.SOCK_STREAM,
            flags=socket.AI_PASSIVE,
        )
        sock = socket.socket(family, kind, protocol)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            sock.bind(address)
        except OSError:
            sock.close()
            raise
    except OSError as error:
        raise OSError(error.errno, f"cannot listen on {endpoint}: {error.strerror or error}") from error
    return sock
