"""Records for every partition: a steady load that survives failures, and a probe of each partition.

Raw Produce requests, as in :mod:`..broker.load` and for the same reason: a client library costs more than the
broker, and more with more partitions. A request carries the records of one tick for one leader, each for a partition of
its own, so what is asked of the cluster does not depend on how many partitions there are.
"""

from __future__ import annotations

import random
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from uuid import UUID

from highwater_lab.benchmarks.broker.load import METADATA_VERSION, PRODUCE_VERSION
from highwater_lab.benchmarks.connection import CLIENT_ID, Connection, LoadError
from highwater_lab.benchmarks.scale.view import ControllerView, State
from highwater_runtime.log.records import build_batch
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.framing import decode_response, encode_request
from highwater_runtime.wire.messages.api_versions_request import ApiVersionsRequest
from highwater_runtime.wire.messages.metadata_request import MetadataRequest
from highwater_runtime.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData

Key = tuple[str, int]
"""Topic and index of a partition."""

Answered = Callable[[int, int, float | None], None]
"""Hears of records acknowledged, records failed, and the latency of a request."""

RECORD_BYTES: Final = 100
_TICK_SECONDS: Final = 0.02
_CHUNK: Final = 250
"""Partitions of one request of the probe."""
_TIMEOUT_MS: Final = 10_000
_MOST_IN_FLIGHT: Final = 500
_AGAIN_SECONDS: Final = 0.1
_PULSE_SECONDS: Final = 0.05


def leaders(state: State) -> dict[Key, int]:
    """Who leads what, as the controller sees it."""
    names: Mapping[UUID, str] = state.names
    return {(names[topic], index): one.leader for (topic, index), one in state.partitions.items()}


def produce_request(keys: Mapping[Key, int]) -> ProduceRequest:
    """acks=all: so many records, in one batch, for each partition."""
    batches = {count: _batch(count) for count in set(keys.values())}
    topics: dict[str, list[PartitionProduceData]] = {}
    for (name, index), count in keys.items():
        topics.setdefault(name, []).append(PartitionProduceData(index=index, records=batches[count]))
    data = [TopicProduceData(name=name, partition_data=partitions) for name, partitions in topics.items()]
    return ProduceRequest(acks=-1, timeout_ms=_TIMEOUT_MS, topic_data=data)


def _batch(records: int) -> bytes:
    return build_batch([b"v" * RECORD_BYTES] * records, timestamp_ms=int(time.time() * 1000))


# --- probes ----------------------------------------------------------------------------------------------------------


def metadata_agrees(view: ControllerView, brokers: Sequence[Endpoint], deadline: float) -> float | None:
    """When every broker's metadata had named the leaders that the controller's has; None: not before ``deadline``."""
    waiting, agreed = list(brokers), time.monotonic()
    while waiting:
        expected = view.look(leaders)
        try:
            with Connection(waiting[0]) as connection:
                answer = connection.call(MetadataRequest(topics=None), METADATA_VERSION)
            agreed = time.monotonic()
            found = {
                (topic.name, one.partition_index): one.leader_id for topic in answer.topics for one in topic.partitions
            }
        except (OSError, LoadError):
            found = None
        if found == expected:
            waiting.pop(0)
        elif time.monotonic() > deadline:
            return None
        else:
            time.sleep(_AGAIN_SECONDS)
    return agreed


def all_acknowledge(view: ControllerView, brokers: Mapping[int, Endpoint], deadline: float) -> float | None:
    """When every partition had acknowledged a record (acks=all); None: not before ``deadline``."""
    pending = set(view.look(leaders))
    acknowledged = time.monotonic()
    with ThreadPoolExecutor(len(brokers)) as pool:
        while pending:
            by_leader: dict[int, list[Key]] = {}
            for key, leader in view.look(leaders).items():
                if key in pending and leader in brokers:
                    by_leader.setdefault(leader, []).append(key)
            work = [(brokers[leader], sorted(keys)) for leader, keys in by_leader.items()]
            for done in pool.map(partial(_probe, deadline), work):
                pending -= done
            acknowledged = time.monotonic()
            if pending:
                if acknowledged > deadline:
                    return None
                time.sleep(_AGAIN_SECONDS)
    return acknowledged


def _probe(deadline: float, work: tuple[Endpoint, list[Key]]) -> set[Key]:
    endpoint, keys = work
    done: set[Key] = set()
    try:
        with Connection(endpoint) as connection:
            for start in range(0, len(keys), _CHUNK):
                if time.monotonic() > deadline:
                    break
                request = produce_request(dict.fromkeys(keys[start : start + _CHUNK], 1))
                answer = connection.call(request, PRODUCE_VERSION)
                for topic in answer.responses:
                    done |= {(topic.name, one.index) for one in topic.partition_responses if not one.error_code}
    except (OSError, LoadError):
        pass  # whatever has no answer stays pending
    return done


# --- the steady load -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Delivered:
    """What came of a load, in records; ``latencies_s``: of requests."""

    acknowledged: int = 0
    failed: int = 0
    """Refused, or without an answer."""
    unsent: int = 0
    """Due, but there was no leader, no connection, or no room."""
    latencies_s: list[float] = field(default_factory=list)

    def quantile_ms(self, q: float) -> float | None:
        """The latency that a fraction ``q`` of the answered requests kept to, in ms; None: there was no answer."""
        ordered = sorted(self.latencies_s)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))] * 1000 if ordered else None


