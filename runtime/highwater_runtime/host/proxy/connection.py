"""A connection of a peer, as the node behind is to see it: the server's half, whose core is the node."""

from __future__ import annotations

import socket
import struct
from typing import Final

from highwater_runtime.host.net.connection import ServerConnection
from highwater_runtime.host.net.listeners import Listener
from highwater_runtime.host.net.pool import ConnectionPool
from highwater_runtime.host.net.requests import HostRequest
from highwater_runtime.host.proxy.link import NodeLink
from highwater_runtime.host.proxy.requests import ProxiedRequest
from highwater_runtime.host.proxy.sources import Sources
from highwater_runtime.host.proxy.upstream import Upstream

_AT_ONCE: Final = struct.pack("ii", 1, 0)
"""``SO_LINGER``: close by RST, and send nothing more."""

_MOST_BEHIND: Final = 64
_MOST_WAITING_BYTES: Final = 1024 * 1024
"""Once so many requests, or answers of so many bytes, are in line with one that is kept from the node, no more are
read."""
_TLS: Final = b"\x16\x03"
"""How a record of a handshake begins; as a frame it would have 369 MB."""


class ProxiedConnection(ServerConnection):
    """From one peer; :attr:`upstream` is its other half.

    The node reads the end of a stream behind all requests in it. So if the peer ends its stream, the connection is
    closed once all that the node has got is answered. A request that a rule holds is not among them: it arrives
    later, and its answer goes nowhere. An answer that a rule holds is lost, and with it what is behind.

    Answers leave in the order of the requests. So one that a rule keeps from the node, for now or for good, has its
    place in the line of answers; there a few more requests may go by it.
    """

    _answers_stay_in_line = True

    def __init__(
        self, server: ConnectionPool, listener: Listener, address: str, peer: str, link: NodeLink, sources: Sources
    ) -> None:
        super().__init__(server, listener, address, peer)
        self.sources = sources
        self.kept_back = 0
        """Requests that rules keep back."""
        self.upstream = Upstream(link, self)
        self._stream_has_ended = False
        self._places = 0
        """Of requests that rules keep from the node, in the line of answers."""
        self._waiting_bytes = 0
        """Of answers that are behind others."""

    # --- requests ---

    def request_of(self, frame: bytes | memoryview) -> ProxiedRequest:
        return ProxiedRequest(self, bytes(frame))

    def keep_back(self, request: HostRequest) -> None:
        self.kept_back += 1
        self._keep_place(request)
        super().keep_back(request)

    def lose(self, request: HostRequest) -> None:
        self._keep_place(request)

    def _keep_place(self, request: HostRequest) -> None:
        assert isinstance(request, ProxiedRequest)
        request.has_place = True
        self.slots.append(request)
        self._places += 1
        self._wait_if_much_goes_by()

    def _queue(self, request: HostRequest) -> None:
        assert isinstance(request, ProxiedRequest)
        if request.has_place:
            self._places -= 1
        else:
            self.slots.append(request)
            self._wait_if_much_goes_by()

    def _wait_if_much_goes_by(self) -> None:
        if self._places and self._must_wait:
            self._pause()

    def let_go(self, request: HostRequest) -> None:
        self.kept_back -= 1
        super().let_go(request)

    def forward(self, request: ProxiedRequest) -> bool:
        return self.upstream.send(request)

    @property
    def _must_wait(self) -> bool:
        return (
            self.upstream.is_full
            or (self._places > 0 and (self._waiting_bytes > _MOST_WAITING_BYTES or len(self.slots) > _MOST_BEHIND))
            or super()._must_wait
        )

    def wait_for_node(self) -> None:
        """The node does not read what it is sent."""
        self._pause()

    # --- answers ---

    def pause_writing(self) -> None:
        super().pause_writing()
        self._regulate()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._regulate()

    def answered(self, request: ProxiedRequest, answer: list[bytes]) -> None:
        request.answer = answer
        if not self.slots:
            return
        if self.slots[0] is request:
            self.send_answers()
            return
        if not request.is_twin:
            request.waiting_bytes = sum(map(len, answer))
            self._waiting_bytes += request.waiting_bytes
            self._wait_if_much_goes_by()
        self._close_behind_stream()

    def _send_first(self, request: HostRequest, answer: list[bytes]) -> None:
        assert isinstance(request, ProxiedRequest)
        self._waiting_bytes -= request.waiting_bytes
        super()._send_first(request, answer)

    def send_answers(self) -> None:
        super().send_answers()
        self._regulate()
        self._close_behind_stream()

    def _regulate(self) -> None:
        """Take no further answers of the node while those that are there cannot leave."""
        if self.held or not self._peer_reads:
            self.upstream.pause()
        else:
            self.upstream.go_on()

    # --- the end ---

    def malformed(self, why: str) -> None:
        if bytes(self._view[self._begin : self._begin + 2]) == _TLS:
            why = "a TLS handshake: rules about messages need connections that can be read, so without TLS"
        super().malformed(why)

    def eof_received(self) -> bool:
        self._stream_has_ended = True
        self._close_behind_stream()
        return True

    def _close_behind_stream(self) -> None:
        done = self.held or self.upstream.is_idle
        if self._stream_has_ended and done and not self.has_whole_frame:
            self.close(None, after_output=True)

    def node_has_closed(self, error: Exception | None) -> None:
        """The other half is over: so is this one, behind what the node has sent; by RST if that one ended so."""
        if error is None:
            self.close(None, after_output=True)
        else:
            self.reset()

    def reset(self) -> None:
        """Close by RST."""
        if self._transport is not None and not self._transport.is_closing():
            reset(self._transport.get_extra_info("socket"))
        self.close(None)

    def _forget(self) -> None:
        was_closed = self.is_closed
        super()._forget()
        if not was_closed:
            self.upstream.peer_has_gone()


def reset(sock: socket.socket) -> None:
    """Let the socket's close be a RST."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _AT_ONCE)
