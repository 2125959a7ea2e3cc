"""Asks nodes over their control sockets, without ever waiting for one that does not answer.

One JSON object a line, answered in order: ``{"id":1,"method":"ping"}`` → ``{"id":1,"result":…}`` or
``{"id":1,"error":"…"}``. A node may be paused, stuck or gone, and the harness must go on; so a request is sent and its
answer comes in when :meth:`ControlChannel.pump` finds it there. What must be known before going on is waited for, with
a bound (:meth:`ControlChannel.call`).
"""

from __future__ import annotations

import select
import socket
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from highwater_chaos.backends.protocol import BackendError
from highwater_runtime.host.unix_path import short_path

_CHUNK: Final = 1 << 18
_PATIENCE: Final = 15.0

OnAnswer = Callable[[Any], None]


class ControlError(BackendError):
    """A node did not do what it was asked: it answered with a reason, or did not answer in time."""


@dataclass(slots=True)
class _Asked:
    number: int
    method: str
    on_answer: OnAnswer
    on_error: Callable[[str], None]


class ControlChannel:
    """The control socket of one incarnation of a node. Not safe across threads."""

    def __init__(self, path: Path, node: str) -> None:
        self._path = path
        self._node = node
        self._socket: socket.socket | None = None
        self._asked: deque[_Asked] = deque()
        self._lines: deque[bytes] = deque()
        self._unread = b""
        self._unsent = b""
        self._number = 0
        self.closed = False
        """The node has closed its end, or it is not needed any more."""

    @property
    def is_open(self) -> bool:
        """Whether the node has been reached."""
        return self._socket is not None

    def try_open(self) -> bool:
        """Connect if the node listens by now; whether it is connected."""
        if self.closed:
            return False
        if self._socket is None:
            end = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
            end.setblocking(False)
            try:
                with short_path(self._path) as name:
                    end.connect(name)
            except (FileNotFoundError, ConnectionRefusedError, BlockingIOError):
                end.close()
                return False
            self._socket = end
        return True

    def ask(
        self,
        method: str,
        params: Mapping[str, Any],
        on_answer: OnAnswer,
        on_error: Callable[[str], None] | None = None,
    ) -> None:
        """Send a request; ``on_answer`` gets the result in a later :meth:`pump`, or ``on_error`` a message (by default
        it is raised there, as :class:`ControlError`). Both are forgotten when the node goes."""
        self._number += 1
        asked = _Asked(self._number, method, on_answer, on_error or self._raise)
        self._asked.append(asked)
        request = {"id": asked.number, "method": method, "params": params}
        self._unsent += msgspec.json.encode(request) + b"\n"
        self._send()

    def call(self, method: str, params: Mapping[str, Any] | None = None, *, patience: float = _PATIENCE) -> Any:
        """Send a request and wait for its answer.

        Raises:
            ControlError: the node refused, went away, or did not answer within ``patience`` seconds.
        """
        answers: list[Any] = []
        errors: list[str] = []
        self.ask(method, params or {}, answers.append, errors.append)
        deadline = time.monotonic() + patience
        while not answers and not errors:
            self._wait(deadline - time.monotonic())
            self.pump()
            if self.closed:
                raise ControlError(f"{self._node} went away before it answered {method}")
            if time.monotonic() > deadline and not answers and not errors:
                raise ControlError(f"{self._node} did not answer {method} within {patience:g} s")
        if errors:
            raise ControlError(f"{self._node} refused {method}: {errors[0]}")
        return answers[0]

    def pump(self) -> None:
        """Send what could not be sent before, take in the answers that have come, and hand them over."""
        if self._socket is None:
            return
        self._send()
        while self._lines:
            self._take(self._lines.popleft())
        while self._socket is not None:
            try:
                data = self._socket.recv(_CHUNK)
            except BlockingIOError:
                break
            except OSError:
                data = b""
            if not data:
                self.close()
                break
            *lines, self._unread = (self._unread + data).split(b"\n")
            self._lines.extend(lines)
            # A refusal is raised in the middle of them; those behind it are answers all the same.
            while self._lines:
                self._take(self._lines.popleft())

    @property
    def waiting(self) -> int:
        """Requests that have not been answered."""
        return len(self._asked)

    def close(self) -> None:
        """Forget everything that was asked. Idempotent."""
        self.closed = True
        self._asked.clear()
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    def _take(self, line: bytes) -> None:
        answer = msgspec.json.decode(line)
        asked = self._asked.popleft() if self._asked else None
        if asked is None or answer.get("id") != asked.number:
            raise ControlError(f"{self._node} answered out of order: {line[:200]!r}")
        if "error" in answer:
            asked.on_error(str(answer["error"]))
        else:
            asked.on_answer(answer.get("result"))

    def _send(self) -> None:
        if self._socket is None or not self._unsent:
            return
        with suppress(BlockingIOError):
            try:
                sent = self._socket.send(self._unsent)
            except (BrokenPipeError, ConnectionResetError):
                self.close()
                return
            self._unsent = self._unsent[sent:]

    def _wait(self, seconds: float) -> None:
        if self._socket is None:
            if not self.try_open():
                time.sleep(min(0.005, max(0.0, seconds)))
            return
        writers = [self._socket] if self._unsent else []
        select.select([self._socket], writers, [], max(0.0, seconds))

    def _raise(self, message: str) -> None:
        raise ControlError(f"{self._node}: {message}")
