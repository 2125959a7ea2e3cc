"""A connection on which a test says what it likes."""

from __future__ import annotations

import socket
import ssl
from typing import Any

from highwater_runtime.wire.framing import decode_response, encode_request


class RawClient:
    """To one port of loopback, over TLS if there is a context."""

    def __init__(self, port: int, context: ssl.SSLContext | None = None) -> None:
        plain = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket = plain if context is None else context.wrap_socket(plain, server_hostname="127.0.0.1")

    def ask(self, request: Any, version: int) -> Any:
        """The response.

        Raises:
            EOFError: the server closed the connection.
        """
        self.socket.sendall(b"".join(encode_request(request, version, 5, "raw")))
        size = int.from_bytes(self._exactly(4), "big")
        return decode_response(self._exactly(size), request.API_KEY, version)[1]

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            piece = self.socket.recv(count - len(data))
            if not piece:
                raise EOFError("closed by the server")
            data += piece
        return data
