"""A broker's fetchers over one real replica, and a network in the test's hands."""

from __future__ import annotations

from random import Random
from typing import Any
from uuid import UUID

from highwater_runtime.broker.fetcher import FetchContext
from highwater_runtime.broker.fetcher_manager import FetcherManager
from highwater_runtime.broker.replication_quota import ReplicationQuota
from highwater_runtime.broker.truncation import PROTOCOLS, ProtocolName
from highwater_runtime.config import NodeConfig
from highwater_runtime.log.records import build_batch
from highwater_runtime.ports import MS, Endpoint, Ports
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.fetch_response import FetchableTopicResponse, FetchResponse, PartitionData
from highwater_runtime.wire.messages.list_offsets_response import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from highwater_runtime.wire.messages.offset_for_leader_epoch_request import OffsetForLeaderEpochRequest
from highwater_runtime.wire.messages.offset_for_leader_epoch_response import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)

BACKOFF_NS = 1000 * MS
TOPIC = UUID(int=5)


def batch(base_offset: int, count: int, epoch: int) -> bytes:
    return build_batch([b"v"] * count, base_offset=base_offset, leader_epoch=epoch, timestamp_ms=1)


class Wire:
    """A network in the test's hands. What is sent went through the codec; ``Follower`` sends responses through it."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, Any, int, Any]] = []

    def send(self, to, request, version, on_response, *, timeout_ns, channel="") -> None:
        self.sent.append((to.host, type(request).decode(request.encode(version), version), version, on_response))


class Follower:
    """Broker 1 with its replica of ``orders-0`` and the fetchers."""

    def __init__(self, bench, protocol: ProtocolName = "fenced") -> None:
        self.bench = bench
        self.wire = Wire()
        self.failures: list[int] = []
        self.version = 15
        self.quota = ReplicationQuota(bench.clock.now_ns)
        self.endpoints = {2: Endpoint("broker-2", 9092), 3: Endpoint("broker-3", 9092)}
        ports = Ports(
            clock=bench.clock, network=self.wire, disk=None, random=Random(1), metrics=None, trace=bench.trace
        )
        self.fetchers = FetcherManager(
            FetchContext(
                broker_id=1,
                config=NodeConfig(),
                ports=ports,
                broker_epoch=lambda: 11,
                protocol=PROTOCOLS[protocol],
                fetch_version=lambda: self.version,
                quota=self.quota,
                replicated=lambda _: None,
                failed=lambda: self.failures.append(len(self.fetchers.failed)),
            )
        )

    def follow(self, leader: int, epoch: int, partition_epoch: int = 0) -> None:
        self.bench.become(leader, epoch=epoch, partition_epoch=partition_epoch)
        self.fetchers.follow(self.bench.partition, self.endpoints[leader])
        self.pass_time(0)

    def pass_time(self, ns: int) -> None:
        self.bench.clock.advance(ns)

    @property
    def asked(self) -> Any:
        """The one partition of the last Fetch."""
        return self.wire.sent[-1][1].topics[0].partitions[0]

    def answer(self, *, nth: int = -1, **fields: Any) -> None:
        data = PartitionData(**{"partition_index": 0, "high_watermark": 0, "records": b"", **fields})
        self.respond(
            FetchResponse(responses=[FetchableTopicResponse(topic="orders", topic_id=TOPIC, partitions=[data])]), nth
        )

    def epoch_end(
        self, end_offset: int, epoch: int = -1, *, nth: int = -1, topic: str = "orders", **fields: Any
    ) -> None:
        """Answer a request for the end of an epoch."""
        assert isinstance(self.wire.sent[nth][1], OffsetForLeaderEpochRequest)
        end = EpochEndOffset(**{"partition": 0, "leader_epoch": epoch, "end_offset": end_offset, **fields})
        self.respond(
            OffsetForLeaderEpochResponse(topics=[OffsetForLeaderTopicResult(topic=topic, partitions=[end])]), nth
        )

    def offsets(self, offset: int, error: ErrorCode = ErrorCode.NONE) -> None:
        partition = ListOffsetsPartitionResponse(partition_index=0, offset=offset, error_code=error)
        self.respond(ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="orders", partitions=[partition])]))

    def respond(self, response: Any, nth: int = -1) -> None:
        _, _, version, on_response = self.wire.sent[nth]
        on_response(type(response).decode(response.encode(version), version))
