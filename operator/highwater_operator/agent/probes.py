"""Probes from where a pod lives: whether a peer answers, and what the pod's own admin server says.

Threads enter the pod's network namespace for it; the agent's own does not matter, and a cut of the pod's does not keep
them out.
"""

from __future__ import annotations

import errno
import selectors
import socket
import time
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from typing import Final

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.namespaces import in_namespace

_MOST_BYTES: Final = 32 << 20
Target = tuple[str, int]


def answering(namespace: str, targets: Sequence[Target], timeout: float) -> set[Target]:
    """The TCP addresses that answer a connection from inside a namespace within ``timeout`` seconds. A refusal is an
    answer: something came back."""
    return in_namespace(namespace, lambda: _answering(targets, timeout))


def _answering(targets: Sequence[Target], timeout: float) -> set[Target]:
    answered: set[Target] = set()
    opened: dict[int, tuple[socket.socket, Target]] = {}
    with selectors.DefaultSelector() as selector:
        try:
            for target in dict.fromkeys(targets):
                family = socket.AF_INET6 if ":" in target[0] else socket.AF_INET
                end = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
                end.setblocking(False)
                opened[end.fileno()] = (end, target)
                if _is_answer(end.connect_ex(target)):
                    answered.add(target)
                else:
                    selector.register(end, selectors.EVENT_WRITE)
            deadline = time.monotonic() + timeout
            while selector.get_map() and (left := deadline - time.monotonic()) > 0:
                for key, _ in selector.select(left):
                    end, target = opened[key.fd]
                    selector.unregister(end)
                    if _is_answer(end.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)):
                        answered.add(target)
        finally:
            for end, _ in opened.values():
                end.close()
    return answered


def _is_answer(number: int) -> bool:
    return number in (0, errno.ECONNREFUSED, errno.ECONNRESET)


def fetch(namespace: str, port: int, path: str, timeout: float) -> tuple[int, bytes]:
    """``GET`` from 127.0.0.1 inside a namespace: status and body.

    Raises:
        MachineError: nobody answers.
    """

    def get() -> tuple[int, bytes]:
        connection = HTTPConnection("127.0.0.1", port, timeout=timeout)
        try:
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read(_MOST_BYTES)
        finally:
            connection.close()

    try:
        return in_namespace(namespace, get)
    except (OSError, HTTPException) as error:
        raise MachineError(f"nobody answers at port {port} of the pod: {error}") from error
