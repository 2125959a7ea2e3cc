"""How a follower copies its leaders' logs: one fetch loop for each leader broker, all its partitions in one request.

Rules in words:

* The loop keeps a fetch session with its leader (KIP-227): a request names the partitions that are new, or that are
  asked for otherwise than before, and looks at no others. An answer has what has changed at the leader.
* What to ask for is read from the log when a request is made: the LEO, and the epoch of the last record there. So the
  *last fetched epoch* is right after empty answers, truncations and restarts alike. Whatever moves the log makes it
  read again (:meth:`LeaderFetcher.moved`).
* An answer counts only if the partition is still followed in the leader epoch, and its LEO is still the offset, that
  the request named.
* A partition in trouble leaves the session for ``replica.fetch.backoff.ms``; the others go on. New metadata ends the
  wait. A leader that does not answer is left alone for as long.
* The loop keeps the leader's endpoint with which it began, whatever the metadata says later (Kafka's
  ``RemoteLeaderEndPoint``).
* What a log refuses is one partition's affair, as in Kafka's ``AbstractFetcherThread``: records that are corrupt are
  asked for again after the back-off; any other refusal (a failed log, a batch that does not begin at the LEO or is of
  an older epoch) marks the partition FAILED. It is fetched no more until the metadata names another leader epoch.
* Partitions that got data go to the end of the line, at the leader and in the next full request, so that each gets its
  share of ``replica.fetch.response.max.bytes``.
* A leader's answer may be malformed. What no log can hold is not acted on, and asked for again after the back-off.
* With the older protocols of truncation (:mod:`highwater_runtime.broker.truncation`) a partition is first
  TRUNCATING: the leader is asked where its last epoch ends (:mod:`highwater_runtime.broker.epoch_requests`), or nobody
  is, and the log is cut. Only then it is FETCHING. As in ``AbstractFetcherThread``, TRUNCATING comes before fetching,
  and after an error of the leader it backs off. A request has no more fields than its version has in Kafka: below
  Fetch v13 topics have names, below v9 no leader epoch fences, below v7 there are no sessions.
* A partition that is throttled and not in sync is left out while the quota is exceeded, for
  ``replica.fetch.backoff.ms`` at a time (:mod:`highwater_runtime.broker.replication_quota`).
* The request names the follower: replica id and, from Fetch v15 on, the broker epoch (KIP-903).
"""

from __future__ import annotations

from bisect import insort
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from highwater_runtime.broker.epoch_requests import epoch_request, epoch_responses
from highwater_runtime.broker.fetch_repair import is_offset, repair_offset_out_of_range
from highwater_runtime.broker.partition import Partition
from highwater_runtime.broker.purgatory import PartitionKey
from highwater_runtime.broker.replication_quota import ReplicationQuota
from highwater_runtime.broker.truncation import Cut, EpochEnd, TruncationProtocol
from highwater_runtime.config import NodeConfig
from highwater_runtime.log.errors import CorruptRecordError, InvalidRecordError, LogError, TruncationPendingError
from highwater_runtime.ports import MS, Endpoint, Ports, RpcFailure, Timer
from highwater_runtime.ports.trace import Transition, TransitionTaken
from highwater_runtime.wire.errors import ErrorCode, error_of
from highwater_runtime.wire.fetch_session import FINAL_EPOCH, NO_SESSION, ClientFetchSession
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, ReplicaState
from highwater_runtime.wire.messages.fetch_response import PartitionData

CHANNEL: Final = "fetcher"

_TRUNCATION_RETRY_NS: Final = 10 * MS
"""Until a partition is asked for again whose log could not be cut yet: a checkpoint has to be written first."""

_SESSIONS_SINCE: Final = 7
_LOG_START_SINCE: Final = 5
_LAST_EPOCH_SINCE: Final = 12
_TOPIC_IDS_SINCE: Final = 13
_REPLICA_STATE_SINCE: Final = 15
"""Versions of Fetch."""
_UNKNOWN: Final = -1

