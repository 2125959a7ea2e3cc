"""Fetch sessions (KIP-227): a consumer of many partitions names only what changes in what it asks, and is answered only
what changes in what there is.

Rules in words:

* A request with session id 0 and epoch 0 is a full fetch that asks for a session; with epoch −1 it wants none. A full
  fetch that names a session closes it. Any other epoch continues the session named: an unknown one is answered
  FETCH_SESSION_ID_NOT_FOUND, another epoch than the next one INVALID_FETCH_SESSION_EPOCH, and topics told by name in a
  session that was opened by id, or the other way round, FETCH_SESSION_TOPIC_ID_ERROR. The client then begins anew.
* A partition is in an incremental answer if it has records, an error or a diverging epoch, or if its HW or log start
  has moved since it was told. An error makes the next answer tell the HW again.
* Partitions that had records go to the end of the line, so that all get their share of ``max_bytes``.
* There are at most ``max.incremental.fetch.session.cache.slots`` sessions. A new one takes the place of one that was
  not used for two minutes; else of one that is older than that and has fewer partitions. Followers come before
  consumers. Where there is no place, the client is told session 0 and goes on with full fetches.

The fetchers of this project's brokers ask without a session; other clients' sessions cost what they hold, no timer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Final, NamedTuple
from uuid import UUID

from highwater_runtime.ports import SECOND, Metrics
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest
from highwater_runtime.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData

NO_SESSION: Final = 0
FIRST_EPOCH: Final = 0
FINAL_EPOCH: Final = -1
TOPIC_IDS_SINCE: Final = 13
EVICTION_AFTER_NS: Final = 120 * SECOND
"""How long a session is safe from others (Kafka's MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS)."""

SESSIONS: Final = "kafka_server_fetchsessioncache_numincrementalfetchsessions"
PARTITIONS: Final = "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached"
EVICTIONS: Final = "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total"

_LAST_EPOCH: Final = 2**31 - 1
_UNKNOWN: Final = -1

_Key = tuple[str, UUID, int]


class AskedPartition(NamedTuple):
    """One partition as a fetch asks for it; ``topic`` is empty where the topic is told by id."""

    topic: str
    topic_id: UUID
    fetch: FetchPartition


@dataclass(slots=True)
class _Cached:
    """A partition of a session: what the client asked last, and what it knows."""

    asked: AskedPartition
    high_watermark: int = _UNKNOWN
    log_start_offset: int = _UNKNOWN

    def is_news(self, data: PartitionData) -> bool:
        """Whether the client must be told ``data``; remembers it as told."""
        news = bool(data.records) or data.diverging_epoch.epoch >= 0
        news = news or data.high_watermark != self.high_watermark or data.log_start_offset != self.log_start_offset
        self.high_watermark, self.log_start_offset = data.high_watermark, data.log_start_offset
        if data.error_code != ErrorCode.NONE:
            self.high_watermark = _UNKNOWN
            return True
        return news


@dataclass(slots=True)
class _Session:
    id: int
    privileged: bool
    by_id: bool
    created_ns: int
    last_used_ns: int
    epoch: int = FIRST_EPOCH + 1
    """The epoch of the next request."""
    partitions: dict[_Key, _Cached] = field(default_factory=dict)

    def advance(self) -> None:
        self.epoch = 1 if self.epoch == _LAST_EPOCH else self.epoch + 1


class SessionFetch:
    """One fetch request as its session understands it: what it asks, and how it is answered."""

    __slots__ = ("_epoch", "_opens", "_session", "_sessions", "asked")

    def __init__(
        self,
        sessions: FetchSessions,
        asked: list[AskedPartition],
        *,
        session: _Session | None = None,
        opens: tuple[bool, bool] | None = None,
    ) -> None:
        self.asked = asked
        """The partitions to read, in order: all of the session's, whatever the request named."""
        self._sessions = sessions
        self._session = session
        self._epoch = 0 if session is None else session.epoch
        self._opens = opens

    def respond(self, topics: list[FetchableTopicResponse]) -> FetchResponse:
        """The response for what was read of :attr:`asked`, in its order."""
        if self._session is not None:
            return self._changes(self._session, topics)
        if self._opens is None:
            return FetchResponse(session_id=NO_SESSION, responses=topics)
        by_id, privileged = self._opens
        session = self._sessions.create(len(self.asked), by_id=by_id, privileged=privileged)
        if session is None:
            return FetchResponse(session_id=NO_SESSION, responses=topics)
        data = (data for topic in topics for data in topic.partitions)
        for asked, told in zip(self.asked, data, strict=True):
            cached = session.partitions[_key(asked)] = _Cached(asked)
            cached.is_news(told)
        self._sessions.count(len(session.partitions))
        return FetchResponse(session_id=session.id, responses=topics)

    def _changes(self, session: _Session, topics: list[FetchableTopicResponse]) -> FetchResponse:
        if session.epoch != self._epoch:
            # The client has gone on in this session without waiting for this answer.
            return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=session.id)
        told: list[FetchableTopicResponse] = []
        for topic in topics:
            news = []
            for data in topic.partitions:
                key = (topic.topic, topic.topic_id, data.partition_index)
                cached = session.partitions[key]
                if cached.is_news(data):
                    news.append(data)
                    if data.records:
                        session.partitions[key] = session.partitions.pop(key)
            if news:
                told.append(FetchableTopicResponse(topic=topic.topic, topic_id=topic.topic_id, partitions=news))
        return FetchResponse(session_id=session.id, responses=told)


