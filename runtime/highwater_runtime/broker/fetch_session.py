"""What a fetch session keeps: the partitions that its client asks for, and which of them are news
(:mod:`.fetch_sessions` has the rules)."""

from __future__ import annotations

from typing import Final
from uuid import UUID

from highwater_runtime.broker.follower_state import FollowerState
from highwater_runtime.broker.purgatory import WatchKey
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.fetch_session import FIRST_EPOCH, next_epoch
from highwater_runtime.wire.messages.fetch_request import FetchPartition
from highwater_runtime.wire.messages.fetch_response import PartitionData

_UNKNOWN: Final = -1

Asker = tuple[int, int]
"""Replica id (−1: a consumer) and replica epoch of who asks."""

SessionKey = tuple[str, UUID, int]


class AskedPartition:
    """A partition as a fetch asks for it, and what the client of a session knows of it.

    ``topic`` is empty if the topic is named by id. ``high_watermark`` and ``log_start_offset``: as sent last.
    """

    __slots__ = (
        "fetch",
        "high_watermark",
        "kept_current",
        "log_start_offset",
        "place",
        "session",
        "topic",
        "topic_id",
        "watched",
    )

    def __init__(self, topic: str, topic_id: UUID, fetch: FetchPartition) -> None:
        self.topic = topic
        self.topic_id = topic_id
        self.fetch = fetch
        self.high_watermark = _UNKNOWN
        self.log_start_offset = _UNKNOWN
        self.place = 0
        """Its place in the line: least first."""
        self.session: Session | None = None
        self.watched: WatchKey | None = None
        """What marks it as news."""
        self.kept_current: FollowerState | None = None
        """While it is quiet: the follower for whom each request of the session is a fetch of it."""

    @property
    def key(self) -> SessionKey:
        """What a session knows it by."""
        return self.topic, self.topic_id, self.fetch.partition

    def is_news(self, data: PartitionData) -> bool:
        """Return whether ``data`` must be sent to the client; remembers it as sent."""
        news = bool(data.records) or data.diverging_epoch.epoch >= 0
        news = news or data.high_watermark != self.high_watermark or data.log_start_offset != self.log_start_offset
        self.high_watermark, self.log_start_offset = data.high_watermark, data.log_start_offset
        if data.error_code != ErrorCode.NONE:
            self.high_watermark = _UNKNOWN
            return True
        return news

    @property
    def fetched_ns(self) -> int:
        """When a follower has asked last in its session, the full fetch that opened it left out."""
        return 0 if self.session is None else self.session.fetched_ns

    def disturb(self) -> None:
        """There may be something to tell of it: the fetch that waits in its session, or else the next one, looks at
        it."""
        if self.session is not None:
            self.session.mark(self)
        self.end_silence()

    def end_silence(self) -> None:
        """Its session's requests are no longer fetches of it unless they look at it."""
        if self.kept_current is not None:
            self.kept_current.end_fetch_by_session()
            self.kept_current = None


Answer = tuple[AskedPartition, PartitionData]
"""What was read of a partition that is asked for."""


class Session:
    """A session as the broker keeps it."""

    __slots__ = (
        "asker",
        "by_id",
        "created_ns",
        "epoch",
        "fetched_ns",
        "id",
        "last_place",
        "last_used_ns",
        "marks",
        "news",
        "partitions",
        "privileged",
    )

    def __init__(self, session_id: int, asker: Asker, *, privileged: bool, by_id: bool, now_ns: int) -> None:
        self.id = session_id
        self.asker = asker
        self.privileged = privileged
        self.by_id = by_id
        self.created_ns = self.last_used_ns = now_ns
        self.fetched_ns = 0
        """When a follower has asked last in it, the full fetch that opened it left out."""
        self.epoch = next_epoch(FIRST_EPOCH)
        """The epoch of the next request."""
        self.partitions: dict[SessionKey, AskedPartition] = {}
        self.news: dict[AskedPartition, int] = {}
        """Each with the number of its last mark, in the order of these numbers."""
        self.marks = 0
        self.last_place = 0

    def add(self, asked: AskedPartition) -> None:
        """Take in a partition, at the end of the line."""
        asked.session = self
        self.partitions[asked.key] = asked
        self.mark(asked)
        self.to_the_end(asked)

    def mark(self, asked: AskedPartition) -> None:
        """Mark a partition as changed."""
        self.marks += 1
        self.news.pop(asked, None)
        self.news[asked] = self.marks

    def to_the_end(self, asked: AskedPartition) -> None:
        """It has got its share: others first."""
        self.last_place = asked.place = self.last_place + 1
