"""What the connections of one server may take together, and what is counted of them."""

from __future__ import annotations

from typing import Any, Protocol

from highwater_runtime.host.hosting import Hosting
from highwater_runtime.host.interference import Interference
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.ports import InboundRequest


class PooledConnection(Protocol):
    """A connection, as far as others have to do with it."""

    address: str
    queued_bytes: int

    def read_on(self) -> None:
        """Go on reading, unless there is still reason to wait."""

    def is_idle(self, since: float) -> bool:
        """Whether nothing has happened since ``since``: no bytes, and no request that waits for the core."""

    def close(self, why: str | None, *, after_output: bool = False) -> None:
        """Close the connection, if asked for behind its output; with a reason, say so in the log. Idempotent."""


class ConnectionPool:
    """The connections of one server, and the way of their requests to the core."""

    def __init__(self, node: Hosting, limits: ServerLimits) -> None:
        self.node = node
        self.limits = limits
        self.interference = Interference(node, self.on_request)
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
        self._connections: dict[PooledConnection, None] = {}
        self._by_address: dict[str, int] = {}
        self.over_share: dict[PooledConnection, None] = {}
        """Connections that are not read from until bytes are given back."""

    @property
    def connections(self) -> int:
        """How many there are."""
        return len(self._connections)

    def admit(self, connection: PooledConnection) -> str | None:
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

    def connection_closed(self, connection: PooledConnection) -> None:
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

    def is_over_its_share(self, connection: PooledConnection) -> bool:
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
