"""One connection of a client: requests in, answers out in the order of the requests, and back-pressure.

Reading stops (``pause_reading``; TCP then slows the peer down) while any of these holds: too many of its requests are
unanswered; the server as a whole holds too many bytes of unanswered and unfinished requests, and this connection more
than its share; its peer does not read what it is sent; its time in this pass of the event loop is over
(:mod:`.fairness`). What is in the buffer by then waits there.

A peer that sends what is no request, asks for an unknown API or fails to authenticate loses its connection, and gets
one line in the log.
"""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from time import monotonic, perf_counter_ns
from typing import Final, cast

from highwater_runtime.host.files.file_range import PosixFileRange
from highwater_runtime.host.net.file_sending import FileOutbox
from highwater_runtime.host.net.frames import FrameReceiver
from highwater_runtime.host.net.listeners import (
    ANONYMOUS,
    AuthenticationError,
    Authorize,
    Listener,
    ServerAuthenticator,
)
from highwater_runtime.host.net.pool import ConnectionPool
from highwater_runtime.host.net.requests import HostRequest
from highwater_runtime.wire.api_keys import ApiKey
from highwater_runtime.wire.codec import WireError
from highwater_runtime.wire.framing import decode_request
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.request_header import RequestHeader
from highwater_runtime.wire.messages.vote_request import VoteRequest

_NOTHING: Final[list[bytes]] = []
_LOOPBACK: Final = ("127.", "::1")
MOST_BYTES_BUT_OF_DATA: Final = 16 * 1024 * 1024
"""A request that is made of names and numbers takes long to read and to answer, in one turn: about 0.1 s a MB."""
_DATA: Final = frozenset(
    {int(key) for key in (ApiKey.PRODUCE, ApiKey.LEADER_AND_ISR, ApiKey.STOP_REPLICA, ApiKey.UPDATE_METADATA)}
)
"""What brings records, or a controller's state of all partitions."""
_SASL: Final = frozenset({int(ApiKey.SASL_HANDSHAKE), int(ApiKey.SASL_AUTHENTICATE)})