_REFUSALS: Final[dict[ErrorCode, Transition]] = {
    ErrorCode.FENCED_LEADER_EPOCH: "fetch-refused-fenced-epoch",
    ErrorCode.UNKNOWN_LEADER_EPOCH: "fetch-refused-unknown-epoch",
    ErrorCode.NOT_LEADER_OR_FOLLOWER: "fetch-refused-not-leader",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FetchContext:
    """What a fetch loop needs of its broker: who it is, and which Fetch version is in force at most."""

    broker_id: int
    config: NodeConfig
    protocol: TruncationProtocol
    ports: Ports
    broker_epoch: Callable[[], int]
    fetch_version: Callable[[], int]
    quota: ReplicationQuota
    replicated: Callable[[int], None]
    failed: Callable[[], None]
    """The number of FAILED partitions may be another."""


@dataclass(slots=True, eq=False)
class _Followed:
    """A partition in the loop. ``resting``: it is left out until its back-off or its repair is over. ``truncating``:
    it is not fetched before its log has been cut."""

    partition: Partition
    leader_epoch: int
    truncating: bool
    resting: bool = False
    lag: int | None = None
    """Records up to the leader's HW, as of the last answer."""

    @property
    def in_sync(self) -> bool:
        """Whether it had all that was committed."""
        return self.lag == 0


class LeaderFetcher:
    """The loop towards one leader broker, at ``endpoint``."""

    def __init__(self, endpoint: Endpoint, context: FetchContext) -> None:
        self.endpoint = endpoint
        self._context = context
        self._followed: dict[PartitionKey, _Followed] = {}
        self._session = ClientFetchSession()
        self._moved: dict[PartitionKey, None] = {}
        """Partitions whose place in the next request has to be read from their logs."""
        self._truncating: dict[PartitionKey, None] = {}
        """Partitions that are TRUNCATING and do not rest."""
        self._ids: dict[str, UUID] = {}
        """Topic ids by name, for answers that tell names."""
        self._resting: deque[tuple[int, _Followed]] = deque()
        """Partitions that wait, and until when (node time): the first comes first."""
        self._not_before_ns = 0
        """When the leader may be asked again."""
        self.failed: dict[PartitionKey, LogError] = {}
        """Partitions that are FAILED in their present leader epoch, and why."""
        self._in_flight = False
        self._repairs = 0
        """Repairs under way. The loop waits for them, as Kafka's does. Otherwise the leader would hold what they ask it
        behind a Fetch that waits for records, and meanwhile might delete what they are after."""
        self._closed = False
        self._timer: Timer | None = None

    def __len__(self) -> int:
        """How many partitions are followed, those that have failed included."""
        return len(self._followed) + len(self.failed)

    def follow(self, partition: Partition) -> None:
        """Fetch ``partition`` in its present leader epoch from now on."""
        key, protocol = partition.key, self._context.protocol
        self._forget_failure(key)
        self._ids[partition.topic] = partition.topic_id
        before = self._followed.get(key)
        if before is not None and protocol.goes_on(before.leader_epoch, partition.leader_epoch):
            before.leader_epoch = partition.leader_epoch
        else:
            self._leave_out(key)
            followed = self._followed[key] = _Followed(partition, partition.leader_epoch, protocol.truncates_first)
            self._take_up(followed)
        self._not_before_ns = 0
        self._fetch_soon()

    def _take_up(self, followed: _Followed) -> None:
        (self._truncating if followed.truncating else self._moved)[followed.partition.key] = None

    def unfollow(self, key: PartitionKey) -> None:
        """Fetch it no more; an answer under way is dropped."""
        self._forget_failure(key)
        if self._followed.pop(key, None) is not None:
            self._leave_out(key)

    def moved(self, key: PartitionKey) -> None:
        """Where its log begins or ends is another: tell the leader in the next request."""
        followed = self._followed.get(key)
        if followed is not None and not followed.resting and not followed.truncating:
            self._moved[key] = None

    def _leave_out(self, key: PartitionKey) -> None:
        self._session.forget(key)
        self._truncating.pop(key, None)
        self._moved.pop(key, None)

    def _fail(self, followed: _Followed, error: LogError) -> None:
        key = followed.partition.key
        del self._followed[key]
        self._leave_out(key)
        self.failed[key] = error
        self._context.failed()

    def _forget_failure(self, key: PartitionKey) -> None:
        if self.failed.pop(key, None) is not None:
            self._context.failed()

    def close(self) -> None:
        self._closed = True
        self._followed.clear()

    # --- the loop -------------------------------------------------------------------------------------------------

    def _fetch_soon(self) -> None:
        """After this event, so that all partitions of one metadata change go into one request."""
        self._wake_in(0)

    def _wake_in(self, delay_ns: int) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._context.ports.clock.call_later(delay_ns, self._wake)

    def _wake(self) -> None:
        self._timer = None
        self._fetch()

    def _fetch(self) -> None:
        if self._in_flight or self._repairs or self._closed or not self._followed:
            return
        now = self._context.ports.clock.now_ns()
        if now < self._not_before_ns:
            self._wake_in(self._not_before_ns - now)
            return
        self._end_rests(now)
        if self._truncating and self._truncate():
            return
        if self._context.quota.is_exceeded:
            self._hold_back()
        version = self._context.protocol.fetch_version(self._context.fetch_version())
        for key in self._moved:
            partition = self._followed[key].partition
            self._session.want(partition.topic, partition.topic_id, self._position(partition, version))
        self._moved.clear()
        if not len(self._session):
            if self._resting:
                self._wake_in(self._resting[0][0] - now)
            return
        full = self._session.is_full
        request = self._request(version)
        self._in_flight = True

        def answered(response: Any) -> None:
            self._in_flight = False
            if not self._closed:
                self._answered(response, version, full=full)
                self._fetch()

        self._context.ports.network.send(
            self.endpoint,
            request,
            version,
            answered,
            timeout_ns=self._context.config.replica_socket_timeout_ms * MS,
            channel=CHANNEL,
        )

    def _hold_back(self) -> None:
        quota = self._context.quota
        for followed in list(self._followed.values()):
            partition = followed.partition
            waits = followed.resting or followed.truncating or followed.in_sync
            if not waits and quota.is_throttled(partition.topic, partition.index):
                self._delay(followed)

    @property
    def _backoff_ns(self) -> int:
        return self._context.config.replica_fetch_backoff_ms * MS

    def _end_rests(self, now: int) -> None:
        while self._resting and self._resting[0][0] <= now:
            followed = self._resting.popleft()[1]
            key = followed.partition.key
            if self._followed.get(key) is followed:
                followed.resting = False
                self._take_up(followed)

    def _fencing_epoch(self, partition: Partition) -> int:
        return partition.leader_epoch if self._context.protocol.fences else _UNKNOWN

    def _position(self, partition: Partition, version: int) -> FetchPartition:
        return FetchPartition(
            partition=partition.index,
            current_leader_epoch=self._fencing_epoch(partition),
            fetch_offset=partition.log.log_end_offset,
            last_fetched_epoch=partition.log.latest_epoch if version >= _LAST_EPOCH_SINCE else _UNKNOWN,
            log_start_offset=partition.log.log_start_offset if version >= _LOG_START_SINCE else _UNKNOWN,
            partition_max_bytes=self._context.config.replica_fetch_max_bytes,
        )

    def _request(self, version: int) -> FetchRequest:
        config = self._context.config
        request = FetchRequest(
            max_wait_ms=config.replica_fetch_wait_max_ms,
            min_bytes=config.replica_fetch_min_bytes,
            max_bytes=config.replica_fetch_response_max_bytes,
        )
        self._session.fill(request)
        if version < _SESSIONS_SINCE:
            request.session_id, request.session_epoch = NO_SESSION, FINAL_EPOCH
        if version >= _REPLICA_STATE_SINCE:
            request.replica_state = ReplicaState(
                replica_id=self._context.broker_id, replica_epoch=self._context.broker_epoch()
            )
        else:
            request.replica_id = self._context.broker_id
        return request

    # --- truncating first -----------------------------------------------------------------------------------------

    def _truncate(self) -> bool:
        """Let TRUNCATING partitions cut their logs. Returns whether the loop waits for that."""
        truncating = [self._followed[key] for key in self._truncating]
        version = self._context.protocol.epoch_request
        if version is None:
            for followed in truncating:
                self._cut(followed, followed.partition.cut_to_high_watermark)
            return False
        self._in_flight = True

        def answered(response: Any) -> None:
            self._in_flight = False
            if self._closed:
                return
            ends = epoch_responses(response)
            for followed in truncating:
                partition = followed.partition
                if self._followed.get(partition.key) is followed and followed.truncating:
                    self._take_end(followed, ends.get((partition.topic, partition.index)), by_epoch=version > 0)
            self._fetch()

        self._context.ports.network.send(
            self.endpoint,
            epoch_request([followed.partition for followed in truncating]),
            version,
            answered,
            timeout_ns=self._context.config.replica_socket_timeout_ms * MS,
            channel=CHANNEL,
        )
        return True

    def _take_end(self, followed: _Followed, end: EpochEnd | ErrorCode | None, *, by_epoch: bool) -> None:
        partition = followed.partition
        match end:
            case EpochEnd():
                known = None if end.end_offset < 0 else end
                if by_epoch:
                    self._cut(followed, lambda: partition.cut_by_exact_leader_epoch(known))
                else:
                    offset = None if known is None else known.end_offset
                    self._cut(followed, lambda: partition.cut_by_leader_epoch(offset, self._context.protocol))
            case ErrorCode():
                self._refused(followed, _REFUSALS.get(end, "fetch-refused-other"))
            case None:
                self._delay(followed)

    def _cut(self, followed: _Followed, cut: Callable[[], Cut]) -> None:
        try:
            agreed = cut().agreed
        except TruncationPendingError:
            self._delay(followed, _TRUNCATION_RETRY_NS)
        except LogError as error:
            self._fail(followed, error)
        else:
            if agreed:
                followed.truncating = False
                del self._truncating[followed.partition.key]
                self._take_up(followed)

    # --- answers --------------------------------------------------------------------------------------------------

    def _answered(self, response: Any, version: int, *, full: bool) -> None:
        now = self._context.ports.clock.now_ns()
        if isinstance(response, RpcFailure):
            self._session.failed()
            self._not_before_ns = now + self._backoff_ns
            return
        self._session.answered(response.error_code, response.session_id)
        if response.error_code != ErrorCode.NONE:
            if full:
                self._not_before_ns = now + self._backoff_ns
            return
        total = 0
        unanswered = dict.fromkeys(self._session.partitions) if full else {}
        for topic in response.responses:
            topic_id = topic.topic_id if version >= _TOPIC_IDS_SINCE else self._ids.get(topic.topic)
            if topic_id is None:
                continue
            for data in topic.partitions:
                key = (topic_id, data.partition_index)
                unanswered.pop(key, None)
                followed = self._followed.get(key)
                asked = self._session.asked(key)
                if followed is not None and asked is not None and self._is_current(followed, asked):
                    if version < _LOG_START_SINCE:
                        data.log_start_offset = _UNKNOWN
                    total += self._take(followed, data)
        for key in unanswered:
            if key in self._followed:
                self._delay(self._followed[key])
        if total:
            self._context.replicated(total)

    def _is_current(self, followed: _Followed, asked: FetchPartition) -> bool:
        p = followed.partition
        return (
            p.leader_epoch == followed.leader_epoch
            and asked.current_leader_epoch == self._fencing_epoch(p)
            and p.log.log_end_offset == asked.fetch_offset
        )

    def _take(self, followed: _Followed, data: PartitionData) -> int:
        """Act on the answer for one partition; returns the bytes appended."""
        try:
            return self._take_in(followed, data)
        except TruncationPendingError:
            self._delay(followed, _TRUNCATION_RETRY_NS)
        except (CorruptRecordError, InvalidRecordError):
            self._delay(followed)  # damaged on the way, or by what the leader is about to cut: it may be right later
        except LogError as error:
            self._fail(followed, error)
        return 0

    def _take_in(self, followed: _Followed, data: PartitionData) -> int:
        partition = followed.partition
        match data.error_code:
            case ErrorCode.NONE if data.diverging_epoch.epoch >= 0:
                before = (partition.log.log_end_offset, partition.log.latest_epoch)
                end = EpochEnd(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
                if is_offset(end.end_offset):
                    partition.cut_back(end)
                if (partition.log.log_end_offset, partition.log.latest_epoch) == before:
                    self._refused(followed, "fetch-refused-other")  # it brings nothing: do not ask again at once
                else:
                    self._moved[partition.key] = None
                return 0
            case ErrorCode.NONE:
                appended = partition.append_from_leader(
                    data.records or b"",
                    followed.leader_epoch,
                    data.high_watermark,
                    data.log_start_offset,
                    fenced=self._context.protocol.fences,
                )
                followed.lag = max(0, data.high_watermark - partition.log.log_end_offset)
                if data.records and self._context.quota.is_throttled(partition.topic, partition.index):
                    self._context.quota.record(len(data.records))
                if appended:
                    self._moved[partition.key] = None
                return appended
            case ErrorCode.OFFSET_OUT_OF_RANGE:
                self._repair(followed)
                return 0
            case _:
                # FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_ID …: this broker
                # or the leader has older metadata than the other. It comes by itself.
                self._refused(followed, _REFUSALS.get(error_of(data.error_code), "fetch-refused-other"))
                return 0

    def _refused(self, followed: _Followed, reason: Transition) -> None:
        self._context.ports.trace.emit(TransitionTaken(reason=reason, partition=followed.partition.name))
        self._delay(followed)

    def _delay(self, followed: _Followed, by_ns: int | None = None) -> None:
        followed.resting = True
        self._leave_out(followed.partition.key)
        until = self._context.ports.clock.now_ns() + (self._backoff_ns if by_ns is None else by_ns)
        insort(self._resting, (until, followed), key=lambda rest: rest[0])

    def _repair(self, followed: _Followed) -> None:
        followed.resting = True
        self._leave_out(followed.partition.key)

        def repaired(success: bool) -> None:
            self._repairs -= 1
            if self._closed:
                return
            if self._followed.get(followed.partition.key) is followed:
                if success:
                    followed.resting = False
                    self._take_up(followed)
                else:
                    self._delay(followed)
            self._fetch_soon()

        def refused(error: LogError) -> None:
            self._repairs -= 1
            if self._followed.get(followed.partition.key) is followed:
                if isinstance(error, TruncationPendingError):
                    self._delay(followed, _TRUNCATION_RETRY_NS)
                else:
                    self._fail(followed, error)
            self._fetch_soon()

        def still_current() -> bool:
            p = followed.partition
            return (
                not self._closed and self._followed.get(p.key) is followed and p.leader_epoch == followed.leader_epoch
            )

        self._repairs += 1
        repair_offset_out_of_range(
            followed.partition,
            self.endpoint,
            self._context.ports.network,
            version=self._context.protocol.list_offsets,
            broker_id=self._context.broker_id,
            timeout_ns=self._context.config.replica_socket_timeout_ms * MS,
            still_current=still_current,
            on_done=repaired,
            on_refused=refused,
        )
