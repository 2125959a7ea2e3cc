"""A Kafka consumer without a group that writes down every poll.

It assigns all partitions of its topics, begins at the earliest offset and polls for ever. A poll may be empty. Where a
position is out of range (the log lost its tail, or its head was deleted) it restarts at the earliest offset, as
``auto.offset.reset=earliest`` does, and the new assignment is written down as an operation, so that checks on order
know of it.

It keeps a fetch session with each leader (KIP-227), and one request under way; positions are looked up for all
partitions of a leader in one request. Only partitions with something to do are looked at (``_todo``).

With ``drain`` it is the final reader: it reads every partition from the earliest offset up to the HW found after it
had started, and is then ``drained``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import NAMESPACE_OID, UUID, uuid5

from highwater_chaos.records.values import content_of
from highwater_chaos.workload.finishing import FinishingClient
from highwater_chaos.workload.history import HistoryRecorder, MicroOp
from highwater_chaos.workload.metadata import NO_ID, RETRY_BACKOFF_NS, LeaderOf, MetadataCache, PartitionKey, key_name
from highwater_runtime.log.errors import CorruptRecordError
from highwater_runtime.log.records import iter_batches
from highwater_runtime.ports import MS, SECOND, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.fetch_session import ClientFetchSession
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest
from highwater_runtime.wire.messages.fetch_response import FetchResponse, PartitionData
from highwater_runtime.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from highwater_runtime.wire.messages.list_offsets_response import ListOffsetsResponse

FETCH_VERSION: Final = 15
FETCH_VERSION_BY_NAME: Final = 12
"""The last version that names topics: for those without ids."""
LIST_OFFSETS_VERSION: Final = 7
EARLIEST: Final = -2
LATEST: Final = -1
_POLL_NS: Final = 1 * SECOND
"""How long a poll waits for records."""
_BETWEEN_POLLS_NS: Final = 10 * MS
_MAX_POLL_RECORDS: Final = 500
_MAX_FETCH_BYTES: Final = 50 << 20
"""Kafka's ``fetch.max.bytes``."""


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """``drain``: read what is there once and be done, instead of polling for ever; not before all partitions that are
    ``expected`` have been read. ``start_after_ns``: how long the client waits before it does anything."""

    name: str
    bootstrap: Sequence[Endpoint]
    topics: Sequence[str]
    drain: bool = False
    request_timeout_ns: int = 2 * SECOND
    max_wait_ns: int = 500 * MS
    max_bytes: int = 1 << 20
    expected: Sequence[PartitionKey] = ()
    start_after_ns: int = 0


class _Position:
    """Where the consumer stands in one partition: ``offset`` to fetch next, ``polled`` to be returned next, ``end`` of
    a drain; ``leader`` in whose session it is, under ``wanted``; ``waits`` for an answer or for its back-off."""

    __slots__ = ("end", "leader", "offset", "polled", "waits", "wanted")

    def __init__(self) -> None:
        self.offset: int | None = None
        self.polled: int | None = None
        self.end: int | None = None
        self.waits = False
        self.leader: _Leader | None = None
        self.wanted: tuple[UUID, int] | None = None

    @property
    def drained(self) -> bool:
        """Whether all up to ``end`` has been read."""
        return self.offset is not None and self.end is not None and self.offset >= self.end


class _Leader:
    """One broker, and what is fetched from it."""

    __slots__ = ("in_flight", "keys", "node_id", "not_before_ns", "session")

    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.session = ClientFetchSession()
        self.keys: dict[tuple[UUID, int], PartitionKey] = {}
        """By topic id and partition index: the partitions in the session."""
        self.in_flight = False
        self.not_before_ns = 0


