"""Fetch, for followers and consumers: read, learn from followers, and wait for data (long poll).

Rules in words:

* Consumers see what is below the HW. Between HW and LEO there is nothing for them yet, above the LEO the offset is out
  of range. Followers see everything.
* The fetch of a follower says what it has, once: when the request arrives. When it is answered later from the
  purgatory, that is no news of the follower.
* A follower's fetch that was sent before its broker's present registration gets NOT_LEADER_OR_FOLLOWER and moves
  nothing: neither LEO nor HW, nor when the follower fetched last (KAFKA-15221, Kafka 3.7).
* A fetch whose last fetched epoch does not fit the leader's log gets the diverging epoch and no records (KIP-320).
* A request waits until it has ``min_bytes``, at most ``max_wait_ms``; any error, any divergence and any change of
  leader ends the wait.
* ``max_bytes`` goes over all partitions in the order of the request. The first batch of the first partition with data
  is sent even if it is larger, so that no client gets stuck. No answer is larger than ``fetch.max.bytes``.
* A follower outside the ISR gets no records of a throttled partition while the quota is exceeded (KIP-73,
  :mod:`highwater_runtime.broker.replication_quota`).
* There are no transactions, so the last stable offset is the HW, and no transaction was aborted.
* Batches compressed with zstd are for clients that know Fetch v10 or later (KIP-110).

What a request of a fetch session asks for, and which part of the answer is sent, is decided in
:mod:`highwater_runtime.broker.fetch_sessions`. Of a session only the partitions that are news are looked at; here is
decided when one is quiet again:

* for a consumer, when it asks at the HW or above;
* for a follower, when it asks at the LEO, and :meth:`.Leadership.gains_nothing_by` further fetches: else each of them
  may let it join the ISR, or the HW move, for both depend on time and on the metadata.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple, cast

from highwater_runtime.broker import metrics
from highwater_runtime.broker.fetch_session import Answer, AskedPartition
from highwater_runtime.broker.fetch_sessions import TOPIC_IDS_SINCE, FetchSessions, SessionFetch
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import WatchKey
from highwater_runtime.broker.replica_manager import ReplicaManager
from highwater_runtime.log.errors import LogError
from highwater_runtime.log.records import iter_batches
from highwater_runtime.metadata import reachable
from highwater_runtime.ports import MS, InboundRequest
from highwater_runtime.ports.trace import TransitionTaken
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.fetch_session import NO_SESSION
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest
from highwater_runtime.wire.messages.fetch_response import (
    EpochEndOffset,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)

CONSUMER = -1
ZSTD_SINCE = 10
REPLICA_STATE_SINCE = 15
CURRENT_LEADER_SINCE = 12
NODE_ENDPOINTS_SINCE = 16
NO_EPOCH = -1
_NO_DIVERGENCE: Final = EpochEndOffset()
_NO_CURRENT_LEADER: Final = LeaderIdAndEpoch()
_NO_SNAPSHOT: Final = SnapshotId()
"""Defaults that all answers share, as making them costs half of an answer. They are replaced, and never changed."""

FetchCheck = tuple[ErrorCode, EpochEndOffset | None]
FINE: Final[FetchCheck] = (ErrorCode.NONE, None)
"""The one result of this content: compared by identity."""


_Read = Callable[..., bytes]
_Asked = tuple[AskedPartition, Partition | ErrorCode]
"""One partition of the request: what was asked, and the replica or the error that was found for it."""


class _Who(NamedTuple):
    """Who asks: a follower (replica id ≥ 0, with its broker epoch or −1) or a consumer (−1)."""

    replica_id: int
    replica_epoch: int

    @property
    def is_follower(self) -> bool:
        return self.replica_id >= 0


def handle(request: InboundRequest, replicas: ReplicaManager, sessions: FetchSessions) -> None:
    """Answer a FetchRequest, at once or when there is enough."""
    body: FetchRequest = request.body
    if request.version >= REPLICA_STATE_SINCE:
        who = _Who(body.replica_state.replica_id, body.replica_state.replica_epoch)
    else:
        who = _Who(body.replica_id, NO_EPOCH)
    session = sessions.begin(body, request.version, privileged=who.is_follower, asker=who)
    if isinstance(session, ErrorCode):
        replicas.ports.trace.emit(TransitionTaken(reason="fetch-session-refused"))
        request.reply(FetchResponse(error_code=session))
        return
    replicas.ports.metrics.counter(metrics.FETCH_REQUESTS, len(session))
    stale = who.is_follower and replicas.has_stale_epoch(who.replica_id, who.replica_epoch)
    if stale and session.session is not None:
        sessions.disturb(session.session)
    delayed = DelayedFetch(request, body, who, session, sessions, replicas, stale=stale)
    if who.is_follower and not stale:
        delayed.learn()
        if session.session is not None:
            session.session.fetched_ns = replicas.ports.clock.now_ns()
    if body.max_wait_ms <= 0 or not len(session):
        delayed.expire()
    else:
        replicas.fetches.park(delayed, delayed.watched(), body.max_wait_ms * MS)


def judge(partition: Partition, fetch: FetchPartition, replica_id: int) -> FetchCheck:
    """Whether this replica can answer with data: an error, a divergence, or neither (:data:`FINE`).

    Right leader epoch, a follower of the assignment, an offset inside the log, and a last fetched epoch that ends in
    this log where the fetcher's does, or later.
    """
    error = partition.check_leader_epoch(fetch.current_leader_epoch)
    if error is not ErrorCode.NONE:
        return error, None
    assert partition.leading is not None
    if replica_id >= 0 and replica_id not in partition.leading.followers:
        return ErrorCode.UNKNOWN_LEADER_EPOCH, None  # the follower knows an assignment that has not come here yet
    log, last_epoch, offset = partition.log, fetch.last_fetched_epoch, fetch.fetch_offset
    end_offset = log.log_end_offset
    if offset < log.log_start_offset:
        return ErrorCode.OFFSET_OUT_OF_RANGE, None
    # The newest epoch of a log ends with the log: most fetches need no look into the epochs.
    if last_epoch != NO_EPOCH and (last_epoch != log.latest_epoch or offset > end_offset):
        end = log.epoch_end_offset(last_epoch)
        if end.end_offset < 0:
            return ErrorCode.OFFSET_OUT_OF_RANGE, None
        if end.epoch < last_epoch or end.end_offset < offset:
            return ErrorCode.NONE, EpochEndOffset(epoch=end.epoch, end_offset=end.end_offset)
    return (ErrorCode.OFFSET_OUT_OF_RANGE, None) if offset > end_offset else FINE


def visible_end(partition: Partition, replica_id: int) -> int:
    """Exclusive end of what may be read: the LEO for followers, the HW for consumers."""
    return partition.log.log_end_offset if replica_id >= 0 else partition.high_watermark


class DelayedFetch:
    """A fetch that waits for ``min_bytes``. ``stale``: it was sent in a previous incarnation of the follower."""

    __slots__ = (
        "_judged",
        "_max_bytes",
        "_min_bytes",
        "_read_committed",
        "_replicas",
        "_request",
        "_session",
        "_sessions",
        "_stale",
        "_who",
        "_with_data",
        "unseen",
    )

    def __init__(
        self,
        request: InboundRequest,
        body: FetchRequest,
        who: _Who,
        session: SessionFetch,
        sessions: FetchSessions,
        replicas: ReplicaManager,
        *,
        stale: bool,
    ) -> None:
        self._request = request
        self._max_bytes = min(body.max_bytes, replicas.options.config.fetch_max_bytes)
        self._min_bytes = min(body.min_bytes, self._max_bytes)
        self._read_committed = body.isolation_level != 0
        self._who = who
        self._session = session
        self._sessions = sessions
        self._replicas = replicas
        self._stale = stale
        self._with_data = False
        """Whether something to send was seen."""
        self.unseen = self._resolved(session.unseen())
        """Partitions that may have something to tell, in order, until the first attempt has looked at them."""
        self._judged = False
        """Whether :meth:`learn` has found that all of these can be answered with data, in this event."""

    def learn(self) -> None:
        """Take in what a follower's fetch says of the follower, for each partition that can be answered with data."""
        who, self._judged = self._who, True
        for asked, found in self.unseen:
            fetch = asked.fetch
            if isinstance(found, Partition) and judge(found, fetch, who.replica_id) == FINE:
                assert found.leading is not None
                found.leading.fetched_by(who.replica_id, fetch.fetch_offset, fetch.log_start_offset, who.replica_epoch)
            else:
                self._judged = False

    def watched(self) -> list[WatchKey]:
        """What wakes it: its session, or the partitions of a full fetch. Ask before the first attempt."""
        if self._session.session is not None:
            return [self._session.session]
        return [found.name for _, found in self.unseen if isinstance(found, Partition)]

    def _resolved(self, asked: list[AskedPartition]) -> list[_Asked]:
        replicas, resolved = self._replicas, []
        by_id = self._request.version >= TOPIC_IDS_SINCE
        for one in asked:
            index = one.fetch.partition
            found = replicas.find(one.topic_id, index) if by_id else replicas.find_by_name(one.topic, index)
            if isinstance(found, Partition):
                self._sessions.watch(one, found.name)
                if self._stale:
                    found = ErrorCode.NOT_LEADER_OR_FOLLOWER
            resolved.append((one, found))
        return resolved

    def try_complete(self) -> bool:
        """Answer if there is enough, or if there is anything that the fetcher should know at once.

        What was looked at before and was not marked since still has no error, and nothing more to send.
        """
        replica_id, session = self._who.replica_id, self._session
        unseen, self.unseen = self.unseen, []
        # What a leader learns of a follower changes neither its log nor its epoch.
        judged, self._judged = self._judged, False
        if not unseen:
            unseen, judged = self._resolved(session.unseen()), False
        for asked, found in unseen:
            if isinstance(found, ErrorCode) or not (judged or judge(found, asked.fetch, replica_id) == FINE):
                self.expire()
                return True
            if visible_end(found, replica_id) > asked.fetch.fetch_offset:
                if self._holds_back(found):
                    session.see_again()  # time may let it go
                else:
                    self._with_data = True
        min_bytes = self._min_bytes
        if not self._with_data and min_bytes > 0 and not session.is_over:
            return False
        news = session.news
        looked_at = unseen if len(unseen) == len(news) else self._resolved(news)
        answers, size = self._read(looked_at, judged=True)
        if size < min_bytes and min_bytes > 1 and not session.is_over:
            return False
        self._reply(looked_at, answers, size)
        return True

    def expire(self) -> None:
        """Answer with what there is."""
        looked_at = self._resolved(self._session.news)
        self._reply(looked_at, *self._read(looked_at))

    def _reply(self, looked_at: list[_Asked], answers: list[Answer], size: int) -> None:
        name = metrics.REPLICATION_BYTES_OUT if self._who.is_follower else metrics.BYTES_OUT
        self._replicas.ports.metrics.counter(name, size)
        if self._who.is_follower and size:
            self._count_throttled(looked_at, answers)
        failed = sum(data.error_code != ErrorCode.NONE for _, data in answers)
        if failed:
            self._replicas.ports.metrics.counter(metrics.FAILED_FETCH_REQUESTS, failed)
        response = self._session.respond(answers)
        if response.session_id != NO_SESSION and response.error_code == ErrorCode.NONE:
            for (_, found), (asked, data) in zip(looked_at, answers, strict=True):
                if isinstance(found, Partition):
                    self._calm(asked, found, data)
        if failed and self._request.version >= NODE_ENDPOINTS_SINCE:
            response.node_endpoints = self._endpoints(response)
        self._request.reply(response)

    def _holds_back(self, partition: Partition) -> bool:
        """Whether the follower that asks must wait for the leader's quota."""
        quota, follower = self._replicas.quotas.leader, self._who.replica_id
        return (
            follower >= 0
            and follower not in partition.isr.committed
            and quota.is_throttled(partition.topic, partition.index)
            and quota.is_exceeded
        )

    def _count_throttled(self, looked_at: list[_Asked], answers: list[Answer]) -> None:
        quota = self._replicas.quotas.leader
        for (_, found), (_, data) in zip(looked_at, answers, strict=True):
            if data.records and isinstance(found, Partition) and quota.is_throttled(found.topic, found.index):
                quota.record(len(data.records))

    def _calm(self, asked: AskedPartition, partition: Partition, data: PartitionData) -> None:
        """Mark a partition as quiet after an answer in a session, if it needs no look until it changes."""
        self._sessions.watch(asked, partition.name)
        leading, offset = partition.leading, asked.fetch.fetch_offset
        if data.error_code != ErrorCode.NONE or data.diverging_epoch.epoch >= 0 or leading is None:
            return
        replica_id = self._who.replica_id
        if replica_id < 0:
            if offset >= partition.high_watermark:
                self._sessions.calm(asked, None)
            return
        follower = leading.followers.get(replica_id)
        if follower is not None and offset == follower.log_end_offset and leading.gains_nothing_by(follower):
            self._sessions.calm(asked, follower)

    def _endpoints(self, response: FetchResponse) -> list[NodeEndpoint]:
        """Where the leaders listen that the response names (KIP-951)."""
        leaders = {data.current_leader.leader_id for topic in response.responses for data in topic.partitions}
        known = self._replicas.image.brokers
        brokers = [known[leader] for leader in sorted(leaders) if leader in known]
        return [
            NodeEndpoint(node_id=b.id, host=at.host, port=at.port, rack=b.rack)
            for b, at in reachable(brokers, self._request.listener)
        ]

    def _read(self, looked_at: list[_Asked], *, judged: bool = False) -> tuple[list[Answer], int]:
        """The answer as it stands, and how many bytes of records are in it. ``judged``: all can be answered."""
        budget, total = self._max_bytes, 0
        answers: list[Answer] = []
        for asked, found in looked_at:
            fetch = asked.fetch
            if isinstance(found, ErrorCode):
                data = _failed(fetch.partition, found)
                self._point_to_leader(data, *self._replicas.leader_of(asked.topic, asked.topic_id, fetch.partition))
            else:
                checked = FINE if judged else judge(found, fetch, self._who.replica_id)
                data = self._read_one(found, fetch, checked, budget - total, first=total == 0)
                if data.records:
                    total += len(data.records)
            answers.append((asked, data))
        return answers, total

    def _read_one(
        self, partition: Partition, fetch: FetchPartition, checked: FetchCheck, budget: int, *, first: bool
    ) -> PartitionData:
        error, diverging = checked
        if error is not ErrorCode.NONE:
            data = _failed(fetch.partition, error)
            self._point_to_leader(data, partition.leader_id, partition.leader_epoch)
            return data
        data = PartitionData(
            partition_index=fetch.partition,
            error_code=ErrorCode.NONE,
            high_watermark=partition.high_watermark,
            last_stable_offset=partition.high_watermark,
            log_start_offset=partition.log.log_start_offset,
            diverging_epoch=_NO_DIVERGENCE,
            current_leader=_NO_CURRENT_LEADER,
            snapshot_id=_NO_SNAPSHOT,
            aborted_transactions=[] if self._read_committed else None,
            records=b"",
        )
        if diverging is not None:
            data.diverging_epoch = diverging
            return data
        end = visible_end(partition, self._who.replica_id)
        max_bytes = min(fetch.partition_max_bytes, budget)
        if fetch.fetch_offset < end and (max_bytes > 0 or first) and not self._holds_back(partition):
            # What is below the HW is hardly ever cut off. A range of a file stands for its bytes in a response: the
            # encoder asks for its length alone, and the host sends it.
            may_lend = not self._who.is_follower and self._request.version >= ZSTD_SINCE
            read = cast(_Read, partition.log.lend) if may_lend else partition.log.read
            try:
                data.records = read(fetch.fetch_offset, max(0, max_bytes), max_offset=end, min_one_batch=first)
            except LogError as refused:
                return _failed(fetch.partition, ErrorCode[refused.KAFKA_ERROR])
            if self._request.version < ZSTD_SINCE and _has_zstd(data.records):
                return _failed(fetch.partition, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)
        return data

    def _point_to_leader(self, data: PartitionData, leader: int, epoch: int) -> None:
        """Where leadership has gone from here, or the asker is behind, name the leader (KIP-951)."""
        moved = data.error_code in (ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH)
        if moved and self._request.version >= CURRENT_LEADER_SINCE:
            data.current_leader = LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)


def _has_zstd(records: bytes) -> bool:
    return any(batch.codec == "zstd" for batch in iter_batches(records))


def _failed(index: int, error: ErrorCode) -> PartitionData:
    return PartitionData(partition_index=index, error_code=error, high_watermark=-1, records=b"")
