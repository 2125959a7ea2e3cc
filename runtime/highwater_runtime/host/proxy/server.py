"""The proxy of one node: listens while its node listens, and hands requests to it."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

from highwater_runtime.host.clock import HostClock
from highwater_runtime.host.files.trace import NoTrace
from highwater_runtime.host.limits import ServerLimits
from highwater_runtime.host.logs import NodeLog
from highwater_runtime.host.net.connection import ServerConnection
from highwater_runtime.host.net.listeners import Listener
from highwater_runtime.host.net.server import Server
from highwater_runtime.host.proxy.connection import ProxiedConnection, reset
from highwater_runtime.host.proxy.link import NodeLink
from highwater_runtime.host.proxy.requests import ProxiedRequest
from highwater_runtime.host.proxy.sources import Sources
from highwater_runtime.host.proxy.upstream import Upstream
from highwater_runtime.host.turn import Turn
from highwater_runtime.ports import Endpoint, InboundRequest, NodeCore
from highwater_runtime.wire.framing import MAX_FRAME_BYTES

T = TypeVar("T")

_LOOK_EVERY_S: Final = 0.02
_IP_TRANSPARENT: Final = 19
_IPV6_TRANSPARENT: Final = 75
_MOST_QUEUED_BYTES: Final = 128 * 1024 * 1024


class ProxyNode:
    """See :class:`highwater_runtime.host.hosting.Hosting`; its core is another process.

    Args:
        name: the node's, which rules name as the destination.
        listen: where peers come.
        target: where the node listens.
        mark: of packets to the node (``SO_MARK``), which are not to be redirected; 0: none are.
        largest_request: bytes of one request; the node closes a connection with a larger one, too.
    """

    core: NodeCore | None = None
    longest_turn_ns = 0

    def __init__(
        self,
        name: str,
        listen: Endpoint,
        target: Endpoint,
        *,
        sources: Sources | None = None,
        mark: int = 0,
        largest_request: int = MAX_FRAME_BYTES,
    ) -> None:
        self.name = name
        self.loop = asyncio.get_running_loop()
        self.log = NodeLog(name)
        self.clock = HostClock(self.loop, self.run)
        self.turn = Turn(self.loop, NoTrace(), self._failed)
        self.failed: asyncio.Future[BaseException] = self.loop.create_future()
        """Done when the proxy itself is at fault: nothing that it does can be trusted any more."""
        limits = ServerLimits(max_frame_bytes=largest_request, max_queued_bytes=_MOST_QUEUED_BYTES, max_idle_ms=-1)
        link = NodeLink(self, target, mark)
        self.server = ProxyServer(self, Listener("PROXY", listen), limits, link, sources or Sources())

    def run(self, event: Callable[[], object]) -> None:
        self.run_turn(_call, event)

    def run_turn(self, deliver: Callable[[T], None], argument: T) -> None:
        if self.failed.done():
            return
        was_open, self.turn.is_open = self.turn.is_open, True
        try:
            deliver(argument)
        except Exception as error:
            self._failed(error)
            return
        if not was_open:
            self.turn.end()

    def take(self, request: InboundRequest) -> None:
        """Pass a request on to the node."""
        assert isinstance(request, ProxiedRequest)
        if not request.connection.forward(request):
            self.server.deliver_late(request)

    def handle(self, handler: Callable[[Any], object], argument: Any) -> None:
        handler(argument)

    def _failed(self, error: BaseException) -> None:
        if not self.failed.done():
            self.log.error("the proxy has failed", exception=error)
            self.failed.set_result(error)
        self.turn.abandon()


class ProxyServer(Server):
    """See :mod:`highwater_runtime.host.proxy`."""

    def __init__(
        self, node: ProxyNode, listener: Listener, limits: ServerLimits, link: NodeLink, sources: Sources
    ) -> None:
        super().__init__(node, (listener,), limits)
        self.link = link
        self._sources = sources
        self._refused = asyncio.Event()
        self._late: deque[ProxiedRequest] = deque()
        self._delivering: asyncio.Task[None] | None = None

    # --- life ---

    def bind(self) -> None:
        """Take the address, from the second time on the same one. What is redirected there keeps its own."""
        super().bind()
        (listener,) = self._listeners
        self._listeners = (Listener(listener.name, self.bound[listener.name]),)
        if self.link.mark:
            for _, sock in self._sockets:
                is_v6 = sock.family == socket.AF_INET6
                level, option = (
                    (socket.IPPROTO_IPV6, _IPV6_TRANSPARENT) if is_v6 else (socket.IPPROTO_IP, _IP_TRANSPARENT)
                )
                sock.setsockopt(level, option, 1)

    @property
    def is_listening(self) -> bool:
        """Whether peers can connect."""
        return bool(self._acceptors)

    async def follow(self) -> None:
        """Listen whenever the node listens, for good; :meth:`bind` came before."""
        while True:
            await self._node_listens()
            self._refused.clear()
            self.accept()
            await self._refused.wait()
            self.stop_accepting()
            self.bind()

    async def _node_listens(self) -> None:
        while True:
            with suppress(OSError):
                (await self.link.connect()).close()
                return
            await asyncio.sleep(_LOOK_EVERY_S)

    # --- connections ---

    def connection_for(self, listener: Listener, host: str, peer: str) -> ProxiedConnection:
        return ProxiedConnection(self, listener, host, peer, self.link, self._sources)

    async def _open(self, connection: ServerConnection, sock: socket.socket) -> None:
        assert isinstance(connection, ProxiedConnection)
        try:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)  # as Kafka does
            await connection.upstream.open()
        except (OSError, asyncio.CancelledError) as error:
            if isinstance(error, ConnectionRefusedError):
                self._refused.set()
            reset(sock)
            sock.close()
            connection.close(None)
            return
        await super()._open(connection, sock)

    # --- requests ---

    def deliver_late(self, request: ProxiedRequest) -> None:
        """Pass on a request whose connections are gone, both halves, behind those that were let go before."""
        self._late.append(request)
        if self._delivering is None:
            self._delivering = self.node.loop.create_task(self._deliver())

    async def _deliver(self) -> None:
        upstream = Upstream(self.link)
        try:
            await upstream.open()
        except OSError as error:
            # As what is on its way to a node that does not listen any more.
            self.log.warning("requests are lost", why=str(error), count=len(self._late))
            self._late.clear()
        self._delivering = None
        self.node.run_turn(self._send_late, upstream)

    def _send_late(self, upstream: Upstream) -> None:
        while self._late:
            upstream.send(self._late.popleft())


def _call(action: Callable[[], object]) -> None:
    action()
