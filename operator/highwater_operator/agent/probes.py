"""What a pod's own admin server says, asked from where the pod lives.

Threads enter the pod's network namespace for it; the agent's own does not matter, and a cut of the pod's does not keep
them out.
"""

from __future__ import annotations

import socket
import time
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.network.namespaces import in_namespace

MOST_BYTES: Final = 4 << 20
"""Of an answer of a pod's admin server."""
_AT_A_TIME: Final = 64 << 10


class Timed(socket.socket):
    """Reads until one moment, however often something arrives before: a pod may send a byte a second for ever."""

    until = 0.0
    """As ``time.monotonic`` has it."""

    def left(self) -> float:
        """Seconds. Raises ``TimeoutError`` where there are none."""
        left = self.until - time.monotonic()
        if left <= 0:
            raise TimeoutError("not within the time that an answer may take")
        return left

    def recv_into(self, *arguments: Any, **more: Any) -> int:
        self.settimeout(self.left())
        return super().recv_into(*arguments, **more)


def fetch(namespace: str, port: int, path: str, timeout: float) -> tuple[int, bytes]:
    """``GET`` from 127.0.0.1 inside a namespace: status and body, within ``timeout`` seconds for all of it and at most
    :data:`MOST_BYTES`.

    Raises:
        MachineError: there is no such answer.
    """

    def get() -> tuple[int, bytes]:
        with Timed(socket.AF_INET, socket.SOCK_STREAM | socket.SOCK_CLOEXEC) as end:
            end.until = time.monotonic() + timeout
            try:
                end.settimeout(end.left())
                end.connect(("127.0.0.1", port))
            except OSError as error:
                raise MachineError(f"no answer at port {port} of the pod: {error}") from error
            return ask(end, port, path)

    return in_namespace(namespace, get)


def ask(end: Timed, port: int, path: str) -> tuple[int, bytes]:
    """``GET`` over a connection: status and body. Raises ``MachineError`` where the answer is none."""
    connection = HTTPConnection("127.0.0.1", port)
    connection.sock = end
    try:
        connection.request("GET", path, headers={"Connection": "close"})
        answer = connection.getresponse()
        body = bytearray()
        while data := answer.read(_AT_A_TIME):
            body += data
            if len(body) > MOST_BYTES:
                raise MachineError(f"port {port} of the pod answered with more than {MOST_BYTES} bytes")
        if answer.length:  # a node that is killed in the middle of a page
            raise MachineError(f"no answer at port {port} of the pod: {answer.length} bytes of it are missing")
        return answer.status, bytes(body)
    except (OSError, HTTPException, ValueError) as error:
        found = f"{type(error).__name__}: {str(error)[:200]}"
        raise MachineError(f"no answer at port {port} of the pod: {found}") from error
    finally:
        connection.close()
