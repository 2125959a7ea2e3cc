"""Report which peers cannot be reached: once when it begins, once a minute while it lasts, and once when it is over.

A node tries again many times a second, and a line for each try would bring nothing new. Called only when a connection
is opened or could not be opened.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from typing import Final

from highwater_runtime.host.logs import NodeLog
from highwater_runtime.ports import Endpoint

AGAIN_AFTER_S: Final = 60.0


class _Away:
    """A peer that could not be reached."""

    __slots__ = ("attempts", "logged_at", "since")

    def __init__(self, now: float) -> None:
        self.attempts = 0
        self.since = now
        self.logged_at: float | None = None


class Reachability:
    """Of the peers of one node; ``now`` gives seconds that never go back."""

    def __init__(self, log: NodeLog, now: Callable[[], float]) -> None:
        self._log = log
        self._now = now
        self._away: dict[Endpoint, _Away] = {}

    def failed(self, peer: Endpoint, why: str) -> None:
        """It could not be connected to."""
        now = self._now()
        away = self._away.get(peer)
        if away is None:
            away = self._away[peer] = _Away(now)
        away.attempts += 1
        if away.logged_at is None or now - away.logged_at >= AGAIN_AFTER_S:
            away.logged_at = now
            self._log.warning(
                "peer unreachable", server=peer, why=why, attempts=away.attempts, seconds=round(now - away.since, 1)
            )

    def reached(self, peer: Endpoint) -> None:
        """A connection to it is open."""
        if self._away:
            away = self._away.pop(peer, None)
            if away is not None:
                seconds = round(self._now() - away.since, 1)
                self._log.info("peer reached again", server=peer, attempts=away.attempts, seconds=seconds)


def why_not(error: OSError) -> str:
    """Why a connection could not be opened, in words."""
    match error:
        case socket.gaierror():
            return f"cannot resolve the name: {error.strerror or error}"
        case ConnectionRefusedError():
            return "connection refused"
        case TimeoutError():
            return "timed out"
        case _:
            return os.strerror(error.errno) if error.errno else str(error)