class RecordingConsumer(FinishingClient):
    """A client core."""

    def __init__(self, options: ConsumerOptions, ports: Ports, recorder: HistoryRecorder) -> None:
        super().__init__()
        self._options = options
        self._ports = ports
        self._recorder = recorder
        self._metadata = MetadataCache(
            ports, options.bootstrap, options.topics, options.request_timeout_ns, self._refreshed
        )
        self._positions: dict[PartitionKey, _Position] = {}
        self._todo: dict[PartitionKey, None] = {}
        """Partitions that need something else than they have asked for."""
        self._resting: deque[tuple[int, PartitionKey]] = deque()
        """Partitions that wait for their back-off, which is the same for all, and until when."""
        self._undrained: dict[PartitionKey, None] = dict.fromkeys(options.expected)
        """Partitions not read up to their end."""
        self._leaders: dict[int, _Leader] = {}
        self._topic_ids: dict[str, UUID] = {}
        """As the metadata gives them, to notice that a topic is another one."""
        self._without_id: dict[str, UUID] = {}
        """What stands here for the ids of topics that have none."""
        self._buffer: deque[tuple[PartitionKey, MicroOp]] = deque()
        self._error: str | None = None
        self._poll: int | None = None
        self._poll_ends_ns = 0
        self._watching_poll = False
        self._put: set[PartitionKey] = set()
        """Partitions whose position was looked up since the last assignment was written down."""

    def start(self) -> None:
        self._metadata.start()
        self._next_poll()

    @property
    def _is_busy(self) -> bool:
        return self._poll is not None

    def _stopped(self) -> None:
        self._metadata.stop()

    @property
    def drained(self) -> bool:
        """Whether everything up to the HW found at the start has been read and written down."""
        return bool(self._positions) and not self._buffer and not self._undrained

    def remaining(self) -> dict[str, str]:
        """Partitions not read to the end yet, with position and end, for a message."""
        return {
            **{
                key_name(key): f"{place.offset} of {place.end}"
                for key, place in self._positions.items()
                if key in self._undrained
            },
            **{key_name(key): "nothing: no broker names it" for key in self._undrained if key not in self._positions},
        }

    # --- polls ---

    def _next_poll(self) -> None:
        if self._finishing or (self._options.drain and self.drained):
            self._ended_one()
            return
        if self._put:
            assignment = [
                MicroOp("assign", key_name(key), place.polled if key in self._put else None, None)
                for key, place in self._positions.items()
            ]
            self._put.clear()
            process = self._recorder.invoke(self._options.name, "assign", assignment)
            self._recorder.ok(self._options.name, process, assignment)
        self._poll = self._recorder.invoke(self._options.name, "poll")
        self._poll_ends_ns = self._ports.clock.now_ns() + _POLL_NS
        if not self._watching_poll:
            self._watching_poll = True
            self._ports.clock.call_later(_POLL_NS, self._watch_poll)
        self._fetch_all()
        self._answer_poll()

    def _watch_poll(self) -> None:
        """End the poll if its time is up. One timer does for all: most polls end long before."""
        self._watching_poll = False
        if self._poll is None:
            return
        left = self._poll_ends_ns - self._ports.clock.now_ns()
        if left <= 0:
            self._end_poll()
        else:
            self._watching_poll = True
            self._ports.clock.call_later(left, self._watch_poll)

    def _answer_poll(self) -> None:
        if self._poll is not None and (self._buffer or self._error is not None):
            self._end_poll()

    def _end_poll(self) -> None:
        assert self._poll is not None
        process, self._poll = self._poll, None
        if self._error is not None and not self._buffer:
            self._recorder.fail(self._options.name, process, (), self._error)
            self._error = None
        else:
            count = min(len(self._buffer), _MAX_POLL_RECORDS)
            taken = [self._buffer.popleft() for _ in range(count)]
            self._recorder.ok(self._options.name, process, [record for _, record in taken])
            for key, record in taken:
                assert record.offset is not None
                self._positions[key].polled = record.offset + 1
        # Reading to the end has nobody to imitate: what has come is taken at once.
        pause = 0 if self._options.drain and self._buffer else _BETWEEN_POLLS_NS
        self._ports.clock.call_later(pause, self._next_poll)

    # --- positions ---

    def _refreshed(self) -> None:
        for topic, topic_id in self._metadata.topic_ids.items():
            if self._topic_ids.get(topic, topic_id) not in (topic_id, NO_ID):
                for key, place in self._positions.items():
                    if key[0] == topic:
                        self._begin_anew(key, place)
            self._topic_ids[topic] = topic_id
            if topic_id != NO_ID and self._without_id.pop(topic, None) is not None:
                # The cluster gave it an id. It is the same topic, fetched by another key.
                for key, place in self._positions.items():
                    if key[0] == topic:
                        self._leave(place)
                        self._todo[key] = None
        for key in self._metadata.moved:
            known = self._positions.get(key)
            if known is None:
                self._positions[key] = _Position()
                self._undrained[key] = None
            else:
                self._leave(known)
            self._todo[key] = None
        self._fetch_all()

    def _begin_anew(self, key: PartitionKey, place: _Position) -> None:
        """Look up where to read, as if nothing had been read."""
        place.offset = place.end = None
        self._undrained[key] = None
        self._leave(place)
        self._todo[key] = None

    def _leave(self, place: _Position) -> None:
        """Fetch it no more from whom it was fetched."""
        if place.leader is not None and place.wanted is not None:
            place.leader.session.forget(place.wanted)
            del place.leader.keys[place.wanted]
        place.leader = place.wanted = None

    def _look_up(self, node_id: int, keys: list[PartitionKey], timestamp: int) -> None:
        topics: dict[str, ListOffsetsTopic] = {}
        for key in keys:
            self._positions[key].waits = True
            leader = self._metadata.leader(key)
            assert leader is not None
            if key[0] not in topics:
                topics[key[0]] = ListOffsetsTopic(name=key[0], partitions=[])
            topics[key[0]].partitions.append(
                ListOffsetsPartition(partition_index=key[1], current_leader_epoch=leader.epoch, timestamp=timestamp)
            )
        self._ports.network.send(
            self._metadata.endpoint(node_id),
            ListOffsetsRequest(replica_id=-1, topics=list(topics.values())),
            LIST_OFFSETS_VERSION,
            lambda response: self._looked_up(keys, timestamp, response),
            timeout_ns=self._options.request_timeout_ns,
            channel="offsets",
        )

    def _looked_up(self, keys: list[PartitionKey], timestamp: int, response: ListOffsetsResponse | RpcFailure) -> None:
        found: dict[PartitionKey, int] = {}
        if not isinstance(response, RpcFailure):
            for topic in response.topics:
                for answer in topic.partitions:
                    if answer.error_code == ErrorCode.NONE and answer.offset >= 0:
                        found[topic.name, answer.partition_index] = answer.offset
        begun: dict[PartitionKey, None] = {}
        for key in keys:
            place = self._positions[key]
            place.waits = False
            offset = found.get(key)
            if offset is None:
                self._metadata.refresh()
                self._back_off(key, place)
                continue
            self._todo[key] = None
            if timestamp == EARLIEST:
                place.offset = place.polled = offset
                self._put.add(key)
                begun[key] = None
            else:
                place.end = offset
            self._note_drained(key, place)
        if begun:
            # What was fetched and not polled yet belongs to the old positions.
            self._buffer = deque(item for item in self._buffer if item[0] not in begun)
            if self._poll is not None:
                # Records of the new positions must not be polled before the assignment is written down.
                self._end_poll()
        self._fetch_all()

    def _note_drained(self, key: PartitionKey, place: _Position) -> None:
        if place.drained:
            self._undrained.pop(key, None)

    def _back_off(self, key: PartitionKey, place: _Position) -> None:
        """Leave a partition alone for a while."""
        self._leave(place)
        place.waits = True
        self._resting.append((self._ports.clock.now_ns() + RETRY_BACKOFF_NS, key))
        if len(self._resting) == 1:
            self._ports.clock.call_later(RETRY_BACKOFF_NS, self._end_rests)

    def _end_rests(self) -> None:
        now = self._ports.clock.now_ns()
        resting = self._resting
        while resting and resting[0][0] <= now:
            key = resting.popleft()[1]
            self._positions[key].waits = False
            self._todo[key] = None
        if resting:
            self._ports.clock.call_later(resting[0][0] - now, self._end_rests)
        self._fetch_all()

    # --- fetching ---

    def _fetch_all(self) -> None:
        """Give every partition that has something to do the next thing to wait for."""
        if self._finishing or len(self._buffer) >= _MAX_POLL_RECORDS:
            return
        todo, self._todo = self._todo, {}
        lookups: dict[tuple[int, int], list[PartitionKey]] = {}
        for key in todo:
            place = self._positions[key]
            if place.waits:
                continue
            if self._options.drain and place.drained:
                self._leave(place)
                continue
            leader = self._metadata.leader(key)
            if leader is None:
                self._todo[key] = None
                self._metadata.refresh()
            elif place.offset is None:
                lookups.setdefault((leader.node_id, EARLIEST), []).append(key)
            elif self._options.drain and place.end is None:
                lookups.setdefault((leader.node_id, LATEST), []).append(key)
            else:
                self._want(key, place, leader)
        for (node_id, timestamp), keys in lookups.items():
            self._look_up(node_id, keys, timestamp)
        for fetched_from in self._leaders.values():
            self._fetch(fetched_from)

    def _want(self, key: PartitionKey, place: _Position, leader: LeaderOf) -> None:
        assert place.offset is not None
        at = self._leaders.get(leader.node_id)
        if at is None:
            at = self._leaders[leader.node_id] = _Leader(leader.node_id)
        topic_id = self._metadata.topic_ids[key[0]]
        if topic_id == NO_ID:
            topic_id = self._without_id.setdefault(key[0], uuid5(NAMESPACE_OID, key[0]))
        if place.leader is not at or place.wanted != (topic_id, key[1]):
            self._leave(place)
            place.leader, place.wanted = at, (topic_id, key[1])
            at.keys[place.wanted] = key
        fetch = FetchPartition(
            partition=key[1],
            current_leader_epoch=leader.epoch,
            fetch_offset=place.offset,
            partition_max_bytes=self._options.max_bytes,
        )
        at.session.want(key[0], topic_id, fetch)

    def _fetch(self, leader: _Leader) -> None:
        if leader.in_flight or not len(leader.session) or self._ports.clock.now_ns() < leader.not_before_ns:
            return
        request = FetchRequest(
            max_wait_ms=self._options.max_wait_ns // MS,
            min_bytes=1,
            max_bytes=min(self._options.max_bytes * len(leader.session), _MAX_FETCH_BYTES),
        )
        full = leader.session.is_full
        leader.session.fill(request)
        leader.in_flight = True
        self._ports.network.send(
            self._metadata.endpoint(leader.node_id),
            request,
            FETCH_VERSION_BY_NAME if self._without_id else FETCH_VERSION,
            lambda response: self._fetched(leader, response, full=full),
            timeout_ns=self._options.request_timeout_ns,
            channel="fetch",
        )

    def _fetched(self, leader: _Leader, response: FetchResponse | RpcFailure, *, full: bool) -> None:
        leader.in_flight = False
        if isinstance(response, RpcFailure):
            leader.session.failed()
        else:
            leader.session.answered(response.error_code, response.session_id)
        if isinstance(response, RpcFailure) or (full and response.error_code != ErrorCode.NONE):
            self._metadata.refresh()
            leader.not_before_ns = self._ports.clock.now_ns() + RETRY_BACKOFF_NS
            self._ports.clock.call_later(RETRY_BACKOFF_NS, self._fetch_all)
            return
        for topic in response.responses:
            # Answers up to version 12 have names: it was asked for, or the server knows no later one.
            by_name = topic.topic_id == NO_ID
            topic_id = self._id_of(topic.topic) if by_name else topic.topic_id
            for partition in topic.partitions:
                wanted = (topic_id, partition.partition_index)
                key, asked = leader.keys.get(wanted), leader.session.asked(wanted)
                if key is not None and asked is not None and self._positions[key].offset == asked.fetch_offset:
                    self._take(key, self._positions[key], partition, None if by_name else topic_id)
        self._answer_poll()
        self._fetch_all()

    def _id_of(self, topic: str) -> UUID:
        """The id by which a topic is fetched here."""
        known = self._without_id.get(topic)
        return self._metadata.topic_ids.get(topic, NO_ID) if known is None else known

    def _take(self, key: PartitionKey, place: _Position, answer: PartitionData, topic_id: UUID | None) -> None:
        match answer.error_code:
            case ErrorCode.NONE:
                if answer.records:
                    self._todo[key] = None
                    self._take_records(key, place, answer.records, topic_id)
                    self._note_drained(key, place)
            case ErrorCode.OFFSET_OUT_OF_RANGE:
                self._begin_anew(key, place)
            case _:
                # NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, UNKNOWN_TOPIC_ID …: look again.
                self._metadata.refresh()
                self._back_off(key, place)

    def _take_records(self, key: PartitionKey, place: _Position, data: bytes, topic_id: UUID | None) -> None:
        assert place.offset is not None
        name, identity = key_name(key), None if topic_id is None else topic_id.hex
        try:
            for batch in iter_batches(data):
                batch.ensure_valid()
                if not batch.is_control:
                    by_log = batch.is_log_append_time
                    for record in batch.records():
                        if record.offset >= place.offset:
                            value, altered = content_of(record, by_log=by_log)
                            self._buffer.append((key, MicroOp("poll", name, record.offset, value, identity, altered)))
                place.offset = max(place.offset, batch.end_offset)
        except CorruptRecordError as error:
            self._error = f"{name}: {error}"
            self._back_off(key, place)
