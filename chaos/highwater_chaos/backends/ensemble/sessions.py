"""The harness's own client of a ZooKeeper ensemble, by which sessions are ended and looked at.

A session is ended as it can be with any ZooKeeper server: another connection takes it over by its id and password, and
closes it. The client whose session it was finds out when it next speaks to a server. That it has ended is seen with a
session of the harness's own, by the owner of the broker's node.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from highwater_runtime.metadata.znodes import broker_path
from highwater_runtime.ports import MS, ClientCore, Ports
from highwater_runtime.ports.coordination import (
    Coordination,
    Create,
    Created,
    Exists,
    Failure,
    Session,
    SessionEvent,
    SessionKey,
    Stat,
)

CLIENT: Final = "harness-zookeeper"
_SESSION_MS: Final = 10_000
_FRESH_NS: Final = 100 * MS
"""For how long an answer counts, from the moment in which it was asked for. It counts once however old it is: on
Kubernetes a turn of the harness takes longer than this."""


_SECRET: Final = 0xB3415C00
"""ZooKeeper's ``superSecret``: it is the same everywhere."""


def password_of(session: int) -> bytes:
    """The password that ZooKeeper's servers give a session: 16 bytes that ``java.util.Random`` makes of its id."""
    state = (session ^ _SECRET ^ 0x5DEECE66D) & ((1 << 48) - 1)
    password = b""
    for _ in range(4):
        state = (state * 0x5DEECE66D + 0xB) & ((1 << 48) - 1)
        password += (state >> 16).to_bytes(4, "little")
    return password


class SessionsClient(ClientCore):
    """A client core."""

    def __init__(self, ports: Ports, coordination: Coordination) -> None:
        self._ports = ports
        self._coordination = coordination
        self._own: Session | None = None
        self._owners: dict[int, tuple[int, int]] = {}
        self._unread: set[int] = set()
        self._asking: dict[int, None] = {}
        self._taken: dict[SessionKey, Session] = {}

    # --- NodeCore ---

    def start(self) -> None:
        """Begin a session of its own."""
        self._own = self._coordination.open(_SESSION_MS, self._on_own_event)

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Close its own session, and give up those that were to be ended."""
        own, self._own = self._own, None
        for taken in self._taken.values():
            taken.close(lambda: None)
        self._taken.clear()
        if own is None:
            on_stopped()
        else:
            own.close(on_stopped)

    def _on_own_event(self, event: SessionEvent) -> None:
        if event is SessionEvent.EXPIRED and self._own is not None:
            self.start()

    # --- what the harness asks ---

    def end(self, key: SessionKey) -> None:
        """Take the session over and close it; again if the connection breaks before it is known to be closed."""
        if key in self._taken:
            return

        def on_event(event: SessionEvent) -> None:
            match event:
                case SessionEvent.CONNECTED:
                    self._taken[key].close(closed)
                case SessionEvent.EXPIRED:
                    self._taken.pop(key, None)
                case SessionEvent.SUSPENDED:
                    pass

        def closed() -> None:
            # Without a connection the ensemble has not been informed, and this is not known here. A probe must check.
            self._taken.pop(key, None)

        self._taken[key] = self._coordination.open(_SESSION_MS, on_event, key=key)

    def create(self, path: str, data: bytes, on_outcome: Callable[[str | None], None]) -> None:
        """Create a node; ``on_outcome`` gets why that failed, or None."""
        if self._own is None:
            on_outcome(f"{path} was not created: there is no session")
            return

        def answered(result: Created | Failure) -> None:
            on_outcome(f"{path} was not created: {result.value}" if isinstance(result, Failure) else None)

        self._own.submit(Create(path, data), answered)

    def owner(self, broker: int) -> int | None:
        """The session that a broker's node ``/brokers/ids/N`` belongs to, 0 if there is none; None: it is not known
        yet, and has been asked for."""
        now = self._ports.clock.now_ns()
        at, owner = self._owners.get(broker, (-_FRESH_NS, 0))
        if broker in self._unread or now - at < _FRESH_NS:
            self._unread.discard(broker)
            return owner
        if broker not in self._asking and self._own is not None:
            self._asking[broker] = None
            self._own.submit(Exists(broker_path(broker)), lambda found: self._found(broker, now, found))
        return None

    def _found(self, broker: int, asked_ns: int, found: Stat | Failure | None) -> None:
        del self._asking[broker]
        if not isinstance(found, Failure):
            self._owners[broker] = (asked_ns, 0 if found is None else found.ephemeral_owner)
            self._unread.add(broker)
