"""Load on a broker, made as cheaply as Python can: frames are built once and sent again and again.

A client library would measure itself (librdkafka's Python binding costs more a record than the broker does), so the
load is raw frames on blocking sockets: a template of a Produce request in which only the correlation id changes, as
many in flight as asked for, and answers of which only the error code is looked at. It speaks Kafka's protocol and
nothing else, so that the same load goes to Apache Kafka.
"""

from __future__ import annotations

import struct
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from highwater_lab.benchmarks.connection import CLIENT_ID, Connection, LoadError
from highwater_runtime.log.records import build_batch
from highwater_runtime.ports import Endpoint
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.framing import decode_response, encode_request
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
)
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.delete_topics_response import DeleteTopicsResponse
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from highwater_runtime.wire.messages.fetch_response import FetchResponse
from highwater_runtime.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from highwater_runtime.wire.messages.list_offsets_response import ListOffsetsResponse
from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from highwater_runtime.wire.messages.metadata_response import MetadataResponse
from highwater_runtime.wire.messages.produce_request import PartitionProduceData, ProduceRequest, TopicProduceData
from highwater_runtime.wire.messages.produce_response import ProduceResponse

PRODUCE_VERSION: Final = 9
FETCH_VERSION: Final = 12
LIST_OFFSETS_VERSION: Final = 6
METADATA_VERSION: Final = 9
CREATE_TOPICS_VERSION: Final = 5
_DELETE_TOPICS_VERSION: Final = 6
_CORRELATION: Final = struct.Struct(">i")
_CORRELATION_AT: Final = 8
_LATEST: Final = -1
"""The timestamp by which ListOffsets asks for the end of the log."""
_TIMEOUT_S: Final = 60.0


@dataclass(frozen=True, slots=True)
class ProduceLoad:
    """Produce requests that are all alike: one batch of ``records`` records of ``value_bytes`` each."""

    topic: str
    records: int
    value_bytes: int
    acks: int

    def frame(self) -> bytearray:
        """One request; its correlation id lies at byte 8."""
        batch = build_batch([b"v" * self.value_bytes] * self.records, timestamp_ms=int(time.time() * 1000))
        request = ProduceRequest(
            acks=self.acks,
            timeout_ms=30_000,
            topic_data=[
                TopicProduceData(name=self.topic, partition_data=[PartitionProduceData(index=0, records=batch)])
            ],
        )
        return bytearray(b"".join(encode_request(request, PRODUCE_VERSION, 0, CLIENT_ID)))


@dataclass(frozen=True, slots=True)
class Produced:
    """What came of a load. ``latencies_s``: from the send of each request to its response."""

    requests: int
    seconds: float
    latencies_s: list[float]

    def quantile_ms(self, q: float) -> float:
        """The latency that a fraction ``q`` of all requests kept to, in ms."""
        ordered = sorted(self.latencies_s)
        return ordered[min(len(ordered) - 1, int(q * len(ordered)))] * 1000


