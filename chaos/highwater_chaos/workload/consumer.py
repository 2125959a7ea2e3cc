"""A Kafka consumer without a group that writes down every poll.

It assigns all partitions of its topics, begins at the earliest offset and polls for ever. A poll may be empty. Where a
position is out of range (the log lost its tail, or its head was deleted) it begins anew at the earliest offset, as
``auto.offset.reset=earliest`` does, and the new assignment is written down as an operation, so that checks on order
know of it.

With ``drain`` it is the final reader: it reads every partition from the earliest offset up to the HW found after it
had started, and is then ``drained``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID
from zlib import crc32

from highwater_chaos.workload.history import HistoryRecorder, MicroOp
from highwater_chaos.workload.metadata import RETRY_BACKOFF_NS, MetadataCache, PartitionKey, key_name
from highwater_runtime.log.errors import CorruptRecord
from highwater_runtime.log.records import iter_batches
from highwater_runtime.ports import MS, SECOND, Endpoint, InboundRequest, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from highwater_runtime.wire.messages.fetch_response import FetchResponse, PartitionData
from highwater_runtime.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from highwater_runtime.wire.messages.list_offsets_response import ListOffsetsResponse

FETCH_VERSION: Final = 15
LIST_OFFSETS_VERSION: Final = 7
EARLIEST: Final = -2
LATEST: Final = -1
_POLL_NS: Final = 1 * SECOND
"""How long a poll waits for records."""
_BETWEEN_POLLS_NS: Final = 10 * MS
_MAX_POLL_RECORDS: Final = 500


@dataclass(frozen=True, slots=True)
class ConsumerOptions:
    """``drain``: read what is there once and be done, instead of polling for ever."""

    name: str
    bootstrap: Sequence[Endpoint]
    topics: Sequence[str]
    drain: bool = False
    request_timeout_ns: int = 2 * SECOND
    max_wait_ns: int = 500 * MS
    max_bytes: int = 1 << 20


class _Position:
    """Where the consumer stands in one partition: ``offset`` to fetch next, ``polled`` to be returned next."""

    __slots__ = ("end", "fetching", "looking_up", "not_before_ns", "offset", "polled")

    def __init__(self) -> None:
        self.offset: int | None = None
        self.polled: int | None = None
        self.end: int | None = None
        self.fetching = False
        self.looking_up = False
        self.not_before_ns = 0


class RecordingConsumer:
    """A client core (``NodeCore``)."""

    def __init__(self, options: ConsumerOptions, ports: Ports, recorder: HistoryRecorder) -> None:
        self._options = options
        self._ports = ports
        self._recorder = recorder
        self._metadata = MetadataCache(
            ports, options.bootstrap, options.topics, options.request_timeout_ns, self._refreshed
        )
        self._positions: dict[PartitionKey, _Position] = {}
        self._topic_ids: dict[str, object] = {}
        self._buffer: deque[tuple[PartitionKey, MicroOp]] = deque()
        self._error: str | None = None
        self._poll: int | None = None
        self._poll_ends_ns = 0
        self._watching_poll = False
        self._put: set[PartitionKey] = set()
        """Partitions whose position was looked up since the last assignment was written down."""
        self._finishing = False
        self._on_stopped: Callable[[], None] | None = None

    # --- NodeCore ---

    def start(self) -> None:
        """Begin to poll."""
        self._metadata.start()
        self._next_poll()

    def on_request(self, request: InboundRequest) -> None:
        """Clients serve nothing."""
        raise AssertionError(f"{self._options.name} is a client and got {request.body!r}")

    def stop(self, on_stopped: Callable[[], None]) -> None:
        """Finish the poll, then call back."""
        self._on_stopped = on_stopped
        self.finish()
        self._check_stopped()

    # --- the harness ---

    def finish(self) -> None:
        """Poll no more once the present poll is over."""
        self._finishing = True

    @property
    def idle(self) -> bool:
        """Whether it polls no more."""
        return self._finishing and self._poll is None

    @property
    def drained(self) -> bool:
        """Whether everything up to the HW found at the start has been read and written down."""
        return (
            bool(self._positions)
            and not self._buffer
            and all(
                place.offset is not None and place.end is not None and place.offset >= place.end
                for place in self._positions.values()
            )
        )

    def remaining(self) -> dict[str, str]:
        """Partitions not read to the end yet, with position and end, for a message."""
        return {
            key_name(key): f"{place.offset} of {place.end}"
            for key, place in self._positions.items()
            if place.offset is None or place.end is None or place.offset < place.end
        }

    # --- polls ---

    def _next_poll(self) -> None:
        if self._finishing or (self._options.drain and self.drained):
            self._check_stopped()
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
        self._ports.clock.call_later(_BETWEEN_POLLS_NS, self._next_poll)

    def _check_stopped(self) -> None:
        if self.idle and self._on_stopped is not None:
            on_stopped, self._on_stopped = self._on_stopped, None
            self._metadata.stop()
            on_stopped()

    # --- positions ---

    def _refreshed(self) -> None:
        for key in self._metadata.partitions:
            if key not in self._positions:
                self._positions[key] = _Position()
        for topic, topic_id in self._metadata.topic_ids.items():
            if self._topic_ids.get(topic) not in (None, topic_id):
                for key, place in self._positions.items():
                    if key[0] == topic:
                        place.offset = place.end = None
            self._topic_ids[topic] = topic_id
        self._fetch_all()

    def _look_up(self, key: PartitionKey, place: _Position, timestamp: int) -> None:
        leader = self._metadata.leader(key)
        if leader is None:
            self._metadata.refresh()
            return
        place.looking_up = True
        topic, index = key
        request = ListOffsetsRequest(
            replica_id=-1,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=index, current_leader_epoch=leader.epoch, timestamp=timestamp
                        )
                    ],
                )
            ],
        )
        self._ports.network.send(
            self._metadata.endpoint(leader.node_id),
            request,
            LIST_OFFSETS_VERSION,
            lambda response: self._looked_up(key, timestamp, response),
            timeout_ns=self._options.request_timeout_ns,
            channel="offsets",
        )

    def _looked_up(self, key: PartitionKey, timestamp: int, response: ListOffsetsResponse | RpcFailure) -> None:
        place = self._positions[key]
        place.looking_up = False
        answer = None if isinstance(response, RpcFailure) else response.topics[0].partitions[0]
        if answer is None or answer.error_code != ErrorCode.NONE or answer.offset < 0:
            self._metadata.refresh()
            self._back_off(place)
            return
        if timestamp == EARLIEST:
            # What was fetched and not polled yet belongs to the old position.
            self._buffer = deque(item for item in self._buffer if item[0] != key)
            place.offset = place.polled = answer.offset
            self._put.add(key)
            if self._poll is not None:
                # Records of the new position must not be polled before the assignment is written down.
                self._end_poll()
        else:
            place.end = answer.offset
        self._fetch_all()

    def _back_off(self, place: _Position) -> None:
        place.not_before_ns = self._ports.clock.now_ns() + RETRY_BACKOFF_NS
        self._ports.clock.call_later(RETRY_BACKOFF_NS, self._fetch_all)

    # --- fetching ---

    def _fetch_all(self) -> None:
        """Give every partition that waits for nothing the next thing to wait for."""
        if self._finishing or len(self._buffer) >= _MAX_POLL_RECORDS:
            return
        now = self._ports.clock.now_ns()
        by_leader: dict[int, list[PartitionKey]] = {}
        for key, place in self._positions.items():
            if place.fetching or place.looking_up or now < place.not_before_ns:
                continue
            if place.offset is None:
                self._look_up(key, place, EARLIEST)
            elif self._options.drain and place.end is None:
                self._look_up(key, place, LATEST)
            elif not self._options.drain or place.end is None or place.offset < place.end:
                leader = self._metadata.leader(key)
                if leader is None:
                    self._metadata.refresh()
                else:
                    by_leader.setdefault(leader.node_id, []).append(key)
        for node_id, keys in by_leader.items():
            self._fetch(node_id, keys)

    def _fetch(self, node_id: int, keys: list[PartitionKey]) -> None:
        topics: dict[str, list[FetchPartition]] = {}
        asked: dict[PartitionKey, int] = {}
        for key in keys:
            place, leader = self._positions[key], self._metadata.leader(key)
            assert place.offset is not None
            assert leader is not None
            place.fetching = True
            asked[key] = place.offset
            topics.setdefault(key[0], []).append(
                FetchPartition(
                    partition=key[1],
                    current_leader_epoch=leader.epoch,
                    fetch_offset=place.offset,
                    partition_max_bytes=self._options.max_bytes,
                )
            )
        request = FetchRequest(
            max_wait_ms=self._options.max_wait_ns // MS,
            min_bytes=1,
            max_bytes=self._options.max_bytes * len(keys),
            topics=[
                FetchTopic(topic=topic, topic_id=self._metadata.topic_ids[topic], partitions=partitions)
                for topic, partitions in topics.items()
            ],
        )
        self._ports.network.send(
            self._metadata.endpoint(node_id),
            request,
            FETCH_VERSION,
            lambda response: self._fetched(asked, response),
            timeout_ns=self._options.request_timeout_ns,
            channel="fetch",
        )

    def _fetched(self, asked: dict[PartitionKey, int], response: FetchResponse | RpcFailure) -> None:
        for key in asked:
            self._positions[key].fetching = False
        if isinstance(response, RpcFailure) or response.error_code != ErrorCode.NONE:
            self._metadata.refresh()
            for key in asked:
                self._back_off(self._positions[key])
            return
        names = {topic_id: name for name, topic_id in self._metadata.topic_ids.items()}
        for topic in response.responses:
            name = topic.topic or names.get(topic.topic_id)
            for partition in topic.partitions:
                key = (name or "", partition.partition_index)
                if key in asked and self._positions[key].offset == asked[key]:
                    self._take(key, self._positions[key], partition, topic.topic_id)
        self._answer_poll()
        self._fetch_all()

    def _take(self, key: PartitionKey, place: _Position, answer: PartitionData, topic_id: UUID) -> None:
        match answer.error_code:
            case ErrorCode.NONE:
                self._take_records(key, place, answer.records or b"", topic_id)
            case ErrorCode.OFFSET_OUT_OF_RANGE:
                place.offset = place.end = None
            case _:
                # NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH, UNKNOWN_TOPIC_ID …: look again.
                self._metadata.refresh()
                self._back_off(place)

    def _take_records(self, key: PartitionKey, place: _Position, data: bytes, topic_id: UUID) -> None:
        assert place.offset is not None
        name, identity = key_name(key), topic_id.hex
        try:
            for batch in iter_batches(data):
                batch.ensure_valid()
                if not batch.is_control:
                    for record in batch.records():
                        if record.offset >= place.offset:
                            read = MicroOp("poll", name, record.offset, value_of(record.value), identity)
                            self._buffer.append((key, read))
                place.offset = max(place.offset, batch.end_offset)
        except CorruptRecord as error:
            self._error = f"{name}: {error}"
            self._back_off(place)


def value_of(data: bytes | None) -> int:
    """The value of a record on the wire; one that no producer of ours can have written becomes a negative number that
    depends on its bytes alone, so that it shows as a value nobody sent."""
    try:
        return int((data or b"").decode("ascii"))
    except ValueError:
        return -1 - crc32(data or b"")


__all__ = ["ConsumerOptions", "RecordingConsumer", "value_of"]