class SteadyLoad:
    """``rate`` records a second over all partitions in turns, acks=all, until it is closed."""

    def __init__(self, view: ControllerView, brokers: Mapping[int, Endpoint], rate: float) -> None:
        self._view = view
        self._rate = rate
        self._lock = threading.Lock()
        self._delivered = Delivered()
        self._closed = threading.Event()
        self._pipes = {broker: _Pipe(endpoint, self._answered) for broker, endpoint in brokers.items()}
        self._sender = threading.Thread(target=self._send, name="steady-load", daemon=True)
        self._sender.start()

    def __enter__(self) -> SteadyLoad:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._sender.join()
        for pipe in self._pipes.values():
            pipe.close()

    def take(self) -> Delivered:
        """What was delivered since the last call."""
        with self._lock:
            delivered, self._delivered = self._delivered, Delivered()
        return delivered

    def _answered(self, acknowledged: int, failed: int, latency: float | None) -> None:
        with self._lock:
            self._delivered.acknowledged += acknowledged
            self._delivered.failed += failed
            if latency is not None:
                self._delivered.latencies_s.append(latency)

    def _send(self) -> None:
        led: dict[Key, int] = {}
        order: list[Key] = []
        known = (-1, -1)
        position, began, sent = 0, time.monotonic(), 0
        while not self._closed.wait(_TICK_SECONDS):
            now = self._view.look(lambda state: (state.changes.leaders, len(state.partitions)))
            if now != known:
                known, led = now, self._view.look(leaders)
                order = sorted(led)
                random.Random(1).shuffle(order)
            due = int((time.monotonic() - began) * self._rate) - sent
            sent += due
            by_leader: dict[int, Counter[Key]] = {}
            for _ in range(due if order else 0):
                key = order[position % len(order)]
                position += 1
                by_leader.setdefault(led[key], Counter())[key] += 1
            for leader, keys in by_leader.items():
                pipe = self._pipes.get(leader)
                if pipe is None or not pipe.send(keys):
                    with self._lock:
                        self._delivered.unsent += keys.total()


class _Pipe:
    """Requests to one broker, answered in order; connects again when it must."""

    def __init__(self, endpoint: Endpoint, answered: Answered) -> None:
        self._endpoint = endpoint
        self._answered = answered
        self._connection: Connection | None = None
        self._in_flight: deque[tuple[float, Counter[Key]]] = deque()
        self._not_before = 0.0
        self._next_id = 0

    def send(self, keys: Counter[Key]) -> bool:
        """Whether the request was sent."""
        connection = self._connection or self._connect()
        if connection is None or len(self._in_flight) >= _MOST_IN_FLIGHT:
            return False
        self._next_id += 1
        frame = b"".join(encode_request(produce_request(keys), PRODUCE_VERSION, self._next_id, CLIENT_ID))
        self._in_flight.append((time.monotonic(), keys))
        try:
            connection.send(frame)
        except OSError:
            connection.abort()  # the receiver counts what was in flight
        return True

    def close(self) -> None:
        """Hang up."""
        if self._connection is not None:
            self._connection.abort()

    def _connect(self) -> Connection | None:
        if time.monotonic() < self._not_before or self._in_flight:
            return None
        try:
            connection = self._connection = Connection(self._endpoint)
        except OSError:
            self._not_before = time.monotonic() + _AGAIN_SECONDS
            return None
        threading.Thread(target=self._receive, args=(connection,), name="steady-load-answers", daemon=True).start()
        return connection

    def _receive(self, connection: Connection) -> None:
        try:
            while True:
                _, body = decode_response(connection.receive(), ProduceRequest.API_KEY, PRODUCE_VERSION)
                sent_at, keys = self._in_flight.popleft()
                failed = sum(
                    keys[topic.name, one.index]
                    for topic in body.responses
                    for one in topic.partition_responses
                    if one.error_code
                )
                self._answered(keys.total() - failed, failed, time.monotonic() - sent_at)
        except (OSError, LoadError, ValueError):
            self._connection = None
            connection.close()
            while self._in_flight:
                self._answered(0, self._in_flight.popleft()[1].total(), None)


# --- how long nodes do not answer ------------------------------------------------------------------------------------


class Pulse:
    """Asks every node for its ApiVersions many times a second: the longest answer bounds the longest turn of a loop."""

    def __init__(self, nodes: Mapping[str, Endpoint]) -> None:
        self._closed = threading.Event()
        self._longest = dict.fromkeys(nodes, 0.0)
        for name, endpoint in nodes.items():
            threading.Thread(target=self._beat, args=(name, endpoint), name=f"pulse-{name}", daemon=True).start()

    def __enter__(self) -> Pulse:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()  # a thread may wait for a node that is stuck; it ends with that node

    def take(self) -> dict[str, float]:
        """The longest answer of each node in seconds since the last call."""
        longest, self._longest = self._longest, dict.fromkeys(self._longest, 0.0)
        return longest

    def _beat(self, name: str, endpoint: Endpoint) -> None:
        while not self._closed.wait(_PULSE_SECONDS):
            try:
                with Connection(endpoint) as connection:
                    while not self._closed.wait(_PULSE_SECONDS):
                        began = time.monotonic()
                        connection.call(ApiVersionsRequest(), 0)
                        self._longest[name] = max(self._longest[name], time.monotonic() - began)
            except (OSError, LoadError):
                pass  # it is down
