"""The way to the node behind the proxy."""

from __future__ import annotations

import socket
from typing import Final

from highwater_runtime.host.hosting import Hosting
from highwater_runtime.host.logs import LimitedLog
from highwater_runtime.ports import Endpoint

_SO_MARK: Final = 36


class NodeLink:
    """Connects to the node at ``target``; packets get ``mark`` (``SO_MARK``), unless it is 0."""

    def __init__(
        self,
        hosting: Hosting,
        target: Endpoint,
        mark: int = 0,
    ) -> None:
        self.hosting = hosting
        self.target = target
        self.mark = mark
        self.log = LimitedLog(hosting.log, hosting.loop)

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
