"""Probes from where a pod lives: whether a peer answers, and what the pod's own admin server says.

Threads enter the pod's network namespace for it; the agent's own does not matter, and a cut of the pod's does not keep
them out.
"""

from __future__ import annotations

import errno
import selectors
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import Any, Final

from highwater_chaos.machine.errors import MachineError
from highwater_chaos.machine.namespaces import in_namespace

MOST_BYTES: Final = 4 << 20
"""Of an answer of a pod's admin server."""
_AT_A_TIME: Final = 64 << 10
_DISCARD: Final = 9
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


def send_from(namespace: str, peer: str, count: int = 3) -> None:
    """Have datagrams arrive inside a namespace that bear ``peer``'s address, though the peer sent none: what drops what
    comes from there drops these too, whatever becomes of packets on the way from the peer. IPv4 only."""

    def send() -> None:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as look:
            look.connect((peer, _DISCARD))
            own = look.getsockname()[0]
        with socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW) as raw:
            for _ in range(count):
                # The kernel fills in length, id and checksum; to an address of its own it loops back.
                datagram = struct.pack(">HHHH", _DISCARD, _DISCARD, 8, 0)
                addresses = socket.inet_aton(peer) + socket.inet_aton(own)
                header = struct.pack(">BBHHHBBH", 0x45, 0, 28, 0, 0, 64, socket.IPPROTO_UDP, 0) + addresses
                raw.sendto(header + datagram, (own, 0))

    in_namespace(namespace, send)


def send_to(namespace: str, peer: str, count: int = 3) -> None:
    """Send datagrams to a peer from inside a namespace, to a port without a listener."""

    def send() -> None:
        family = socket.AF_INET6 if ":" in peer else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as end:
            for _ in range(count):
                # EPERM is how a dropped one looks to its sender; the rule's counter is what is believed.
                with suppress(OSError):
                    end.sendto(b"", (peer, _DISCARD))

    in_namespace(namespace, send)


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
