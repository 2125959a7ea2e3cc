"""Fetch sessions (KIP-227): a consumer of many partitions names only what changes in what it asks, and is answered only
what changes in what there is.

Rules in words:

* A request with session id 0 and epoch 0 is a full fetch that asks for a session; with epoch −1 it wants none. A full
  fetch that names a session closes it. Any other epoch continues the session named: an unknown one is answered
  FETCH_SESSION_ID_NOT_FOUND, another epoch than the next one INVALID_FETCH_SESSION_EPOCH, and topic names in a
  session that was opened by id, or the other way round, FETCH_SESSION_TOPIC_ID_ERROR. The client then begins again.
* A partition is in an incremental answer if it has records, an error or a diverging epoch, or if its HW or log start
  has moved since the last answer with it. An error makes the next answer send the HW again.
* Partitions that had records go to the end of the line, so that all get their share of ``max_bytes``.
* A session that names more than :data:`MOST_UNKNOWN` partitions that are unknown here is closed: its client begins
  again, or goes on with full fetches. Kafka keeps however many are named.
* There are at most ``max.incremental.fetch.session.cache.slots`` sessions. A new one takes the place of one that was
  not used for two minutes; else of one that is older than that and has fewer partitions. Followers come before
  consumers. If there is no place, the client gets session 0 and goes on with full fetches.

Kafka looks at every partition of a session in every request, answer and wake-up. Here a session keeps its *news*: the
partitions that the next answer may have to include. The others are *quiet*, and nothing looks at them: the client has
their current state, and fetches at the end of their log. Sources of news:

* a request names the partition;
* something of it has changed (:class:`~highwater_runtime.broker.purgatory.WakeUps` marks it): HW, log start, leader
  epoch, ISR, assignment, the end of a proposal, a failed log; for a follower, who sees more than consumers, also an
  append;
* somebody else asks in this session than before (a follower under another broker epoch): all of it;
* the follower has fetched the partition in another way: in another session, or in none.

What an answer has looked at stays news until :mod:`~highwater_runtime.broker.apis.fetch` calls it quiet. A request in a
follower's session is a fetch of its quiet partitions too, at the LEO: :class:`.QuietPartition` says when the last one
was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from random import Random
from typing import Final
from uuid import UUID

from highwater_runtime.broker.fetch_session import Answer, AskedPartition, Asker, Session
from highwater_runtime.broker.follower_state import FollowerState
from highwater_runtime.broker.purgatory import Purgatory, WatchKey
from highwater_runtime.ports import SECOND, Metrics
from highwater_runtime.wire.codec import ZERO_UUID
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.fetch_session import FINAL_EPOCH, FIRST_EPOCH, NO_SESSION, next_epoch
from highwater_runtime.wire.messages.fetch_request import FetchRequest, FetchTopic, ForgottenTopic
from highwater_runtime.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse

TOPIC_IDS_SINCE: Final = 13
EVICTION_AFTER_NS: Final = 120 * SECOND
"""How long a session is safe from others (Kafka's MIN_INCREMENTAL_FETCH_SESSION_EVICTION_MS)."""

MOST_UNKNOWN: Final = 1000
"""Partitions of a session that may be unknown here. Some are, while a follower is ahead of this broker's metadata."""

SESSIONS: Final = "kafka_server_fetchsessioncache_numincrementalfetchsessions"
PARTITIONS: Final = "kafka_server_fetchsessioncache_numincrementalfetchpartitionscached"
EVICTIONS: Final = "kafka_server_fetchsessioncache_incrementalfetchsessionevictions_total"

_UNKNOWN_HERE: Final = (ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

_PLACE: Final = attrgetter("place")


class SessionFetch:
    """One fetch request as its session understands it: what it asks, and how it is answered."""

    __slots__ = ("_epoch", "_named", "_opens", "_seen", "_sessions", "session")

    def __init__(
        self,
        sessions: FetchSessions,
        named: list[AskedPartition],
        *,
        session: Session | None = None,
        opens: tuple[bool, bool, Asker] | None = None,
    ) -> None:
        self._named = named
        self._sessions = sessions
        self.session = session
        """The session that the request continues; None for a full one."""
        self._epoch = 0 if session is None else session.epoch
        self._opens = opens
        self._seen = 0
        """The last mark of the session that :meth:`unseen` has taken into account."""

    def __len__(self) -> int:
        """How many partitions the request asks for, whether it names them or not."""
        return len(self._named) if self.session is None else len(self.session.partitions)

    @property
    def asked(self) -> list[AskedPartition]:
        """All partitions that are asked for, in order."""
        return self._named if self.session is None else sorted(self.session.partitions.values(), key=_PLACE)

    @property
    def news(self) -> list[AskedPartition]:
        """Return the partitions to look at, in order. The others have nothing new to send."""
        return self._named if self.session is None else sorted(self.session.news, key=_PLACE)

    def unseen(self) -> list[AskedPartition]:
        """Return the :attr:`news` that was marked since the last call, in order; of a full fetch all that is asked."""
        session = self.session
        if session is None:
            return self._named
        unseen = []
        for asked, mark in reversed(session.news.items()):
            if mark <= self._seen:
                break
            unseen.append(asked)
        self._seen = session.marks
        unseen.sort(key=_PLACE)
        return unseen

    def see_again(self) -> None:
        """Let the next call of :meth:`unseen` return all :attr:`news`."""
        self._seen = 0

    @property
    def is_over(self) -> bool:
        """Whether there is nothing to wait for: the session has lost its place."""
        return self.session is not None and self._sessions.find(self.session.id) is not self.session

    def respond(self, answers: list[Answer]) -> FetchResponse:
        """The response for what was read of :attr:`news` (or of all that is asked), in its order."""
        if self.session is not None:
            return self._changes(self.session, answers)
        if self._opens is None or _too_many_unknown(answers):
            return FetchResponse(session_id=NO_SESSION, responses=_by_topic(answers))
        by_id, privileged, asker = self._opens
        session = self._sessions.create(len(self._named), asker, by_id=by_id, privileged=privileged)
        if session is None:
            return FetchResponse(session_id=NO_SESSION, responses=_by_topic(answers))
        for asked, data in answers:
            asked.is_news(data)
            self._sessions.add(session, asked)
        self._sessions.count(len(session.partitions))
        return FetchResponse(session_id=session.id, responses=_by_topic(answers))

    def _changes(self, session: Session, answers: list[Answer]) -> FetchResponse:
        if session.epoch != self._epoch:
            # The client has gone on in this session without waiting for this answer.
            return FetchResponse(error_code=ErrorCode.INVALID_FETCH_SESSION_EPOCH, session_id=session.id)
        changed = []
        for answer in answers:
            asked, data = answer
            if asked.is_news(data):
                changed.append(answer)
                if data.records:
                    session.to_the_end(asked)
        if _too_many_unknown(changed):  # errors are always news
            self._sessions.close(session.id)
        return FetchResponse(session_id=session.id, responses=_by_topic(changed))


class FetchSessions:
    """All sessions of a broker, the one used longest ago first.

    Args:
        slots: how many there may be.
        random: where session ids are drawn from, when one is opened.
        now_ns: the node's time.
        evicted: called each time a session loses its place to another.
        waiting: where fetches of sessions wait; each watches its session.
    """

    def __init__(
        self,
        slots: int,
        random: Random,
        now_ns: Callable[[], int],
        metrics: Metrics,
        evicted: Callable[[], None] = lambda: None,
        waiting: Purgatory | None = None,
    ) -> None:
        self._slots = slots
        self._random = random
        self._now_ns = now_ns
        self._metrics = metrics
        self._evicted = evicted
        self._waiting = waiting
        self._sessions: dict[int, Session] = {}
        self._partitions = 0
        self._watching: dict[WatchKey, dict[AskedPartition, None]] = {}
        self._woken: dict[Session, None] = {}

    def __len__(self) -> int:
        """How many sessions there are."""
        return len(self._sessions)

    def find(self, session_id: int) -> Session | None:
        """The session of this id."""
        return self._sessions.get(session_id)

    # --- requests -------------------------------------------------------------------------------------------------

    def begin(
        self, body: FetchRequest, version: int, *, privileged: bool, asker: Asker = (-1, -1)
    ) -> SessionFetch | ErrorCode:
        """What a request asks, or why it cannot be answered. ``privileged``: it is a follower's."""
        by_id = version >= TOPIC_IDS_SINCE
        if body.session_epoch == FINAL_EPOCH and body.session_id == NO_SESSION:
            return SessionFetch(self, _asked(body, by_id=by_id))
        if body.session_epoch in (FIRST_EPOCH, FINAL_EPOCH):
            self.close(body.session_id)
            opens = (by_id, privileged, asker) if body.session_epoch == FIRST_EPOCH else None
            return SessionFetch(self, _asked(body, by_id=by_id), opens=opens)
        session = self._sessions.get(body.session_id)
        if session is None:
            return ErrorCode.FETCH_SESSION_ID_NOT_FOUND
        if session.by_id != by_id:
            return ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR
        if session.epoch != body.session_epoch:
            return ErrorCode.INVALID_FETCH_SESSION_EPOCH
        if session.asker != asker:
            session.asker, session.privileged = asker, privileged
            self.disturb(session)
        self._continue(session, body)
        if not session.partitions:
            self.close(session.id)
            return SessionFetch(self, [])
        return SessionFetch(self, [], session=session)

    def disturb(self, session: Session) -> None:
        """All of a session is news."""
        for asked in session.partitions.values():
            asked.disturb()

    def _continue(self, session: Session, body: FetchRequest) -> None:
        size_before = len(session.partitions)
        for asked in _asked(body, by_id=session.by_id):
            known = session.partitions.get(asked.key)
            if known is None:
                self.add(session, asked)
            else:
                known.fetch = asked.fetch
                known.disturb()
        for topic in body.forgotten_topics_data:
            name, topic_id = _topic(topic, by_id=session.by_id)
            for index in topic.partitions:
                forgotten = session.partitions.pop((name, topic_id, index), None)
                if forgotten is not None:
                    session.news.pop(forgotten, None)
                    self._forget(forgotten)
        session.epoch = next_epoch(session.epoch)
        session.last_used_ns = self._now_ns()
        self._sessions[session.id] = self._sessions.pop(session.id)
        if len(session.partitions) != size_before:
            self.count(len(session.partitions) - size_before)

    # --- news -----------------------------------------------------------------------------------------------------

    def watch(self, asked: AskedPartition, key: WatchKey) -> None:
        """Let marks of ``key`` make a session's partition news; a mark for an append does so for followers only."""
        if asked.session is not None and asked.watched != key:
            self._unwatch(asked)
            asked.watched = key
            self._watching.setdefault(key, {})[asked] = None

    def calm(self, asked: AskedPartition, follower: FollowerState | None) -> None:
        """The client knows all there is of it: quiet until there is news. ``follower``: the client as its leader
        knows it."""
        session = asked.session
        if session is not None:
            asked.end_silence()
            session.news.pop(asked, None)
            if follower is not None:
                follower.fetch_by_session(asked)
                asked.kept_current = follower

    def note(self, changed: Mapping[WatchKey, bool], appended: Iterable[WatchKey]) -> None:
        """Take in what was marked in an event.

        A follower does not wait for the HW: its next response has it.
        """
        for key, only_high_watermark in changed.items():
            for asked in self._watching.get(key, ()):
                if only_high_watermark and asked.session is not None and asked.session.privileged:
                    asked.disturb()
                else:
                    self._news(asked)
        for key in appended:
            for asked in self._watching.get(key, ()):
                if asked.session is not None and asked.session.privileged:
                    self._news(asked)

    def _news(self, asked: AskedPartition) -> None:
        session = asked.session
        assert session is not None
        asked.disturb()
        self._woken[session] = None

    def wake(self) -> None:
        """Try the waiting fetches of the sessions that have news."""
        if self._woken:
            woken, self._woken = self._woken, {}
            if self._waiting is not None:
                for session in woken:
                    self._waiting.check(session)

    def _forget(self, asked: AskedPartition) -> None:
        asked.end_silence()
        self._unwatch(asked)
        asked.session = None

    def _unwatch(self, asked: AskedPartition) -> None:
        if asked.watched is not None:
            watching = self._watching[asked.watched]
            del watching[asked]
            if not watching:
                del self._watching[asked.watched]
            asked.watched = None

    # --- who has a place ------------------------------------------------------------------------------------------

    def create(self, size: int, asker: Asker, *, by_id: bool, privileged: bool) -> Session | None:
        """A new session, in the place of another where that is needed; None where there is no place."""
        now = self._now_ns()
        if len(self._sessions) >= self._slots and not self._make_room(size, privileged, now):
            return None
        session_id = 0
        while session_id == NO_SESSION or session_id in self._sessions:
            session_id = self._random.randrange(1, 2**31)
        session = Session(session_id, asker, privileged=privileged, by_id=by_id, now_ns=now)
        self._sessions[session_id] = session
        return session

    def add(self, session: Session, asked: AskedPartition) -> None:
        """Take a partition into a session; it is news."""
        replaced = session.partitions.get(asked.key)
        if replaced is not None:  # named twice in one request
            session.news.pop(replaced, None)
            self._forget(replaced)
        session.add(asked)

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
        self.close(oldest.id)
        self._metrics.counter(EVICTIONS)
        self._evicted()
        return True

    def close(self, session_id: int) -> None:
        """Forget a session, if it is there; fetches that wait in it are answered."""
        session = self._sessions.pop(session_id, None)
        if session is not None:
            for asked in session.partitions.values():
                self._forget(asked)
            self._woken[session] = None
            self.count(-len(session.partitions))

    def count(self, more_partitions: int) -> None:
        """Sessions hold so many partitions more, or there are other sessions: bring the gauges up to date."""
        self._partitions += more_partitions
        self._metrics.gauge(SESSIONS, len(self._sessions))
        self._metrics.gauge(PARTITIONS, self._partitions)


def _by_topic(answers: list[Answer]) -> list[FetchableTopicResponse]:
    topics: list[FetchableTopicResponse] = []
    for asked, data in answers:
        topic, topic_id = asked.topic, asked.topic_id
        last = topics[-1] if topics else None
        if last is None or (last.topic_id is not topic_id and last.topic_id != topic_id) or last.topic != topic:
            last = FetchableTopicResponse(topic=topic, topic_id=topic_id, partitions=[])
            topics.append(last)
        last.partitions.append(data)
    return topics


def _too_many_unknown(answers: list[Answer]) -> bool:
    """Whether what was read names more partitions that are unknown here than a session may."""
    return sum(data.error_code in _UNKNOWN_HERE for _, data in answers) > MOST_UNKNOWN


def _asked(body: FetchRequest, *, by_id: bool) -> list[AskedPartition]:
    return [AskedPartition(*_topic(topic, by_id=by_id), fetch) for topic in body.topics for fetch in topic.partitions]


def _topic(topic: FetchTopic | ForgottenTopic, *, by_id: bool) -> tuple[str, UUID]:
    """Name and id of a topic, of which a request carries one. (A message that was never encoded may hold both.)"""
    return ("", topic.topic_id) if by_id else (topic.topic, ZERO_UUID)
