"""Probes of links from inside a network namespace, whatever runs at their other ends.

Threads enter the namespace for it; a cut of it does not keep them out.
"""

from __future__ import annotations

import errno
import selectors
import socket
import struct
import time
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from highwater_chaos.machine.network.namespaces import in_namespace

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
