"""The server of one node: its listeners, its connections, and what they may take together."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Sequence
from time import monotonic
from typing import TYPE_CHECKING, Any, Final

from highwater_runtime.host.connection import ServerConnection
from highwater_runtime.host.interference import Interference
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.host.listeners import Listener
from highwater_runtime.ports import Endpoint, InboundRequest

if TYPE_CHECKING:
    from highwater_runtime.host.node import HostedNode

_BACKLOG: Final = 1024
_SWEEPS_PER_IDLE_TIME: Final = 10


class Server:
    """Accepts connections and hands their requests to the node's core."""

    def __init__(self, node: HostedNode, listeners: Sequence[Listener], limits: ServerLimits) -> None:
        self.node = node
        self.limits = limits
        self.interference = Interference(self)
        self.rules = self.interference.rules
        self.queued_bytes = 0
        """Of requests that are not answered yet."""
        self.received_bytes = 0
        self.sent_bytes = 0
        self.accepted = 0
        self.refused = 0
        """Connections closed for what their peer did."""
        self.requests: dict[str, list[int]] = {}
        """Message name → requests handled, nanoseconds spent in the core on them."""
        self.bound: dict[str, Endpoint] = {}
        """Listener name → where it really listens."""
        self._listeners = tuple(listeners)
        self._sockets: list[tuple[Listener, socket.socket]] = []
        self._servers: list[asyncio.Server] = []
        self._connections: dict[ServerConnection, None] = {}
        self._by_address: dict[str, int] = {}
        self.over_share: dict[ServerConnection, None] = {}
        """Connections that are not read from until bytes are given back."""
        self._sweeper: asyncio.TimerHandle | None = None

    # --- life ---

    def bind(self) -> None:
        """Take the addresses, without accepting anybody yet. Raises ``OSError`` with the address in its text."""
        for listener in self._listeners:
            sock = _bound_socket(listener.endpoint)
            self._sockets.append((listener, sock))
            self.bound[listener.name] = Endpoint(*sock.getsockname()[:2])

    async def accept(self) -> None:
        """Begin to accept connections."""
        for listener, sock in self._sockets:
            self._servers.append(
                await self.node.loop.create_server(
                    lambda listener=listener: ServerConnection(self, listener),
                    sock=sock,
                    ssl=listener.security.ssl_context,
                    ssl_handshake_timeout=(
                        None if listener.security.ssl_context is None else listener.security.authentication_timeout_s
                    ),
                    backlog=_BACKLOG,
                )
            )
        self._sockets.clear()
        if self.limits.max_idle_ms > 0:
            self._sweep()

    def stop_accepting(self) -> None:
        """Refuse new connections; those that stand go on."""
        for server in self._servers:
            server.close()
        for _, sock in self._sockets:
            sock.close()
        self._sockets.clear()

    def close(self, *, after_output: bool) -> None:
        """Stop accepting and close every connection."""
        self.stop_accepting()
        if self._sweeper is not None:
            self._sweeper.cancel()
        self.interference.close()
        for connection in list(self._connections):
            connection.close(None, after_output=after_output)

    # --- connections ---

    @property
    def connections(self) -> int:
        """How many there are."""
        return len(self._connections)

    def admit(self, connection: ServerConnection) -> str | None:
        """Count a new connection; returns why it must go at once, if it must."""
        self.accepted += 1
        here = self._by_address[connection.address] = self._by_address.get(connection.address, 0) + 1
        self._connections[connection] = None
        limits = self.limits
        if len(self._connections) > limits.max_connections:
            return f"too many connections: max.connections is {limits.max_connections}"
        if here > limits.max_connections_per_ip:
            return f"too many connections from one address: max.connections.per.ip is {limits.max_connections_per_ip}"
        return None

    def connection_closed(self, connection: ServerConnection) -> None:
        """``connection`` takes nothing any more."""
        if connection not in self._connections:
            return
        del self._connections[connection]
        here = self._by_address[connection.address] - 1
        if here:
            self._by_address[connection.address] = here
        else:
            del self._by_address[connection.address]
        self.queued_bytes -= connection.queued_bytes
        self.over_share.pop(connection, None)
        self.released()

    def is_over_its_share(self, connection: ServerConnection) -> bool:
        """Whether the server holds too much, and ``connection`` more than an equal part of what is allowed.

        Equal parts, so that a follower's small fetches are read however much producers send: it is those fetches that
        let producers be answered.
        """
        most = self.limits.max_queued_bytes
        if most < 0 or self.queued_bytes <= most or connection.queued_bytes * len(self._connections) <= most:
            return False
        self.over_share[connection] = None
        return True

    def released(self) -> None:
        """Bytes were given back: who waited for that may go on."""
        if self.over_share and self.queued_bytes <= self.limits.max_queued_bytes:
            waiting, self.over_share = self.over_share, {}
            for connection in waiting:
                connection.read_on()

    def _sweep(self) -> None:
        idle_s = self.limits.max_idle_ms / 1000
        since = monotonic() - idle_s
        for connection in list(self._connections):
            if connection.is_idle(since):
                connection.close(f"idle for longer than connections.max.idle.ms ({self.limits.max_idle_ms})")
        self._sweeper = self.node.loop.call_later(max(0.01, idle_s / _SWEEPS_PER_IDLE_TIME), self._sweep)

    # --- requests ---

    def on_request(self, request: InboundRequest) -> None:
        """Event: the core gets a request."""
        core = self.node.core
        assert core is not None
        core.on_request(request)

    def count(self, body: Any, spent_ns: int) -> None:
        """One request was handled."""
        name = body.NAME
        counted = self.requests.get(name)
        if counted is None:
            self.requests[name] = [1, spent_ns]
        else:
            counted[0] += 1
            counted[1] += spent_ns


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