class ServerConnection(FrameReceiver):
    """From one client, by one listener."""

    _answers_stay_in_line = False
    """Whether nothing behind an answer that is lost may leave."""

    def __init__(self, server: ConnectionPool, listener: Listener, address: str = "?", peer: str = "?") -> None:
        super().__init__()
        self._own_buffer_bytes = 0
        self.largest_frame = server.limits.max_frame_bytes
        self.stopped = False
        self.listener = listener
        self._authorize = listener.security.authorize
        self.principal = ANONYMOUS
        self.authenticator: ServerAuthenticator | None = None
        self.peer = peer
        self.address = address
        self.slots: deque[HostRequest] = deque()
        """Requests without sent answer, in the order in which the answers must leave."""
        self.held = False
        """A rule holds the answer at the head, and with it all behind it."""
        self.queued_bytes = 0
        self.unfinished_bytes = 0
        self.last_active = monotonic()
        self._server = server
        self._node = server.node
        self._limits = server.limits
        self._most_requests = server.limits.max_queued_requests
        self._most_unread = server.limits.write_buffer_bytes
        most = server.limits.max_queued_bytes
        self._most_bytes = most if most >= 0 else 1 << 62
        self._transport: asyncio.Transport | None = None
        self._expiry: asyncio.TimerHandle | None = None
        """Of a client that must authenticate and has not yet: when it must have."""
        self._outbox = FileOutbox(self._node.loop, self._node.turn, self)
        self._closed = False
        self._reading = True
        self._peer_reads = True
        self._in_line = False
        self._closes_after_output = False

    # --- from the transport ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """A client is there (TLS is up where it is used)."""
        # uvloop's transports are of no asyncio class.
        self._transport = transport = cast(asyncio.Transport, transport)
        if self._closed:
            transport.abort()
            return
        self._outbox.attach(transport)
        transport.set_write_buffer_limits(high=self._limits.write_buffer_bytes)
        security = self.listener.security
        if security.principal_of_peer is not None:
            self.principal = security.principal_of_peer(transport.get_extra_info("ssl_object"))
        if security.authenticator is not None:
            self.authenticator = security.authenticator()
            self.largest_frame = min(self.largest_frame, security.largest_frame_before_authentication)
            self._expiry = self._node.loop.call_later(
                security.authentication_timeout_s,
                self.close,
                f"not authenticated within {security.authentication_timeout_s:g} s",
            )

    def buffer_updated(self, nbytes: int) -> None:
        self._server.received_bytes += nbytes
        self.last_active = monotonic()
        line = self._server.line
        line.begin()
        self._node.run_turn(self._take_in, nbytes)
        line.end()

    def eof_received(self) -> bool:
        """The client will send no more: it has closed, or died. As in Kafka, what it still waits for is dropped.

        What is on its way to it is not: the transport keeps what it has, and a queue of files ends first.
        """
        if not self._outbox.has_queue:
            self._forget()
            return False
        self.slots.clear()
        self.close(None, after_output=True)
        return True

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002
        """Take note that the connection has ended. Later answers of the core are dropped."""
        self._forget()

    def pause_writing(self) -> None:
        """The client does not read what it is sent."""
        self._peer_reads = False
        self._pause()

    def resume_writing(self) -> None:
        """Go on to send: the client reads again."""
        self._peer_reads = True
        self.last_active = monotonic()
        self.read_on()

    # --- back-pressure ---

    @property
    def _must_wait(self) -> bool:
        return (
            not self._peer_reads
            or self._outbox.has_queue
            or self._outbox.gathered_bytes > self._most_unread
            or len(self.slots) >= self._most_requests
            or self._server.is_over_its_share(self)
        )

    def _pause(self) -> None:
        if self._reading and not self._closed and self._transport is not None:
            self._reading = False
            self.stopped = True
            self._transport.pause_reading()

    def read_on(self) -> None:
        """Go on with what waits in the buffer, then with the socket, unless there is still reason to wait."""
        if not self._reading and not self._closed and not self._in_line and not self._must_wait:
            self._in_line = True
            self._server.line.join(self)

    def go_on(self) -> None:
        self._in_line = False
        if self._reading or self._closed or self._must_wait:
            return
        self._reading = True
        self.stopped = False
        self._node.run_turn(self._take_in, 0)
        if self._reading and not self._closed and self._transport is not None:
            self._transport.resume_reading()

    @property
    def is_reading(self) -> bool:
        """Whether bytes of the peer are taken."""
        return self._reading

    def _take_in(self, nbytes: int) -> None:
        self._wait_if_too_much_is_kept_back()
        self.take_in(nbytes)
        unfinished = self.unfinished_capacity
        if unfinished != self.unfinished_bytes and not self._closed:
            self._unfinished_is(unfinished)

    def _unfinished_is(self, nbytes: int) -> None:
        server = self._server
        more = nbytes - self.unfinished_bytes
        self.unfinished_bytes = nbytes
        self.queued_bytes += more
        server.queued_bytes += more
        if nbytes == 0:
            server.finished(self)
        if more < 0:
            server.released()
        elif server.queued_bytes > self._most_bytes and self._must_wait:
            self._pause()

    def may_grow(self, nbytes: int) -> bool:
        return self._server.may_keep(nbytes)

    def buffer_resized(self, nbytes: int) -> None:
        self._own_buffer_bytes += nbytes
        self._server.buffer_bytes += nbytes

    def _wait_for_turn(self) -> None:
        """Leave the rest of the buffer for later: the others get their turns first."""
        if not self.stopped and self.has_whole_frame and not self._in_line:
            self._pause()
            self._in_line = True
            self._server.line.join(self)

    # --- requests ---

    def frame_received(self, frame: bytes | memoryview) -> None:
        """A request, or what claims to be one."""
        if self.unfinished_bytes:
            self._unfinished_is(0)
        request = self.request_of(frame)
        if request is None:
            return
        self._request_received(request)
        if perf_counter_ns() >= self._server.line.until_ns:
            self._wait_for_turn()

    def request_of(self, frame: bytes | memoryview) -> HostRequest | None:
        """The request in a frame; None: there is none, and the connection is closed."""
        if len(frame) > MOST_BYTES_BUT_OF_DATA and int.from_bytes(frame[:2]) not in _DATA:
            self.malformed(f"a request of {len(frame)} bytes; at most {MOST_BYTES_BUT_OF_DATA}, unless it brings data")
            return None
        try:
            _, version, correlation_id, client_id, body = decode_request(frame)
        except WireError as error:
            request = self._from_the_future(frame)
            if request is None:
                self.malformed(str(error))
            return request
        return HostRequest(self, body, version, correlation_id, client_id or "", len(frame))

    def _request_received(self, request: HostRequest) -> None:
        server = self._server
        if self.authenticator is not None and self._is_for_authenticator(request):
            return
        if self._authorize is not None and self._is_refused(request, self._authorize):
            return
        if server.rules and server.interference.catch_request(request):
            return
        if request.body.API_KEY == ApiKey.API_VERSIONS and server.on_introduction is not None:
            server.on_introduction(self, request.body)
        self.hand_over(request)

    def keep_back(self, request: HostRequest) -> None:
        self._server.keep_back(request)
        self._wait_if_too_much_is_kept_back()

    def _wait_if_too_much_is_kept_back(self) -> None:
        if self._server.keeps_back_too_much and self._must_wait:
            self._pause()

    def let_go(self, request: HostRequest) -> None:
        self._server.let_go(request)

    def lose(self, request: HostRequest) -> None:
        """Its sender's time-out follows."""

    def _queue(self, request: HostRequest) -> None:
        self.slots.append(request)

    def hand_over(self, request: HostRequest) -> None:
        """Let the core see a request, its answer's place at the end of the line."""
        self._queue(request)
        size = request.size
        self.queued_bytes += size
        server = self._server
        server.queued_bytes += size
        started = perf_counter_ns()
        self._node.take(request)
        spent_ns = perf_counter_ns() - started
        counted = server.requests.get(request.body.NAME)
        if counted is None:
            server.requests[request.body.NAME] = [1, spent_ns]
        else:
            counted[0] += 1
            counted[1] += spent_ns
        if (
            len(self.slots) >= self._most_requests
            or self._outbox.gathered_bytes > self._most_unread
            or server.queued_bytes > self._most_bytes
        ) and self._must_wait:
            self._pause()

    def _is_for_authenticator(self, request: HostRequest) -> bool:
        """Whether the authenticator took care of the request; True as well if that closed the connection."""
        authenticator = self.authenticator
        assert authenticator is not None
        if authenticator.principal is not None and request.body.API_KEY not in _SASL:
            return False
        self.slots.append(request)
        request.size = 0
        try:
            if authenticator.on_request(request):
                if authenticator.principal is not None:
                    self._is_known(authenticator.principal)
                return True
        except AuthenticationError as error:
            self.close(str(error), after_output=True)
            return True
        self.slots.pop()
        return False

    def _is_refused(self, request: HostRequest, authorize: Authorize) -> bool:
        response = authorize(self.principal, request.body, request.version)
        if response is None:
            return False
        name = request.body.NAME
        self._server.log.warning("request refused", peer=self.peer, principal=self.principal[:200], request=name)
        self.slots.append(request)
        request.size = 0
        request.reply(response)
        return True

    def _is_known(self, principal: str) -> None:
        self.principal = principal
        self.largest_frame = self._limits.max_frame_bytes
        self._cancel_expiry()

    def _cancel_expiry(self) -> None:
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None

    def _from_the_future(self, frame: bytes | memoryview) -> HostRequest | None:
        """An ApiVersions request of a version that we do not know: the core will say so, in a form all can read.

        Of its header only what no version may change is read.
        """
        try:
            header, _ = RequestHeader.decode_from(frame, 0, 1)
        except WireError:
            return None
        version = header.request_api_version
        if header.request_api_key != ApiKey.API_VERSIONS or version <= ApiVersionsRequest.MAX_VERSION:
            return None
        return HostRequest(
            self, ApiVersionsRequest(), version, header.correlation_id, header.client_id or "", len(frame)
        )

    # --- answers ---

    def send_answers(self) -> None:
        """Put the answers that are ready, up to the first that is not, into the outbox."""
        slots = self.slots
        while slots and not self.held:
            request = slots[0]
            answer = request.answer
            if answer is None:
                break
            if self._server.rules and answer:
                match self._server.interference.catch_response(request):
                    case "wait":
                        self.held = True
                        break
                    case "drop" if self._answers_stay_in_line:
                        self.held = True  # for good
                        break
                    case "drop":
                        answer = _NOTHING
            self._send_first(request, answer)
        if not self._reading:
            self.read_on()

    def send_held_answer(self) -> None:
        """The rule that held the first answer lets it go."""
        self.held = False
        if self.slots:
            request = self.slots[0]
            assert request.answer is not None, "only answers are held"
            self._send_first(request, request.answer)
            self.send_answers()

    def _send_first(self, request: HostRequest, answer: list[bytes]) -> None:
        self.slots.popleft()
        server = self._server
        self.queued_bytes -= request.size
        server.queued_bytes -= request.size
        if answer and not self._closed:
            self._outbox.put(answer)
        if server.over_share:
            server.released()

    def cannot_answer(self, request: HostRequest, error: WireError) -> None:
        """The core's answer cannot be written in the version that the client asked for: a bug, of one answer."""
        self._node.log.error("cannot encode an answer", exception=error, peer=self.peer, request=request.body.NAME)
        self.close(None)

    def flush(self) -> None:
        before = self._outbox.sent_bytes
        self._outbox.flush()
        self._server.sent_bytes += self._outbox.sent_bytes - before
        if self._outbox.has_queue:
            self._pause()
        self._go_on_after_output()

    def _go_on_after_output(self) -> None:
        if not self._reading:
            self.read_on()
        if self._closes_after_output:
            self.close(None, after_output=True)

    # --- of the queue of files ---

    def sent_some(self) -> None:
        self.last_active = monotonic()

    def queue_is_empty(self) -> None:
        self.last_active = monotonic()
        self._go_on_after_output()

    def cannot_send(self) -> None:
        self.close(None)

    def file_failed(self, part: PosixFileRange, error: OSError) -> None:
        self.close(None)
        if part.on_failure is not None:
            self._node.run(partial(part.on_failure, error))

    # --- the end ---

    def malformed(self, why: str) -> None:
        """Bytes that are no request of ours: the connection is worth nothing any more."""
        self.close(f"malformed request: {why}")

    def close(self, why: str | None, *, after_output: bool = False) -> None:
        """Close the connection, where asked for behind the output of this turn; with a reason, say so in the log.

        Idempotent.
        """
        if self._closed:
            return
        if why is not None:
            self._server.refused += 1
            self._server.log.warning("connection closed", peer=self.peer, listener=self.listener.name, why=why[:500])
        self.stopped = True
        if after_output and (self._outbox.gathered_bytes or self._outbox.has_queue):
            self._closes_after_output = True
            return
        self._forget()
        if self._transport is not None:
            if after_output:
                self._transport.close()
            else:
                self._transport.abort()

    def _forget(self) -> None:
        self._cancel_expiry()
        if not self._closed:
            self._closed = self.stopped = True
            self._server.connection_closed(self)
            self._server.buffer_bytes -= self._own_buffer_bytes
            self.queued_bytes = self.unfinished_bytes = self._own_buffer_bytes = 0
            self.slots.clear()
            self._outbox.abandon()
            self.release_buffer()

    @property
    def may_be_node(self) -> bool:
        """Whether the client may send what only nodes may: so it is one, where clients prove who they are."""
        authorize = self._authorize
        return authorize is None or authorize(self.principal, VoteRequest(), VoteRequest.MAX_VERSION) is None

    @property
    def is_disguised(self) -> bool:
        """Whether the client's address is no place to reach it at: a proxy on this machine speaks for it."""
        own = self._server.bound.get(self.listener.name)
        return self.address.startswith(_LOOPBACK) and (own is None or not own.host.startswith(_LOOPBACK))

    @property
    def is_closed(self) -> bool:
        """Whether nothing more can be sent."""
        return self._closed

    def is_idle(self, since: float) -> bool:
        """Whether nothing has happened since ``since``: no bytes, and no request that waits for the core."""
        return self.last_active < since and (not self.slots or not self._peer_reads or self._outbox.has_queue)