class FetchSessions:
    """All sessions of a broker, the one used longest ago first.

    Args:
        slots: how many there may be.
        random: where session ids are drawn from, when one is opened.
        now_ns: the node's time.
        evicted: called each time a session loses its place to another.
    """

    def __init__(
        self,
        slots: int,
        random: Random,
        now_ns: Callable[[], int],
        metrics: Metrics,
        evicted: Callable[[], None] = lambda: None,
    ) -> None:
        self._slots = slots
        self._random = random
        self._now_ns = now_ns
        self._metrics = metrics
        self._evicted = evicted
        self._sessions: dict[int, _Session] = {}
        self._partitions = 0

    def __len__(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)

    def begin(self, body: FetchRequest, version: int, *, privileged: bool) -> SessionFetch | ErrorCode:
        """What a request asks, or why it cannot be answered. ``privileged``: it is a follower's."""
        by_id = version >= TOPIC_IDS_SINCE
        if body.session_epoch == FINAL_EPOCH and body.session_id == NO_SESSION:
            return SessionFetch(self, _asked(body))
        if body.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
            self._remove(body.session_id)
            opens = (by_id, privileged) if body.session_epoch == FIRST_EPOCH else None
            return SessionFetch(self, _asked(body), opens=opens)
        session = self._sessions.get(body.session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.by_id != by_id:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        if session.epoch != body.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        self._continue(session, body)
        if not session.partitions:
            self._remove(session.id)
            return SessionFetch(self, [])
        return SessionFetch(self, [cached.asked for cached in session.partitions.values()], session=session)

    def _continue(self, session: _Session, body: FetchRequest) -> None:
        size_before = len(session.partitions)
        for asked in _asked(body):
            cached = session.partitions.get(_key(asked))
            if cached is None:
                session.partitions[_key(asked)] = _Cached(asked)
            else:
                cached.asked = asked
        for topic in body.forgotten_topics_data:
            for index in topic.partitions:
                session.partitions.pop((topic.topic, topic.topic_id, index), None)
        session.advance()
        session.last_used_ns = self._now_ns()
        self._sessions[session.id] = self._sessions.pop(session.id)
        if len(session.partitions) != size_before:
            self.count(len(session.partitions) - size_before)

    def create(self, size: int, *, by_id: bool, privileged: bool) -> _Session | None:
        """A new session, in the place of another where that is needed; None where there is no place."""
        now = self._now_ns()
        if len(self._sessions) >= self._slots and not self._make_room(size, privileged, now):
            return None
        session_id = 0
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._random.randrange(1, 2**31)
        session = _Session(session_id, privileged, by_id, created_ns=now, last_used_ns=now)
        self._sessions[session_id] = session
        return session

    def _make_room(self, size: int, privileged: bool, now: int) -> bool:
        if not self._sessions:
            return False
        oldest = next(iter(self._sessions.values()))
        if now - oldest.last_used_ns <= EVICTION_AFTER_NS:
            evictable = [
                (session.privileged, len(session.partitions), session.id)
                for session in self._sessions.values()
                if now - session.created_ns > EVICTION_AFTER_NS or (privileged and not session.privileged)
            ]
            if not evictable or min(evictable) > (privileged, size, 0):
                return False
            oldest = self._sessions[min(evictable)[2]]
        self._remove(oldest.id)
        self._metrics.counter(EVICTIONS)
        self._evicted()
        return True

    def _remove(self, session_id: int) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            self.count(-len(session.partitions))

    def count(self, more_partitions: int) -> None:
        """Sessions hold so many partitions more, or there are other sessions: bring the gauges up to date."""
        self._partitions += more_partitions
        self._metrics.gauge(SESSIONS, len(self._sessions))
        self._metrics.gauge(PARTITIONS, self._partitions)


def _key(asked: AskedPartition) -> _Key:
    return asked.topic, asked.topic_id, asked.fetch.partition


def _asked(body: FetchRequest) -> list[AskedPartition]:
    return [AskedPartition(topic.topic, topic.topic_id, fetch) for topic in body.topics for fetch in topic.partitions]
