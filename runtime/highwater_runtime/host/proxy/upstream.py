"""The proxy's connection to its node, one for each connection of a peer: requests in their order, answers in theirs.

Apache Kafka answers the requests of one connection in their order, so an answer belongs to the first request that has
none. A Produce request with acks=0 has none ever. The correlation id is compared all the same: if it differs, it is
not known any more which answer is whose, and both halves are closed with a line in the log.
"""

from __future__ import annotations

import asyncio
from collections import deque
from struct import Struct
from typing import Final, Protocol, cast

from highwater_runtime.host.net.frames import FrameReceiver
from highwater_runtime.host.net.sending import Outbox
from highwater_runtime.host.proxy.link import NodeLink
from highwater_runtime.host.proxy.requests import ProxiedRequest

LARGEST_ANSWER_BYTES: Final = 512 * 1024 * 1024
"""Of one response: far more than ``fetch.max.bytes`` of brokers (55 MiB by default)."""
_MOST_UNREAD_BYTES: Final = 1024 * 1024
"""Above this, what the node leaves unread stops its peer."""
_unpack_i32: Final = Struct(">i").unpack_from
_size_of: Final = Struct(">i").pack
_NOTHING: Final[list[bytes]] = []


class OtherHalf(Protocol):
    """The connection of the peer."""

    kept_back: int
    """Requests of it that rules keep back."""

    @property
    def is_closed(self) -> bool:
        """Whether nothing more can be sent to the peer."""

    def wait_for_node(self) -> None:
        """The node does not read what it is sent."""

    def read_on(self) -> None:
        """Go on to send: the node reads again."""

    def node_has_closed(self, error: Exception | None) -> None:
        """The node has closed the connection, with an error by RST."""


class Upstream(FrameReceiver):
    """``peer``: whose other half it is; None: for requests that outlived both halves of theirs."""

    def __init__(self, link: NodeLink, peer: OtherHalf | None = None) -> None:
        super().__init__()
        self.largest_frame = LARGEST_ANSWER_BYTES
        self.stopped = False
        self.is_full = False
        """Whether the node leaves so much unread that nothing more should be sent."""
        self.is_over = False
        self._link = link
        self._peer = peer
        self._expected: deque[ProxiedRequest] = deque()
        """What was sent and will be answered."""
        self._transport: asyncio.Transport | None = None
        self._outbox = Outbox(link.hosting.turn, self)

    async def open(self) -> None:
        """Connect. Raises ``OSError`` where the node does not listen."""
        sock = await self._link.connect()
        await self._link.hosting.loop.create_connection(lambda: self, sock=sock)

    @property
    def is_idle(self) -> bool:
        """Whether the node owes no answer."""
        return not self._expected

    # --- requests ---

    def send(self, request: ProxiedRequest) -> bool:
        """Pass a request on; False: the node has closed this connection."""
        if self.is_over:
            return False
        self._outbox.put([_size_of(len(request.frame)), request.frame])
        request.frame = b""
        if request.is_answered:
            self._expected.append(request)
        else:
            request.connection.answered(request, _NOTHING)
        return True

    def flush(self) -> None:
        self._outbox.flush()
        if self._peer is None or self._peer.is_closed:
            self._close_if_done()

    def pause_writing(self) -> None:
        self.is_full = True
        if self._peer is not None:
            self._peer.wait_for_node()

    def resume_writing(self) -> None:
        self.is_full = False
        if self._peer is not None:
            self._peer.read_on()

    # --- answers ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport = cast(asyncio.Transport, transport)
        transport.set_write_buffer_limits(high=_MOST_UNREAD_BYTES)
        self._outbox.attach(transport)
        if self._peer is not None and self._peer.is_closed:
            self._close_if_done()

    def buffer_updated(self, nbytes: int) -> None:
        self._link.hosting.run_turn(self.take_in, nbytes)

    def frame_received(self, frame: bytes | memoryview) -> None:
        request = self._expected.popleft() if self._expected else None
        if request is None or len(frame) < 4 or _unpack_i32(frame, 0)[0] != request.correlation_id:
            asked = "nothing" if request is None else f"request {request.correlation_id} of {request.body.NAME}"
            self.malformed(f"the node has sent {len(frame)} bytes that are no answer to {asked}")
            return
        # Copied: a view is of the buffer that the next answer is written to.
        request.connection.answered(request, [_size_of(len(frame)), bytes(frame)])
        if self._peer is None or self._peer.is_closed:
            self._close_if_done()

    def malformed(self, why: str) -> None:
        self._link.log.warning("connection to the node closed", why=why)
        if self._transport is not None:
            self._transport.abort()

    def pause(self) -> None:
        """Take no answers for now: they wait in the node."""
        if not self.stopped and self._transport is not None and not self.is_over:
            self.stopped = True
            self._transport.pause_reading()

    def go_on(self) -> None:
        """Take answers again; idempotent."""
        if self.stopped and not self.is_over:
            self.stopped = False
            self._link.hosting.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        if not self.stopped and not self.is_over:
            self._link.hosting.run_turn(self.take_in, 0)
        if not self.stopped and not self.is_over and self._transport is not None:
            self._transport.resume_reading()

    # --- the end ---

    def eof_received(self) -> bool:
        return False

    def connection_lost(self, exc: Exception | None) -> None:
        """The node has closed."""
        self.is_over = self.stopped = True
        self._expected.clear()
        self.release_buffer()
        if self._peer is not None:
            self._peer.node_has_closed(exc)

    def peer_has_gone(self) -> None:
        """Nobody hears the answers any more. What rules keep back of the peer is still to be sent."""
        self.go_on()
        self._close_if_done()

    def _close_if_done(self) -> None:
        kept_back = 0 if self._peer is None else self._peer.kept_back
        if not self._expected and not kept_back and self._transport is not None and not self._outbox.gathered_bytes:
            self._transport.close()
