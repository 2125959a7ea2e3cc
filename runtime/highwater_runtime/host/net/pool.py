"""What the connections of one server may take together, and what is counted of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final, Protocol

from highwater_runtime.host.hosting import Hosting
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.host.logs import LimitedLog
from highwater_runtime.host.net.fairness import TurnLine
from highwater_runtime.host.net.interference import Interference
from highwater_runtime.host.net.requests import HostRequest
from highwater_runtime.ports import Endpoint

_KEPT_BUFFERS_BYTES: Final = 64 * 1024 * 1024
"""Larger buffers than needed are kept for speed, as long as all buffers together have no more than this."""
_KEPT_BACK_EXTRA_BYTES: Final = 1024
"""Of each request that a rule keeps back, beyond its frame."""
_FINISHING_CHECK_S: Final = 1.0
_LEAST_PROGRESS_BYTES: Final = 64 * 1024
"""What must come of an unfinished request in that time, if its memory is beyond the bound."""


class PooledConnection(Protocol):
    """A connection, as far as others have to do with it."""

    address: str
    queued_bytes: int
    """Of requests without a response, and of one of which only a part has come."""
    unfinished_bytes: int
    """Of the request of which only a part has come."""

    @property
    def is_reading(self) -> bool:
        """Whether bytes of the peer are taken."""

    @property
    def buffered_bytes(self) -> int:
        """Received, but not handed over."""

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
        self.interference = Interference(node)
        self.rules = self.interference.rules
        self.log = LimitedLog(node.log, node.loop)
        """For what peers can cause as often as they like."""
        self.line = TurnLine(node.loop)
        self.bound: dict[str, Endpoint] = {}
        """Listener name → where it really listens."""
        self.on_introduction: Callable[[Any, Any], None] | None = None
        """Sees every ApiVersions request with its connection, before the core does."""
        self.queued_bytes = 0
        """Of requests that are not answered yet, and of those of which only a part has come."""
        self.kept_back_bytes = 0
        """Of requests that rules keep back, also of connections that have ended."""
        self.keeps_back_too_much = False
        """Whether no further request is to be looked at until rules let some go."""
        self.buffer_bytes = 0
        """Of the buffers of connections, beyond what each connection has from the start."""
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
        self._finishing: PooledConnection | None = None
        """The one whose unfinished request is read although the bound is reached, so that some request ends."""
        self._finishing_had = 0
        self._finishing_check: asyncio.TimerHandle | None = None

    @property
    def connections(self) -> int:
        return len(self._connections)

    def why_refused(self, address: str, descriptor: int) -> str | None:
        """Why a new connection from ``address`` must go at once; None: it may stay."""
        limits = self.limits
        if len(self._connections) >= limits.max_connections:
            return f"too many connections: max.connections is {limits.max_connections}"
        if descriptor >= limits.max_descriptor:
            return f"too many open files: descriptors from {limits.max_descriptor} on are not for connections"
        if self._by_address.get(address, 0) >= limits.max_connections_per_ip:
            return f"too many connections from one address: max.connections.per.ip is {limits.max_connections_per_ip}"
        return None

    def admit(self, connection: PooledConnection) -> None:
        """Count a new connection."""
        self._by_address[connection.address] = self._by_address.get(connection.address, 0) + 1
        self._connections[connection] = None

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
        self.finished(connection)

    def is_over_its_share(self, connection: PooledConnection) -> bool:
        """Whether the server holds too much, and ``connection`` more than an equal part of what is allowed.

        Equal parts, so that a follower's small fetches are read however much producers send: it is those fetches that
        let producers be answered.

        A request of which only a part has come gives nothing back before it is whole. So one of them at a time is read
        to its end, above the bound (as Kafka's memory pool gives out its last bytes to a request of any size).
        """
        most = self.limits.max_queued_bytes
        if most < 0:
            return False
        if self.keeps_back_too_much:
            self.over_share[connection] = None
            return True
        if self.queued_bytes <= most:
            return False
        if connection.queued_bytes * len(self._connections) <= most and (
            # Shares get smaller as connections come. Those that are there already keep what they have.
            not connection.unfinished_bytes or self.queued_bytes <= 2 * most
        ):
            return False
        if connection.unfinished_bytes and self._may_finish(connection):
            return False
        self.over_share[connection] = None
        return True

    def _may_finish(self, connection: PooledConnection) -> bool:
        if self._finishing is None:
            self._finishing = connection
            self._finishing_had = connection.buffered_bytes
            self._finishing_check = self.node.loop.call_later(_FINISHING_CHECK_S, self._check_finishing)
        return self._finishing is connection

    def _check_finishing(self) -> None:
        """Close the connection that may finish its request if it does not send it: others wait for that memory."""
        connection = self._finishing
        if connection is None:
            return
        if not connection.is_reading:
            self.finished(connection)
        elif connection.buffered_bytes < self._finishing_had + _LEAST_PROGRESS_BYTES and self.over_share:
            connection.close(
                f"an unfinished request of {connection.buffered_bytes} bytes so far, of which nothing more comes, while"
                f" queued.max.request.bytes ({self.limits.max_queued_bytes}) is reached"
            )
        else:
            self._finishing_had = connection.buffered_bytes
            self._finishing_check = self.node.loop.call_later(_FINISHING_CHECK_S, self._check_finishing)

    def finished(self, connection: PooledConnection) -> None:
        """``connection`` has no unfinished request any more: if it was the one that may finish, another one may."""
        if self._finishing is not connection:
            return
        self._finishing = None
        if self._finishing_check is not None:
            self._finishing_check.cancel()
            self._finishing_check = None
        for waiting in self.over_share:
            if waiting.unfinished_bytes and waiting is not connection:
                del self.over_share[waiting]
                waiting.read_on()
                break

    def released(self) -> None:
        """Bytes were given back: who waited for that may go on."""
        if self.over_share and not self.keeps_back_too_much and self.queued_bytes <= self.limits.max_queued_bytes:
            waiting, self.over_share = self.over_share, {}
            for connection in waiting:
                connection.read_on()

    def keep_back(self, request: HostRequest) -> None:
        """Count a request that a rule keeps back."""
        self._keep_back(request.size + _KEPT_BACK_EXTRA_BYTES)

    def let_go(self, request: HostRequest) -> None:
        """The rule lets a request go that was counted."""
        self._keep_back(-request.size - _KEPT_BACK_EXTRA_BYTES)
        self.released()

    def _keep_back(self, more: int) -> None:
        self.kept_back_bytes += more
        self.keeps_back_too_much = 0 <= self.limits.max_queued_bytes < self.kept_back_bytes

    def may_keep(self, nbytes: int) -> bool:
        """Whether a connection may have a buffer of ``nbytes`` more than it needs."""
        return self.buffer_bytes + nbytes <= _KEPT_BUFFERS_BYTES
