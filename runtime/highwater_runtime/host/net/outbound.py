"""The network port on real sockets: outbound connections, one for each (endpoint, channel), opened when first needed.

Requests of a connection leave in order, and are answered in order by every Kafka server; answers are matched by
correlation id all the same, since an interference rule of the harness may hold one request back. A request that gets
no answer in time closes its connection, and everything in flight on it fails: what was late with ``TIMED_OUT``, the
rest with ``DISCONNECTED``, each in an event of its own, as in the simulator.

A network that ``negotiates`` is that of a client of any software: each connection asks the server first which versions
it supports (:mod:`.negotiation`), and requests wait for the answer.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from ssl import SSLError
from struct import Struct
from typing import Any, Final, Protocol, cast

from highwater_runtime.host.hosting import Hosting
from highwater_runtime.host.net.frames import FrameReceiver
from highwater_runtime.host.net.listeners import OutboundSecurity
from highwater_runtime.host.net.negotiation import ASK, ASK_VERSION, ServerVersions, as_asked, as_of
from highwater_runtime.host.net.peer_addresses import PeerAddresses
from highwater_runtime.host.net.reachability import Reachability, why_not
from highwater_runtime.host.net.sending import Outbox
from highwater_runtime.ports import ApiMessage, Endpoint, Heartbeat, ResponseHandler, RpcFailure
from highwater_runtime.wire.codec import WireError
from highwater_runtime.wire.framing import MAX_FRAME_BYTES, decode_response, encode_request

_FOREVER: Final = 1 << 62
_HEARD_ADDRESS_S: Final = 1.0
"""How long the address that a peer was heard from may take to accept a connection."""
_unpack_id: Final = Struct(">i").unpack_from


class RepeatsHeartbeats(Protocol):
    """What repeats heartbeats while the loop is held up: :class:`.heartbeat_thread.HeartbeatThread`."""

    def remember(self, heartbeat: Heartbeat) -> None:
        """Take note of a heartbeat that is sent now."""

    def close(self) -> None: ...


class _Call:
    """A request without response."""

    __slots__ = ("api_key", "correlation_id", "deadline", "on_response", "version")

    def __init__(
        self, correlation_id: int, api_key: int, version: int, deadline: int, on_response: ResponseHandler
    ) -> None:
        self.correlation_id = correlation_id
        self.api_key = api_key
        self.version = version
        self.deadline = deadline
        self.on_response = on_response


class OutboundConnection(FrameReceiver):
    """From this node to ``endpoint``, for one channel."""

    largest_frame = MAX_FRAME_BYTES

    def __init__(self, network: HostNetwork, endpoint: Endpoint, channel: str) -> None:
        super().__init__()
        self.stopped = False
        self._network = network
        self._node = network.node
        self._key = (endpoint, channel)
        self._security = network.security(endpoint)
        self._transport: asyncio.Transport | None = None
        self._ready = False
        """Connected, and authenticated and negotiated where that is asked for."""
        self._versions: ServerVersions | None = None
        self._closed = False
        self._outbox = Outbox(self._node.turn, self)
        self._waiting: list[list[bytes]] = []
        """Encoded requests that wait for the connection to be ready."""
        self._unversioned: list[tuple[_Call, Any]] = []
        """Requests that wait for the server's versions."""
        self._calls: deque[_Call] = deque()
        self._next_id = 0
        self._check_at = _FOREVER
        self._deadline_timer: Any = None
        self._connecting: asyncio.Task[None] | None = None
        self._address: str | None = None
        """Where the peer was heard from, if that is connected to; else its name is."""

    # --- requests ---

    def send(self, request: Any, version: int, on_response: ResponseHandler, deadline: int) -> None:
        """See :class:`highwater_runtime.ports.Network`; ``deadline`` is the node's time."""
        if self._network.negotiates and not self._ready:
            self._unversioned.append((self._call(request, version, on_response, deadline), request))
            return
        parts = self._encode(request, version, on_response, deadline)
        if self._ready:
            self._outbox.put(parts)
        else:
            self._waiting.append(parts)

    def _encode(self, request: Any, version: int, on_response: ResponseHandler, deadline: int) -> list[bytes]:
        call = self._call(request, version, on_response, deadline)
        return self._encoded(call, request)

    def _call(self, request: Any, version: int, on_response: ResponseHandler, deadline: int) -> _Call:
        self._next_id = correlation_id = (self._next_id + 1) & 0x7FFFFFFF
        call = _Call(correlation_id, request.API_KEY, version, deadline, on_response)
        self._calls.append(call)
        if deadline < self._check_at:
            self._watch(deadline)
        return call

    def _encoded(self, call: _Call, request: Any) -> list[bytes]:
        """The frame of a request; empty if the server supports no version of it, which is what the caller hears."""
        if self._versions is not None:
            version = self._versions.version_of(call.api_key, call.version)
            if version is None:
                self._calls.remove(call)
                node = self._node
                node.log.warning("not supported by the server", server=self._key[0], request=request.NAME)
                node.loop.call_soon(_report, node, call.on_response, RpcFailure.UNSUPPORTED)
                return []
            call.version, request = version, as_of(request, version)
        return encode_request(request, call.version, call.correlation_id, self._node.name)

    def _watch(self, deadline: int) -> None:
        clock = self._node.clock
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
        self._check_at = deadline
        self._deadline_timer = clock.call_later(max(0, deadline - clock.now_ns()), self._check_deadlines)

    def _check_deadlines(self) -> None:
        """Event: the earliest deadline may have come. Most of the time that request has long been answered."""
        self._deadline_timer = None
        self._check_at = _FOREVER
        now = self._node.clock.now_ns()
        earliest = min((call.deadline for call in self._calls), default=_FOREVER)
        if earliest <= now:
            if self._connecting is not None:
                self._unreachable("timed out")
            elif not self._ready:
                self._network.refused(self._key[0], "accepts connections, but does not answer")
            self.fail("a request timed out")
        elif earliest < _FOREVER:
            self._watch(earliest)

    # --- life ---

    def open(self) -> None:
        self._connecting = self._node.loop.create_task(self._connect())

    async def _connect(self) -> None:
        (host, port), security = self._key[0], self._security
        hostname = None
        if security.ssl_context is not None:
            find = security.server_hostname
            hostname = host if find is None else find(self._key[0])
        try:
            sock = await self._connect_to_heard_address(port)
            if sock is None:
                await self._node.loop.create_connection(
                    lambda: self, host, port, ssl=security.ssl_context, server_hostname=hostname
                )
            else:
                await self._node.loop.create_connection(
                    lambda: self, sock=sock, ssl=security.ssl_context, server_hostname=hostname
                )
        except (OSError, asyncio.CancelledError) as error:
            why = f"cannot connect: {error}"
            if not self._closed:
                if isinstance(error, SSLError):
                    self._node.log.warning("TLS handshake failed", server=self._key[0], why=str(error))
                    self._network.refused(self._key[0], f"TLS handshake failed: {_tls_reason(error)}")
                elif isinstance(error, OSError):
                    self._unreachable(why_not(error) or "the connection ended during the TLS handshake")
                self._node.run(lambda: self.fail(why))

    async def _connect_to_heard_address(self, port: int) -> socket.socket | None:
        """A connected socket; None: go by the peer's name."""
        address = self._network.addresses.instead_of_name(self._key[0])
        if address is None:
            return None
        sock = socket.socket(socket.AF_INET6 if ":" in address else socket.AF_INET, socket.SOCK_STREAM)
        sock.setblocking(False)
        try:
            async with asyncio.timeout(_HEARD_ADDRESS_S):
                await self._node.loop.sock_connect(sock, (address, port))
        except (OSError, TimeoutError):
            sock.close()
            self._network.addresses.failed(self._key[0], address)
            return None
        except asyncio.CancelledError:
            sock.close()
            raise
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._address = address
        return sock

    def leads_elsewhere(self) -> None:
        """Another node than the one that was meant answers: the name, or the address, leads to it."""
        why = "another node answers there"
        self._unreachable(why)
        self.fail(why)

    def _unreachable(self, why: str) -> None:
        self._network.reachability.failed(self._key[0], why)
        self._network.refused(self._key[0], why)
        self._network.addresses.failed(self._key[0], self._address)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The transport is there, and TLS is up where it is used."""
        # uvloop's transports are of no asyncio class.
        self._transport = transport = cast(asyncio.Transport, transport)
        self._connecting = None
        if self._closed:
            transport.abort()
            return
        self._network.reachability.reached(self._key[0])
        self._network.addresses.reached(self._key[0], self._address)
        self._outbox.attach(transport)
        if self._network.negotiates:
            self._node.run(lambda: self._exchange(ASK, ASK_VERSION, self._negotiated))
        else:
            self._authenticate()

    def _exchange(self, request: ApiMessage, version: int, on_response: ResponseHandler) -> None:
        """Send a request of the authenticator's, ahead of those that wait for it."""
        deadline = self._node.clock.now_ns() + self._network.authentication_timeout_ns
        parts = self._encode(request, version, on_response, deadline)
        if parts:
            self._calls.appendleft(self._calls.pop())
            self._outbox.put(parts)

    def _authenticate(self) -> None:
        """Prove who this node is, in versions that the server has. Servers tell these to everybody."""
        authenticator = self._security.authenticator
        if authenticator is None:
            self._become_ready()
        else:
            self._node.run(lambda: authenticator(self._key[0]).start(self._exchange, self._authenticated))

    def _authenticated(self, failure: str | None) -> None:
        if failure is None:
            self._become_ready()
        else:
            self._node.log.warning("authentication refused", server=self._key[0], why=failure)
            self._network.refused(self._key[0], f"authentication failed: {failure}")
            self.fail(f"authentication failed: {failure}")

    def _negotiated(self, response: Any) -> None:
        if isinstance(response, RpcFailure):
            return  # the connection has failed
        self._versions = ServerVersions.of(response)
        if self._versions is None:
            self._node.log.warning("the server does not say which versions it supports", server=self._key[0])
            self._network.refused(self._key[0], f"ApiVersions was answered by error {response.error_code}")
            self.fail(f"ApiVersions was answered by error {response.error_code}")
        else:
            self._authenticate()

    def _become_ready(self) -> None:
        self._ready = True
        unversioned, self._unversioned = self._unversioned, []
        for call, request in unversioned:
            self._outbox.put(self._encoded(call, request))
        waiting, self._waiting = self._waiting, []
        for parts in waiting:
            self._outbox.put(parts)

    def flush(self) -> None:
        before = self._outbox.sent_bytes
        self._outbox.flush()
        self._network.sent_bytes += self._outbox.sent_bytes - before

    def fail(self, why: str) -> None:
        """Close; everything in flight fails in an event of its own, those past their deadline with TIMED_OUT."""
        if self._closed:
            return
        self.close()
        node = self._node
        now = node.clock.now_ns()
        calls, self._calls = self._calls, deque()
        node.log.debug("connection failed", server=self._key[0], channel=self._key[1], why=why, in_flight=len(calls))
        for call in calls:
            failure = RpcFailure.TIMED_OUT if call.deadline <= now else RpcFailure.DISCONNECTED
            node.loop.call_soon(_report, node, call.on_response, failure)

    def close(self) -> None:
        """The end is gone: no answer is heard any more. Idempotent."""
        self._closed = self.stopped = True
        self._network.forget(self._key, self)
        if self._deadline_timer is not None:
            self._deadline_timer.cancel()
            self._deadline_timer = None
        if self._transport is not None:
            self._transport.abort()
        elif self._connecting is not None:
            self._connecting.cancel()
        self._waiting.clear()
        self._unversioned.clear()
        self.release_buffer()

    # --- from the transport ---

    def buffer_updated(self, nbytes: int) -> None:
        self._network.received_bytes += nbytes
        self._node.run_turn(self.take_in, nbytes)

    def eof_received(self) -> bool:
        """The server has closed its end: nothing more will be answered."""
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """Take note that the connection has ended."""
        if not self._closed:
            why = "closed by the server" if exc is None else str(exc)
            if not self._ready:
                self._network.refused(self._key[0], f"ends connections before it answers ({why}): another protocol?")
            self._node.run(lambda: self.fail(why))

    def pause_writing(self) -> None:
        """The server reads slowly: nothing to do, the time-outs of requests bound what is kept."""

    def resume_writing(self) -> None:
        """Go on to send: the server reads again."""

    # --- frames ---

    def frame_received(self, frame: bytes | memoryview) -> None:
        calls = self._calls
        if len(frame) < 4:
            self.malformed(f"a response of {len(frame)} bytes")
            return
        (correlation_id,) = _unpack_id(frame)
        call = calls[0] if calls and calls[0].correlation_id == correlation_id else self._find(correlation_id)
        if call is None:
            self.malformed("a response that nobody waits for")
            return
        try:
            _, response = decode_response(frame, call.api_key, call.version)
        except WireError as error:
            self.malformed(str(error))
            return
        if self._versions is not None:
            response = as_asked(response, call.version)
        if calls[0] is call:
            calls.popleft()
        else:
            calls.remove(call)
        self._node.handle(call.on_response, response)

    def _find(self, correlation_id: int) -> _Call | None:
        return next((call for call in self._calls if call.correlation_id == correlation_id), None)

    def malformed(self, why: str) -> None:
        """What came is no response."""
        self._node.log.warning("malformed response", server=self._key[0], channel=self._key[1], why=why)
        self._network.refused(self._key[0], f"its response is none of Kafka's protocol: {why}")
        self.fail(why)


