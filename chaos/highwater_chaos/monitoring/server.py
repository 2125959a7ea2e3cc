"""``GET /metrics`` of the harness, answered by threads beside the run."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Final, NamedTuple, Self

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_REQUEST_SECONDS: Final = 10.0
"""How long a client may take to send its request, or to read the response."""
_LONGEST_WAIT: Final = 60.0


class Address(NamedTuple):
    """Where to listen. Port 0 is any free port."""

    host: str
    port: int


def address_of(text: str) -> Address:
    """Parse ``HOST:PORT``; an IPv6 host stands in brackets. Raises ``ValueError``."""
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or not port.isascii() or int(port) > 65535:
        raise ValueError(f"expected HOST:PORT, such as 127.0.0.1:9464, found {text!r}")
    return Address(host, int(port))


class MetricsServer:
    """Serves what ``exposition`` returns, which is called on threads of the server.

    Raises:
        OSError: the address cannot be listened on.
    """

    def __init__(self, address: Address, exposition: Callable[[], bytes]) -> None:
        self._exposition = exposition
        self._scraped = threading.Condition()
        self._scrapes = 0
        self._last: float | None = None
        self._interval = 0.0
        self._server = _server_class(address)((address.host, address.port), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, name="metrics", daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """Where it is scraped."""
        host, port = self._server.server_address[:2]
        shown = f"[{host!s}]" if ":" in str(host) else str(host)
        return f"http://{shown}:{port}/metrics"

    def wait_for_scrape(self) -> bool:
        """Let whoever scrapes regularly see the last values: wait for one scrape, for twice their interval at most.

        Returns whether there was one. Returns at once if there have not been two scrapes yet.
        """
        with self._scraped:
            if not self._interval:
                return False
            seen = self._scrapes
            return self._scraped.wait_for(lambda: self._scrapes > seen, min(2 * self._interval, _LONGEST_WAIT))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            timeout = _REQUEST_SECONDS

            def do_GET(self) -> None:
                if self.path.partition("?")[0] != "/metrics":
                    self.send_error(404, "only /metrics is here")
                    return
                content = outer._exposition()
                self.send_response(200)
                self.send_header("Content-Type", CONTENT_TYPE)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)
                outer._count()

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
                """Scrapes are not worth a line each."""

        return Handler

    def _count(self) -> None:
        now = time.monotonic()
        with self._scraped:
            self._scrapes += 1
            if self._last is not None:
                self._interval = now - self._last
            self._last = now
            self._scraped.notify_all()


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A scraper that went away is no news."""


def _server_class(address: Address) -> type[_Server]:
    if ":" not in address.host:
        return _Server

    class _OfIPv6(_Server):
        address_family = socket.AF_INET6

    return _OfIPv6
