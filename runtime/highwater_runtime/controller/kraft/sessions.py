"""Which brokers are alive, by this controller's own clock, and how far each has followed the metadata log.

Soft state of the active controller: nothing of it is in the metadata log. A controller that becomes active gives
every unfenced broker a fresh session, because it cannot know what the last one heard. Fenced brokers have none.
"""

from __future__ import annotations

from dataclasses import dataclass

from highwater_runtime.metadata import MetadataImage


@dataclass(slots=True)
class Session:
    """``metadata_offset`` is the last that the broker reported, −1 before its first heartbeat to this controller.

    ``shutdown_offset`` is where its controlled shutdown is in the metadata log; −1 while it has asked for none.
    """

    last_contact_ns: int
    metadata_offset: int = -1
    shutdown_offset: int = -1


class BrokerSessions:
    """Sessions of the brokers that are not fenced, by broker id."""

    def __init__(self, timeout_ns: int) -> None:
        self._timeout_ns = timeout_ns
        self._sessions: dict[int, Session] = {}

    def restart(self, image: MetadataImage, now_ns: int) -> None:
        """A fresh session for every unfenced broker of ``image``, and for no other."""
        self._sessions = {
            broker_id: Session(now_ns) for broker_id in sorted(image.brokers) if not image.brokers[broker_id].fenced
        }

    def touch(self, broker_id: int, now_ns: int, metadata_offset: int) -> Session:
        """A heartbeat of an unfenced broker arrived."""
        session = self._sessions.setdefault(broker_id, Session(now_ns))
        session.last_contact_ns = now_ns
        session.metadata_offset = metadata_offset
        return session

    def forget(self, broker_id: int) -> None:
        """The broker is fenced or gone."""
        self._sessions.pop(broker_id, None)

    def get(self, broker_id: int) -> Session | None:
        """The broker's session, where it has one."""
        return self._sessions.get(broker_id)

    def is_alive(self, broker_id: int, now_ns: int) -> bool:
        """Whether the broker has a session that has not timed out."""
        session = self._sessions.get(broker_id)
        return session is not None and now_ns < session.last_contact_ns + self._timeout_ns

    def expired(self, now_ns: int) -> list[int]:
        """Brokers whose sessions have timed out, the one heard longest ago first.

        They are fenced in this order, as in Kafka, so the last member of an ISR is the one that was heard last. If this
        controller was late (paused, overloaded), that one may be alive, and another one may have lost its disk.
        """
        expired = [broker_id for broker_id in self._sessions if not self.is_alive(broker_id, now_ns)]
        return sorted(expired, key=lambda broker_id: (self._sessions[broker_id].last_contact_ns, broker_id))

    def next_deadline_ns(self) -> int | None:
        """When the next session times out if nothing is heard; ``None`` without sessions."""
        if not self._sessions:
            return None
        return min(session.last_contact_ns for session in self._sessions.values()) + self._timeout_ns

    def lowest_active_offset(self, image: MetadataImage) -> int | None:
        """The least metadata offset that any broker which may lead has reported; ``None`` where there is none."""
        return min(
            (
                session.metadata_offset
                for broker_id, session in self._sessions.items()
                if broker_id in image.brokers and image.brokers[broker_id].active
            ),
            default=None,
        )
