"""A client that looks up offsets by time stamp, as ``offsetsForTimes`` does, and compares each response with the log.

The promise of ListOffsets: the first record, from the log start on and below the high watermark, that is not earlier
than the time stamp, with its own time stamp; none if all are earlier.

Example: records 0 to 4 are of 10, 20, 20, 15 and 30 ms. For 20 the response is offset 1, for 16 too, for 21 offset 4.

One operation asks one leader, in one leader epoch, for

1. the end (LATEST): all below it can be read from now on,
2. the offset of the time stamp,
3. the beginning (EARLIEST): retention may have moved it meanwhile,

and then reads the records up to the offset that it got, or to the end. The operation is written down with the time
stamp, the offset, and what contradicts it (``altered``), which the check ``wrong-lookup`` counts.

Traps:

* A deposed leader does not know what was written since, but what is below its high watermark stays. So what it says is
  compared with its own log alone.
* A topic may be created again under the same name. Fetch names it by its id, so it is refused then.
* Retention and compaction remove records between request and fetch. So a record that is not there proves nothing.
* Records of a compressed batch cannot be read here: then nothing is said of the response.
* In ZooKeeper mode a leader that restarts leads on in its epoch, with an earlier high watermark.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from highwater_chaos.workload.finishing import FinishingClient
from highwater_chaos.workload.history import HistoryRecorder, MicroOp
from highwater_chaos.workload.metadata import NO_ID, RETRY_BACKOFF_NS, LeaderOf, MetadataCache, PartitionKey, key_name
from highwater_runtime.log.errors import LogError
from highwater_runtime.log.records import iter_batches
from highwater_runtime.ports import MS, SECOND, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from highwater_runtime.wire.messages.fetch_response import FetchResponse
from highwater_runtime.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from highwater_runtime.wire.messages.list_offsets_response import ListOffsetsPartitionResponse, ListOffsetsResponse

_FETCH_VERSION: Final = 15
_FETCH_VERSION_BY_NAME: Final = 12
_LIST_OFFSETS_VERSION: Final = 7
_LATEST: Final = -1
_EARLIEST: Final = -2
_NONE: Final = -1
_MOST_OFFSETS: Final = 400
"""So many offsets before the one that was found are read, at most."""
_MOST_FETCHES: Final = 40
_REMEMBERED: Final = 50
"""Time stamps of records that are kept to ask for, by partition."""


@dataclass(frozen=True, slots=True)
class LookupOptions:
    """``interval_ns``: mean time between the end of an operation and the next; it varies by up to a half.
    ``start_after_ns``: how long the client waits before it does anything."""

    name: str
    bootstrap: Sequence[Endpoint]
    topics: Sequence[str]
    interval_ns: int = 700 * MS
    request_timeout_ns: int = 2 * SECOND
    start_after_ns: int = 0


class Dated(NamedTuple):
    """A record as far as it matters here."""

    offset: int
    timestamp: int


class _Ask(NamedTuple):
    """Send a request to the leader and go on with its response, or with an ``RpcFailure``."""

    request: Any
    version: int


class _RefusedError(Exception):
    """The operation came to no end."""


_Operation = Generator[_Ask, Any, None]


def contradiction(
    timestamp: int, found: Dated | None, read: Sequence[Dated], high_watermark: int, start: int
) -> str | None:
    """What of the log contradicts the response to a look-up, in words; None: nothing.

    Args:
        found: the response; None: no record is as late as ``timestamp``.
        read: records that were in the log, by offset; there may be others.
        high_watermark: the leader's, later than the response.
        start: below it records may have been removed before the look-up.
    """
    if found is not None and found.offset >= high_watermark:
        return f"the high watermark is {high_watermark}"
    for one in read:
        if found is not None and one.offset > found.offset:
            break
        if one.offset >= start and one.timestamp >= timestamp and (found is None or one.offset < found.offset):
            return f"the record at offset {one.offset} is of {one.timestamp}"
        if found is not None and one.offset == found.offset:
            if one.timestamp < timestamp:
                return f"the record there is of {one.timestamp}"
            if one.timestamp != found.timestamp:
                return f"the record there is of {one.timestamp}, not of {found.timestamp} as the response says"
    return None


class LookupClient(FinishingClient):
    """A client core."""

    def __init__(self, options: LookupOptions, ports: Ports, recorder: HistoryRecorder) -> None:
        super().__init__()
        self._options = options
        self._ports = ports
        self._recorder = recorder
        self._metadata = MetadataCache(
            ports, options.bootstrap, options.topics, options.request_timeout_ns, lambda: None
        )
        self._known: dict[PartitionKey, list[int]] = {}
        """Time stamps of records that were read."""
        self._process: int | None = None

    def start(self) -> None:
        self._metadata.start()
        self._later()

    @property
    def _is_busy(self) -> bool:
        return self._process is not None

    def _stopped(self) -> None:
        self._metadata.stop()

    # --- operations ---

    def _later(self) -> None:
        mean = self._options.interval_ns
        self._ports.clock.call_later(mean // 2 + self._ports.random.randrange(max(1, mean)), self._next)

    def _next(self) -> None:
        if self._finishing:
            return
        keys = self._metadata.partitions
        key = self._ports.random.choice(keys) if keys else None
        leader = None if key is None else self._metadata.leader(key)
        if key is None or leader is None:
            self._metadata.refresh()
            self._ports.clock.call_later(RETRY_BACKOFF_NS, self._next)
            return
        timestamp = self._draw_timestamp(key)
        asked = MicroOp("lookup", key_name(key), None, timestamp)
        self._process = self._recorder.invoke(self._options.name, "lookup", [asked])
        self._go_on(self._look_up(key, leader, timestamp, self._process), self._metadata.endpoint(leader.node_id), None)

    def _draw_timestamp(self, key: PartitionKey) -> int:
        """That of a record that was read, or just before or behind it; now and then any of the last seconds."""
        random, known = self._ports.random, self._known.get(key)
        if known and random.random() < 0.8:
            return max(0, random.choice(known) + random.choice((-1, 0, 0, 1)))
        return max(0, self._ports.clock.wall_ms() - random.randrange(20_000))

    def _go_on(self, operation: _Operation, leader: Endpoint, response: Any) -> None:
        try:
            step = operation.send(response)
        except StopIteration:
            self._process = None
            self._later()
            self._ended_one()
            return
        self._ports.network.send(
            leader,
            step.request,
            step.version,
            lambda answer: self._go_on(operation, leader, answer),
            timeout_ns=self._options.request_timeout_ns,
            channel="lookups",
        )

    def _look_up(self, key: PartitionKey, leader: LeaderOf, timestamp: int, process: int) -> _Operation:
        name = self._options.name
        try:
            end = (yield from self._offset_of(key, leader, _LATEST)).offset
            answer = yield from self._offset_of(key, leader, timestamp)
            start = (yield from self._offset_of(key, leader, _EARLIEST)).offset
            found = None if answer.offset < 0 else Dated(answer.offset, answer.timestamp)
            last = end - 1 if found is None else found.offset
            read, high_watermark = yield from self._read(key, leader, max(start, last - _MOST_OFFSETS), last)
            if high_watermark < end:
                raise _RefusedError("the leader has restarted")
        except _RefusedError as error:
            self._metadata.refresh()
            asked = MicroOp("lookup", key_name(key), None, timestamp)
            self._recorder.fail(name, process, [asked], str(error))
            return
        if read:
            self._known[key] = [one.timestamp for one in read[-_REMEMBERED:]]
        altered = contradiction(timestamp, found, [one for one in read if one.offset <= last], high_watermark, start)
        offset = None if found is None else found.offset
        self._recorder.ok(name, process, [MicroOp("lookup", key_name(key), offset, timestamp, None, altered)])

    def _offset_of(
        self, key: PartitionKey, leader: LeaderOf, timestamp: int
    ) -> Generator[_Ask, Any, ListOffsetsPartitionResponse]:
        asked = ListOffsetsPartition(partition_index=key[1], current_leader_epoch=leader.epoch, timestamp=timestamp)
        topic = ListOffsetsTopic(name=key[0], partitions=[asked])
        response: ListOffsetsResponse | RpcFailure = yield _Ask(
            ListOffsetsRequest(replica_id=-1, topics=[topic]), _LIST_OFFSETS_VERSION
        )
        if isinstance(response, RpcFailure):
            raise _RefusedError(ErrorCode.NETWORK_EXCEPTION.name)
        answer = response.topics[0].partitions[0]
        if answer.error_code != ErrorCode.NONE:
            raise _RefusedError(ErrorCode(answer.error_code).name)
        return answer

    def _read(
        self, key: PartitionKey, leader: LeaderOf, first: int, last: int
    ) -> Generator[_Ask, Any, tuple[list[Dated], int]]:
        """Read the records from ``first`` to ``last``, as far as they can be; returns the high watermark, too."""
        topic_id = self._metadata.topic_ids.get(key[0], NO_ID)
        version = _FETCH_VERSION_BY_NAME if topic_id == NO_ID else _FETCH_VERSION
        found: list[Dated] = []
        offset, high_watermark = first, 0
        for _ in range(_MOST_FETCHES):
            asked = FetchPartition(
                partition=key[1],
                current_leader_epoch=leader.epoch,
                fetch_offset=offset,
                partition_max_bytes=1 << 20,
            )
            topic = FetchTopic(topic=key[0], topic_id=topic_id, partitions=[asked])
            request = FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[topic], session_epoch=-1)
            response: FetchResponse | RpcFailure = yield _Ask(request, version)
            if isinstance(response, RpcFailure):
                raise _RefusedError(ErrorCode.NETWORK_EXCEPTION.name)
            answers = [one for each in response.responses for one in each.partitions]
            error = response.error_code or (answers[0].error_code if answers else ErrorCode.UNKNOWN_SERVER_ERROR)
            if error != ErrorCode.NONE:
                raise _RefusedError(ErrorCode(error).name)
            high_watermark = answers[0].high_watermark
            before = offset
            try:
                for batch in iter_batches(answers[0].records or b""):
                    if not batch.is_control:
                        records = batch.records()
                        found += [Dated(one.offset, one.timestamp) for one in records if one.offset >= offset]
                    offset = max(offset, batch.end_offset)
            except LogError as problem:
                raise _RefusedError(str(problem)) from problem
            if offset > last or offset == before:
                break
        return found, high_watermark


__all__ = ["Dated", "LookupClient", "LookupOptions", "contradiction"]
