"""A blocking connection to one node, in Kafka's protocol and as cheap as Python can be."""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Any, Final

from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.framing import decode_response, encode_request
from highwater_runtime.wire.message import Message

CLIENT_ID: Final = "benchmark"
_SIZE: Final = struct.Struct(">i")
_TIMEOUT_S: Final = 60.0


class LoadError(Exception):
    """The broker answered with an error, or not at all."""


class Connection:
    """A blocking connection to one broker."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._socket = socket.create_connection(endpoint, timeout=_TIMEOUT_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        self._reader = self._socket.makefile("rb", buffering=1 << 20)
        self._next_id = 0

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Hang up."""
        self._reader.close()
        self._socket.close()

    def abort(self) -> None:
        """End it from another thread: who receives gets :class:`LoadError`."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def call(self, request: Message, version: int) -> Any:
        """Send one request and wait for its response."""
        self._next_id += 1
        self._socket.sendall(b"".join(encode_request(request, version, self._next_id, CLIENT_ID)))
        correlation_id, body = decode_response(self.receive(), request.API_KEY, version)
        if correlation_id != self._next_id:
            raise LoadError(f"response {correlation_id} came where {self._next_id} was due")
        return body

    def send(self, frame: bytes | bytearray) -> None:
        """Send a whole frame."""
        self._socket.sendall(frame)

    def receive(self) -> bytes:
        """The next frame, without its size."""
        head = self._reader.read(4)
        if len(head) < 4:
            raise LoadError("the broker closed the connection")
        (size,) = _SIZE.unpack(head)
        frame: bytes = self._reader.read(size)
        if len(frame) < size:
            raise LoadError("the broker closed the connection in the middle of a response")
        return frame
