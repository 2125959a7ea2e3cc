"""The administrator's HTTP endpoint: ``/metrics`` (Prometheus), ``/healthz`` and ``/readyz`` (probes), ``/quorum``.

``/healthz`` answers as long as the node's loop runs and its core lives. ``/readyz`` answers 200 once the node does its
work in the cluster, else 503 with the reason. ``/quorum`` names the voters that it cannot reach now, with reasons, as
a JSON object. Bounded: small requests, few connections, one request a connection.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Final, NamedTuple

from highwater_runtime.host.metrics import CONTENT_TYPE
from highwater_runtime.ports import Endpoint

_MAX_REQUEST_BYTES: Final = 8192
_MAX_CONNECTIONS: Final = 64
_PATIENCE_S: Final = 10.0
_TEXT: Final = "text/plain; charset=utf-8"


class AdminPages(NamedTuple):
    """What is served. ``unhealthy`` and ``unready`` give the reason, or None."""

    metrics: Callable[[], bytes]
    unhealthy: Callable[[], str | None]
    unready: Callable[[], str | None]
    out_of_reach: Callable[[], Mapping[int, str]] = dict


class AdminServer:
    """Serves the pages on the running loop."""

    def __init__(self, pages: AdminPages) -> None:
        self._pages = pages
        self._server: asyncio.Server | None = None
        self._open = 0

    async def start(self, endpoint: Endpoint) -> Endpoint:
        """Listen; returns where. Raises ``OSError``."""
        self._server = await asyncio.start_server(
            self._serve, endpoint.host or None, endpoint.port, limit=_MAX_REQUEST_BYTES
        )
        return Endpoint(*self._server.sockets[0].getsockname()[:2])

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        try:
            if self._open > _MAX_CONNECTIONS:
                return
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                writer.write(self._answer(head))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            return  # a client that goes away, dawdles or sends too much gets no answer
        except asyncio.CancelledError:
            return  # the loop closes; the stream's own callback cannot bear a cancelled task (Python 3.11)
        finally:
            self._open -= 1
            writer.close()

    def _answer(self, head: bytes) -> bytes:
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        path = rest.partition(" ")[0].partition("?")[0]
        status, content_type, body = HTTPStatus.OK, _TEXT, b"ok\n"
        if method not in ("GET", "HEAD"):
            status, body = HTTPStatus.METHOD_NOT_ALLOWED, b"only GET and HEAD\n"
        elif path == "/metrics":
            content_type, body = CONTENT_TYPE, self._pages.metrics()
        elif path == "/quorum":
            content_type, body = "application/json", json.dumps(self._pages.out_of_reach()).encode() + b"\n"
        elif path in ("/healthz", "/readyz"):
            why = self._pages.unhealthy() if path == "/healthz" else self._pages.unready()
            if why is not None:
                status, body = HTTPStatus.SERVICE_UNAVAILABLE, f"{why}\n".encode()
        else:
            status, body = HTTPStatus.NOT_FOUND, b"there are /metrics, /healthz, /readyz and /quorum\n"
        lines = (
            f"HTTP/1.1 {status.value} {status.phrase}",
            f"Content-Type: {content_type}",
            f"Content-Length: {len(body)}",
            "Connection: close",
            "",
            "",
        )
        return "\r\n".join(lines).encode() + (b"" if method == "HEAD" else body)
