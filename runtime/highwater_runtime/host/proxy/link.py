"""The way to the node behind the proxy, and who watches it."""

from __future__ import annotations

import socket
from time import monotonic_ns
from typing import Final, Protocol

from highwater_runtime.host.hosting import Hosting
from highwater_runtime.host.logs import LimitedLog
from highwater_runtime.host.proxy.requests import ProxiedRequest
from highwater_runtime.ports import Endpoint

_SO_MARK: Final = 36


class Observer(Protocol):
    """Sees requests that the node has got, with its answers."""

    def __call__(
        self,
        source: str | None,
        api_key: int,
        api_version: int,
        correlation_id: int,
        request: memoryview,
        response: memoryview | None,
        monotonic_ns: int,
    ) -> None:
        """``request`` and ``response`` are frames without their sizes, valid until this returns. ``response`` is None
        where none is ever sent (Produce with acks=0), or the connection ended before it. ``monotonic_ns``: when the
        proxy had the response, whatever a rule does to it then; or knew that there is none."""


class NodeLink:
    """Connects to the node at ``target``; packets get ``mark`` (``SO_MARK``), unless it is 0.

    ``observe`` sees requests of the API keys ``observed_keys``.
    """

    def __init__(
        self,
        hosting: Hosting,
        target: Endpoint,
        mark: int = 0,
        observe: Observer | None = None,
        observed_keys: frozenset[int] = frozenset(),
    ) -> None:
        self.hosting = hosting
        self.target = target
        self.mark = mark
        self.log = LimitedLog(hosting.log, hosting.loop)
        self.observed_keys = frozenset() if observe is None else observed_keys
        self._observe = observe

    async def connect(self) -> socket.socket:
        """Return a connection to the node. Raises ``OSError``."""
        loop = self.hosting.loop
        family, *_, address = (await loop.getaddrinfo(*self.target, type=socket.SOCK_STREAM))[0]
        sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        try:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self.mark:
                sock.setsockopt(socket.SOL_SOCKET, _SO_MARK, self.mark)
            await loop.sock_connect(sock, address)
        except BaseException:
            sock.close()
            raise
        return sock

    def seen(self, request: ProxiedRequest, response: memoryview | None) -> None:
        """Tell the observer of a request that was passed on, if it wants to know."""
        key = request.body.API_KEY
        if self._observe is not None and key in self.observed_keys:
            self._observe(
                request.client_id or None,
                key,
                request.version,
                request.correlation_id,
                memoryview(request.frame),
                response,
                monotonic_ns(),
            )
