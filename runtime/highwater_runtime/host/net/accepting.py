"""Accepts connections of one listening socket, a few in each pass of the event loop.

asyncio's own server accepts up to its whole backlog at once. When file descriptors run out, it logs one traceback for
each of these attempts. This one accepts a few at a time. When the machine cannot give it a descriptor, it waits before
it tries again: 50 ms at first, twice as long each time, up to one second.
"""

from __future__ import annotations

import asyncio
import errno
import socket
from collections.abc import Callable
from typing import Any, Final

AT_ONCE: Final = 32
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_FIRST_DELAY_S: Final = 0.05
_LAST_DELAY_S: Final = 1.0


class Acceptor:
    """Hands each new connection of ``sock`` to ``on_connection``; ``on_exhausted`` gets the reason of each pause."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: socket.socket,
        on_connection: Callable[[socket.socket, Any], None],
        on_exhausted: Callable[[OSError], None],
    ) -> None:
        self._loop = loop
        self._socket = sock
        self._on_connection = on_connection
        self._on_exhausted = on_exhausted
        self._delay_s = _FIRST_DELAY_S
        self._retry: asyncio.TimerHandle | None = None
        self._closed = False

    def start(self, backlog: int) -> None:
        self._socket.setblocking(False)
        self._socket.listen(backlog)
        self._loop.add_reader(self._socket.fileno(), self._ready)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        if self._retry is not None:
            self._retry.cancel()
        else:
            self._loop.remove_reader(self._socket.fileno())
        self._socket.close()

    def _ready(self) -> None:
        for _ in range(AT_ONCE):
            if self._closed:
                return
            try:
                connection, address = self._socket.accept()
            except (BlockingIOError, InterruptedError):
                return
            except OSError as error:
                # Other errors belong to the one connection that could not be accepted (accept(2)).
                if error.errno in _EXHAUSTED:
                    self._pause(error)
                    return
                continue
            self._delay_s = _FIRST_DELAY_S
            self._on_connection(connection, address)

    def _pause(self, error: OSError) -> None:
        self._loop.remove_reader(self._socket.fileno())
        self._retry = self._loop.call_later(self._delay_s, self._try_again)
        self._delay_s = min(2 * self._delay_s, _LAST_DELAY_S)
        self._on_exhausted(error)

    def _try_again(self) -> None:
        self._retry = None
        self._loop.add_reader(self._socket.fileno(), self._ready)
        self._ready()
