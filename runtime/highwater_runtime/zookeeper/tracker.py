"""What the leader knows of living sessions: who was heard from when, and by which connection.

Soft state, as in ZooKeeper: a new leader grants every session its whole time-out again. That a session has expired is
decided here, but it has ended only when the transaction that says so is committed.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from highwater_runtime.ports import MS


@dataclass(slots=True)
class _Tracked:
    timeout_ns: int
    deadline_ns: int
    is_closing: bool = False
    connection: int = 0
    """The client's present connection; 0: it has not turned up under this leader."""
    proposals: int = 0
    """How many it has made by that connection."""


class SessionTracker:
    """The sessions of one leader. Times are those of its clock, in ns."""

    def __init__(self) -> None:
        self._sessions: dict[int, _Tracked] = {}

    def track(self, session: int, timeout_ms: int, now_ns: int, connection: int = 0) -> None:
        """A session begins, or begins again under this leader."""
        self._sessions[session] = _Tracked(timeout_ms * MS, now_ns + timeout_ms * MS, connection=connection)

    def forget(self, session: int) -> None:
        """Forget a session that has ended."""
        self._sessions.pop(session, None)

    def touch(self, sessions: Iterable[int], now_ns: int) -> None:
        """Their clients were heard from. One that is to be closed stays so."""
        for session in sessions:
            tracked = self._sessions.get(session)
            if tracked is not None:
                tracked.deadline_ns = now_ns + tracked.timeout_ns

    def move(self, session: int, connection: int, now_ns: int) -> bool:
        """The client has come by a new ``connection``: no other may write for it from now on.

        Returns False, and does nothing, for a session that is unknown or about to end.
        """
        tracked = self._sessions.get(session)
        if tracked is None or tracked.is_closing:
            return False
        tracked.connection, tracked.proposals = connection, 0
        tracked.deadline_ns = now_ns + tracked.timeout_ns
        return True

    def admit(self, session: int, connection: int, number: int, now_ns: int) -> bool:
        """Whether proposal ``number`` (from 1) of ``connection`` may be appended for ``session``.

        Not of a former connection, and none behind a gap: a session's writes stay in order, whatever was delayed.
        """
        tracked = self._sessions.get(session)
        if tracked is None or tracked.is_closing:
            return False
        if tracked.connection != connection or tracked.proposals + 1 != number:
            return False
        tracked.proposals = number
        tracked.deadline_ns = now_ns + tracked.timeout_ns
        return True

    def close(self, session: int) -> None:
        """Its end has been proposed."""
        tracked = self._sessions.get(session)
        if tracked is not None:
            tracked.is_closing = True

    def expired(self, now_ns: int) -> list[int]:
        """Sessions whose time is over and whose end has not been proposed yet, ascending."""
        return sorted(
            session
            for session, tracked in self._sessions.items()
            if not tracked.is_closing and tracked.deadline_ns <= now_ns
        )