def _nobody_asks(_server: Endpoint, _why: str) -> None:
    pass


def _tls_reason(error: SSLError) -> str:
    return getattr(error, "verify_message", "") or error.reason or str(error)


def _report(node: Hosting, handler: Callable[[Any], None], failure: RpcFailure) -> None:
    node.run(lambda: handler(failure))


class HostNetwork:
    """The :class:`highwater_runtime.ports.Network` of one node."""

    def __init__(
        self, node: Hosting, security: Callable[[Endpoint], OutboundSecurity], *, negotiates: bool = False
    ) -> None:
        self.node = node
        self.negotiates: Final = negotiates
        """Whether servers may be of any release, so that each is asked for its versions."""
        self.security = security
        """How to meet the server at an endpoint."""
        self.reachability = Reachability(node.log, node.loop.time)
        self.addresses = PeerAddresses(node.log)
        self.authentication_timeout_ns = 10_000_000_000
        self.refused: Callable[[Endpoint, str], None] = _nobody_asks
        """Called with why a server could not be talked to: unreachable, TLS, authentication, another protocol."""
        self.heartbeats: RepeatsHeartbeats | None = None
        """Repeats heartbeats while the loop is held up; None if nobody does."""
        self.received_bytes = 0
        self.sent_bytes = 0
        self._connections: dict[tuple[Endpoint, str], OutboundConnection] = {}
        self._closed = False

    def send(
        self,
        to: Endpoint,
        request: ApiMessage,
        version: int,
        on_response: ResponseHandler,
        *,
        timeout_ns: int,
        channel: str = "",
    ) -> None:
        if self._closed:
            return
        connection = self._connections.get((to, channel))
        if connection is None:
            connection = self._connections[to, channel] = OutboundConnection(self, to, channel)
            connection.open()
        connection.send(request, version, on_response, self.node.clock.now_ns() + timeout_ns)

    def repeat_while_held_up(self, heartbeat: Heartbeat) -> None:
        if self.heartbeats is not None and not self._closed:
            self.heartbeats.remember(heartbeat)

    def stop_repeating(self) -> None:
        if self.heartbeats is not None:
            self.heartbeats.close()

    def disconnect(self, to: Endpoint) -> None:
        for (endpoint, _), connection in list(self._connections.items()):
            if endpoint == to:
                connection.leads_elsewhere()

    def forget(self, key: tuple[Endpoint, str], connection: OutboundConnection) -> None:
        """``connection`` is closed: the next request opens another."""
        if self._connections.get(key) is connection:
            del self._connections[key]

    def close(self) -> None:
        """Drop every connection without a word to the core."""
        self._closed = True
        for connection in list(self._connections.values()):
            connection.close()