def produce(connection: Connection, load: ProduceLoad, *, seconds: float, in_flight: int) -> Produced:
    """As much as goes through with ``in_flight`` requests on their way at any time."""
    frame = load.frame()
    sent: deque[float] = deque()
    latencies: list[float] = []
    clock = time.perf_counter
    began = clock()
    end = began + seconds
    number = 0
    while True:
        # Refill in bursts of half the window, as a client does that is woken once for several answers.
        if clock() < end:
            while len(sent) < in_flight:
                _CORRELATION.pack_into(frame, _CORRELATION_AT, number)
                number += 1
                sent.append(clock())
                connection.send(frame)
        elif not sent:
            break
        for _ in range(max(1, len(sent) // 2) if clock() < end else len(sent)):
            answer = connection.receive()
            latencies.append(clock() - sent.popleft())
            _ensure_produced(answer, number - len(sent) - 1)
    return Produced(number, clock() - began, latencies)


def produce_at(connection: Connection, load: ProduceLoad, *, seconds: float, rate: float) -> Produced:
    """Open loop: a request every ``1/rate`` seconds, one at a time; latency counts from when it was due."""
    frame = load.frame()
    latencies: list[float] = []
    clock = time.perf_counter
    began = clock()
    count = int(seconds * rate)
    for number in range(count):
        due = began + number / rate
        while (ahead := due - clock()) > 0:
            time.sleep(ahead)
        _CORRELATION.pack_into(frame, _CORRELATION_AT, number)
        connection.send(frame)
        _ensure_produced(connection.receive(), number)
        latencies.append(clock() - due)
    return Produced(count, clock() - began, latencies)


def consume(connection: Connection, topic: str, *, max_bytes: int) -> tuple[int, float]:
    """Read partition 0 from its start to its high watermark; returns (bytes of records, seconds)."""
    offset = total = 0
    began = time.perf_counter()
    while True:
        answer: FetchResponse = connection.call(
            FetchRequest(
                max_wait_ms=500,
                min_bytes=1,
                max_bytes=max_bytes,
                topics=[
                    FetchTopic(
                        topic=topic,
                        partitions=[FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)],
                    )
                ],
            ),
            FETCH_VERSION,
        )
        partition = answer.responses[0].partitions[0]
        if partition.error_code:
            raise LoadError(f"Fetch at {offset}: {ErrorCode(partition.error_code).name}")
        records = partition.records or b""
        total += len(records)
        offset = max([offset, *(last + 1 for last in _last_offsets(records))])
        if offset >= partition.high_watermark:
            return total, time.perf_counter() - began
        if not records:
            raise LoadError(f"Fetch at {offset} returned nothing below the high watermark {partition.high_watermark}")


def create_topic(bootstrap: Endpoint, name: str, replicas: list[int]) -> None:
    """A topic of one partition on these brokers, the first of which leads; returns once it does."""
    with Connection(bootstrap) as connection:
        answer = connection.call(
            CreateTopicsRequest(
                topics=[
                    CreatableTopic(
                        name=name,
                        num_partitions=-1,
                        replication_factor=-1,
                        assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)],
                    )
                ],
                timeout_ms=30_000,
            ),
            CREATE_TOPICS_VERSION,
        )
        if code := answer.topics[0].error_code:
            raise LoadError(f"CreateTopics {name}: {ErrorCode(code).name}: {answer.topics[0].error_message}")
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            found = leader_of(connection, name)
            if found is not None and found[0] == replicas[0] and found[2] == len(replicas) and _leads(found[1], name):
                return
            if time.monotonic() > deadline:
                raise LoadError(f"{name} has no leader with a full ISR after {_TIMEOUT_S:.0f} s: {found}")
            time.sleep(0.05)


def delete_topic(bootstrap: Endpoint, name: str) -> None:
    """Have a topic deleted; its bytes may stay for a while."""
    with Connection(bootstrap) as connection:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=30_000)
        answer: DeleteTopicsResponse = connection.call(request, _DELETE_TOPICS_VERSION)
    if code := answer.responses[0].error_code:
        raise LoadError(f"DeleteTopics {name}: {ErrorCode(code).name}: {answer.responses[0].error_message}")


def _leads(endpoint: Endpoint, topic: str) -> bool:
    """Whether the broker has taken up what the metadata says; until then it is not the leader to its clients."""
    partition = ListOffsetsPartition(partition_index=0, timestamp=_LATEST)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
    with Connection(endpoint) as connection:
        answer: ListOffsetsResponse = connection.call(request, LIST_OFFSETS_VERSION)
    return not answer.topics[0].partitions[0].error_code


def leader_of(connection: Connection, topic: str) -> tuple[int, Endpoint, int] | None:
    """``(broker id, endpoint, size of the ISR)`` of partition 0's leader; None while there is none."""
    answer: MetadataResponse = connection.call(
        MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False), METADATA_VERSION
    )
    described = answer.topics[0]
    if described.error_code or not described.partitions or described.partitions[0].error_code:
        return None
    partition = described.partitions[0]
    for broker in answer.brokers:
        if broker.node_id == partition.leader_id:
            return broker.node_id, Endpoint(broker.host, broker.port), len(partition.isr_nodes)
    return None


def _ensure_produced(frame: bytes, number: int) -> None:
    correlation_id, body = decode_response(frame, ProduceResponse.API_KEY, PRODUCE_VERSION)
    code = body.responses[0].partition_responses[0].error_code
    if correlation_id != number or code:
        raise LoadError(f"request {number}: response {correlation_id} with {ErrorCode(code).name}")


def _last_offsets(records: bytes | memoryview) -> Iterator[int]:
    """The last offset of each whole batch (the last one may be cut off)."""
    position = 0
    while position + 61 <= len(records):
        base_offset, size = struct.unpack_from(">qi", records, position)
        if position + 12 + size > len(records):
            return
        (delta,) = struct.unpack_from(">i", records, position + 23)
        yield base_offset + delta
        position += 12 + size
