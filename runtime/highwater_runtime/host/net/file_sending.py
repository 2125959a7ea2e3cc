"""The sending half of a connection whose answers may hold ranges of files: those leave by ``sendfile``.

While a range waits for the socket, all output waits behind it in a queue here, which holds no bytes of the file. So
what a slow client asks for takes no memory. Other output goes by the event loop's transport: the queue begins once the
transport has nothing left to write, and the transport goes on where the queue ends.

TLS needs the bytes: ranges are read there.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections import deque
from typing import Final, Protocol, cast

from highwater_runtime.host.files.file_range import PosixFileRange
from highwater_runtime.host.net.sending import LARGE_BYTES, Outbox
from highwater_runtime.host.turn import Sender, Turn

MOST_AT_ONCE: Final = 4 << 20
"""What one connection sends before others get their turn."""


class FileSender(Sender, Protocol):
    """A connection, as far as its queue has to do with it."""

    def sent_some(self) -> None:
        """The socket has taken bytes of the queue, if not all."""

    def queue_is_empty(self) -> None:
        """All that waited has left."""

    def cannot_send(self) -> None:
        """The connection is broken. What is left never leaves."""

    def file_failed(self, part: PosixFileRange, error: OSError) -> None:
        """The disk does not give the bytes of ``part``. What is left never leaves."""


class FileOutbox(Outbox):
    """Output of one connection of a server."""

    __slots__ = ("_connection", "_has_left", "_loop", "_queue", "_socket", "_takes_files", "_waits")

    def __init__(self, loop: asyncio.AbstractEventLoop, turn: Turn, connection: FileSender) -> None:
        super().__init__(turn, connection)
        self._loop = loop
        self._connection = connection
        self._takes_files = False
        self._queue: deque[bytes | PosixFileRange] = deque()
        self._has_left = 0
        """Bytes of the queue's head."""
        self._socket: socket.socket | None = None
        """The transport's socket by a descriptor of its own, which event loops let others watch, while it is needed."""
        self._waits = False
        """Whether the loop watches that."""

    def attach(self, transport: asyncio.Transport) -> None:
        super().attach(transport)
        self._takes_files = transport.get_extra_info("sslcontext") is None

    @property
    def has_queue(self) -> bool:
        """Whether output waits for the socket behind a range of a file."""
        return bool(self._queue)

    def flush(self) -> None:
        """Hand everything to the transport or to the queue."""
        if not self._queue:
            transport = self._transport
            if (
                self.gathered_bytes < LARGE_BYTES
                or transport is None
                or transport.is_closing()
                or not any(isinstance(part, PosixFileRange) for part in self._pieces)
            ):
                super().flush()
                return
            if not self._takes_files:
                self._read_ranges()
                super().flush()
                return
        begins = not self._queue
        small: list[bytes] = []
        for part in self._pieces:
            if isinstance(part, PosixFileRange):
                if small:
                    self._queue.append(b"".join(small))
                    small = []
                self._queue.append(part)
            else:
                small.append(part)
        if small:
            self._queue.append(b"".join(small))
        self._parts = []
        self.sent_bytes += self.gathered_bytes
        self.gathered_bytes = 0
        if begins and self._queue:
            self._send_on()

    def abandon(self) -> None:
        """Send nothing any more."""
        self._parts, self.gathered_bytes = [], 0
        self._queue.clear()
        self._release_socket()

    @property
    def _pieces(self) -> list[bytes | PosixFileRange]:
        """What was gathered: encoders take a range for its bytes."""
        return cast(list[bytes | PosixFileRange], self._parts)

    def _read_ranges(self) -> None:
        """Put the bytes of ranges in their places."""
        pieces = self._pieces
        for index, part in enumerate(pieces):
            if isinstance(part, PosixFileRange):
                try:
                    pieces[index] = part.read()
                except OSError as error:
                    self.abandon()
                    self._connection.file_failed(part, error)
                    return

    # --- the queue ---

    def _send_on(self) -> None:
        transport, left = self._transport, MOST_AT_ONCE
        assert transport is not None, "there is output only with a transport"
        if self._socket is None:
            own = transport.get_extra_info("socket")
            self._socket = socket.socket(own.family, socket.SOCK_STREAM, fileno=os.dup(own.fileno()))
        try:
            while self._queue and left > 0 and not transport.get_write_buffer_size():
                due = min(len(self._queue[0]) - self._has_left, left)
                sent = self._send_head(self._socket, due)
                left -= sent
                if sent < due:
                    break  # the socket is full
        except BlockingIOError:
            pass
        except OSError as error:
            self._head_failed(error)
            return
        if self._queue:
            self._wait(self._socket)
            if left < MOST_AT_ONCE:
                self._connection.sent_some()
        else:
            self._release_socket()
            self._connection.queue_is_empty()

    def _send_head(self, to: socket.socket, most: int) -> int:
        head, start = self._queue[0], self._has_left
        if isinstance(head, PosixFileRange):
            sent = head.send(to.fileno(), start, most)
        else:
            # Nobody is to be woken for a head without its body.
            more = socket.MSG_MORE if len(self._queue) > 1 else 0
            sent = to.send(memoryview(head)[start : start + most], more)
        self._has_left += sent
        if self._has_left == len(head):
            self._queue.popleft()
            self._has_left = 0
        return sent

    def _head_failed(self, error: OSError) -> None:
        """Tell a failing disk from a broken connection, and both from a file that cannot be sent from."""
        head, start = self._queue[0], self._has_left
        connection_broke = isinstance(error, ConnectionError | TimeoutError) or not isinstance(head, PosixFileRange)
        if not connection_broke:
            assert isinstance(head, PosixFileRange)
            try:
                self._queue[0] = head.read(start)
            except OSError as failure:
                self.abandon()
                self._connection.file_failed(head, failure)
                return
            self._has_left = 0
            self._send_on()
            return
        self.abandon()
        self._connection.cannot_send()

    def _wait(self, watched: socket.socket) -> None:
        if not self._waits:
            self._waits = True
            self._loop.add_writer(watched.fileno(), self._send_on)

    def _release_socket(self) -> None:
        own, self._socket = self._socket, None
        if own is None:
            return
        if self._waits:
            self._waits = False
            self._loop.remove_writer(own.fileno())
        own.close()
