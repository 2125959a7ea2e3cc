"""A node's sessions with the simulator's ensemble: :class:`~highwater_runtime.ports.coordination.Coordination`.

A session keeps one poll under way (see :mod:`.connection`), which brings the events of watches and shows the ensemble
that the client lives. A connection breaks when a request fails or is not answered within two thirds of the session's
time-out; the next server is tried then, with the newest zxid that the session has seen. While the node's event loop is
held up, the host sends pings.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

from highwater_runtime.ports import MS, Endpoint, Heartbeat, Ports, RpcFailure
from highwater_runtime.ports.coordination import (
    Children,
    Failure,
    Operation,
    Result,
    SessionEvent,
    SessionKey,
    WatchEvent,
    WatchKind,
    check_submitted,
)
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.zookeeper_connect_request import ZookeeperConnectRequest
from highwater_runtime.wire.messages.zookeeper_connect_response import ZookeeperConnectResponse
from highwater_runtime.wire.messages.zookeeper_request import ZookeeperRequest
from highwater_runtime.wire.messages.zookeeper_response import ZookeeperResponse
from highwater_runtime.zookeeper.codec import decode_answer, encode_operation
from highwater_runtime.zookeeper.connection import PING

R = TypeVar("R")
OnWatch = Callable[[WatchEvent], None]

_BACKOFF_NS: Final = 100 * MS
"""Between two attempts to connect, and up to as much again."""


class EnsembleClient:
    """The way of one node to the ensemble at ``servers``."""

    def __init__(self, ports: Ports, servers: Sequence[Endpoint]) -> None:
        assert servers, "an ensemble has at least one server"
        self._ports = ports
        self._servers = servers
        self._sessions = 0

    def open(
        self, timeout_ms: int, on_event: Callable[[SessionEvent], None], *, key: SessionKey | None = None
    ) -> EnsembleSession:
        self._sessions += 1
        return EnsembleSession(self._ports, self._servers, f"zookeeper-{self._sessions}", timeout_ms, on_event, key)


class EnsembleSession:
    """One :class:`~highwater_runtime.ports.coordination.Session`; ``channel`` is its own."""

    def __init__(
        self,
        ports: Ports,
        servers: Sequence[Endpoint],
        channel: str,
        timeout_ms: int,
        on_event: Callable[[SessionEvent], None],
        key: SessionKey | None,
    ) -> None:
        self.last_zxid = 0
        """The newest state of the tree that this session has seen."""
        self._ports = ports
        self._servers = ports.random.sample(list(servers), len(servers))
        self._channel = channel
        self._timeout_ms = timeout_ms
        self._on_event = on_event
        self._key = key
        self._connection = 0
        self._requests = 0
        self._is_over = False
        self._is_polling = False
        self._in_flight: deque[Callable[[Any], None]] = deque()
        self._node_watches: dict[str, list[OnWatch]] = {}
        self._child_watches: dict[str, list[OnWatch]] = {}
        self._connect_later(0)

    @property
    def key(self) -> SessionKey | None:
        return self._key

    @property
    def server(self) -> Endpoint:
        """The server that it is connected to, or tries next."""
        return self._servers[0]

    def submit(
        self,
        operation: Operation[R],
        on_result: Callable[[R | Failure], None],
        *,
        watch: OnWatch | None = None,
    ) -> None:
        check_submitted(operation, watched=watch is not None)
        if self._is_over or not self._connection:
            failure = Failure.SESSION_EXPIRED if self._is_over else Failure.CONNECTION_LOSS
            self._ports.clock.call_later(0, lambda: on_result(failure))
            return

        def finish(result: Any) -> None:
            if watch is not None and not isinstance(result, Failure):
                table = self._child_watches if isinstance(operation, Children) else self._node_watches
                table.setdefault(operation.path, []).append(watch)
            on_result(result)

        self._in_flight.append(finish)
        self._send(encode_operation(operation), watch=watch is not None)

    def close(self, on_closed: Callable[[], None]) -> None:
        if self._is_over or not self._connection:
            self._is_over = True
            self._ports.clock.call_later(0, on_closed)
            return
        self._is_over = True
        self._in_flight.append(lambda _: on_closed())
        self._send(b"", close=True)

    # --- connecting -----------------------------------------------------------------------------------------------

    def _connect_later(self, delay_ns: int) -> None:
        self._ports.clock.call_later(delay_ns, self._connect)

    def _connect(self) -> None:
        if self._is_over:
            return
        request = ZookeeperConnectRequest(
            session_id=0 if self._key is None else self._key.id,
            password=b"" if self._key is None else self._key.password,
            timeout_ms=self._timeout_ms,
            last_zxid=self.last_zxid,
        )
        timeout_ns = self._timeout_ms * MS // len(self._servers)
        self._ports.network.send(self.server, request, 0, self._connected, timeout_ns=timeout_ns, channel=self._channel)

    def _connected(self, response: ZookeeperConnectResponse | RpcFailure) -> None:
        if self._is_over:
            return
        if isinstance(response, RpcFailure) or response.error_code != ErrorCode.NONE:
            self._servers.append(self._servers.pop(0))
            self._connect_later(_BACKOFF_NS + self._ports.random.randrange(_BACKOFF_NS))
        elif response.session_id == 0:
            self._is_over = True
            self._on_event(SessionEvent.EXPIRED)
        else:
            self._key = SessionKey(response.session_id, response.password)
            self._timeout_ms = response.timeout_ms
            self._connection, self._requests = response.connection, 0
            self._is_polling = False
            self._on_event(SessionEvent.CONNECTED)
            self._keep_polling()

    def _suspend(self) -> None:
        """The connection has broken: fail what was under way, lose the watches, look for another server."""
        self._connection = 0
        while self._in_flight:
            self._in_flight.popleft()(Failure.CONNECTION_LOSS)
        tables = [*self._node_watches.items(), *self._child_watches.items()]
        self._node_watches, self._child_watches = {}, {}
        if self._is_over:
            return
        for path, watches in tables:
            for watch in watches:
                watch(WatchEvent(WatchKind.LOST, path))
        self._on_event(SessionEvent.SUSPENDED)
        self._servers.append(self._servers.pop(0))
        self._connect_later(self._ports.random.randrange(_BACKOFF_NS))

    # --- connected ------------------------------------------------------------------------------------------------

    def _keep_polling(self) -> None:
        if self._connection and not self._is_polling and not self._is_over:
            self._is_polling = True
            self._in_flight.append(self._polled)
            self._send(b"")
            ping, third_ns = ZookeeperRequest(connection=self._connection, number=PING), self._timeout_ms * MS // 3
            self._ports.network.repeat_while_held_up(Heartbeat(self.server, ping, 0, _ignore, third_ns, 2 * third_ns))

    def _polled(self, _: Any) -> None:
        self._is_polling = False

    def _send(self, operation: bytes, *, watch: bool = False, close: bool = False) -> None:
        self._requests += 1
        connection = self._connection
        request = ZookeeperRequest(
            connection=connection, number=self._requests, operation=operation, watch=watch, close=close
        )
        self._ports.network.send(
            self.server,
            request,
            0,
            lambda response: self._responded(connection, response),
            timeout_ns=self._timeout_ms * MS * 2 // 3,
            channel=self._channel,
        )

    def _responded(self, connection: int, response: ZookeeperResponse | RpcFailure) -> None:
        if connection != self._connection:
            return
        answer = _answer_in(response)
        if answer is None or isinstance(response, RpcFailure):
            self._suspend()
            return
        events, result = answer
        self.last_zxid = max(self.last_zxid, response.zxid)
        for event in events:
            self._fire(event)
        self._in_flight.popleft()(result)
        self._keep_polling()

    def _fire(self, event: WatchEvent) -> None:
        watches: list[OnWatch] = []
        if event.kind is not WatchKind.CHILDREN:
            watches += self._node_watches.pop(event.path, [])
        if event.kind in (WatchKind.CHILDREN, WatchKind.DELETED):
            watches += self._child_watches.pop(event.path, [])
        if not self._is_over:
            for watch in watches:
                watch(event)


def _ignore(_sent_ns: int, _response: Any) -> None:
    """A response to a ping says nothing that the next poll does not show."""


def _answer_in(response: ZookeeperResponse | RpcFailure) -> tuple[list[WatchEvent], Result] | None:
    """Events and result; None where the connection is broken."""
    if isinstance(response, RpcFailure) or response.error_code != ErrorCode.NONE:
        return None
    try:
        return decode_answer(response.events, response.result)
    except ValueError:
        return None
