"""Asks leaders for their high watermarks (ListOffsets), a few times a second.

Neither the metadata log nor ZooKeeper holds high watermarks. So what is seen of one is true, and not all of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from highwater_runtime.ports import MS, SECOND, ClientCore, Endpoint, Ports, RpcFailure
from highwater_runtime.ports.trace import HighWatermarkAdvanced, NodeEvent
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.list_offsets_request import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from highwater_runtime.wire.messages.list_offsets_response import ListOffsetsResponse

_VERSION: Final = 7
_LATEST: Final = -1
_CONSUMER: Final = -1
_NO_EPOCH: Final = -1
"""In an answer without leader epochs (below version 4)."""
_EVERY_NS: Final = 250 * MS
_TIMEOUT_NS: Final = 2 * SECOND
_INTERNAL: Final = "__"


class Report(Protocol):
    """Gets events with the id of the node whose word they are: a controller's for the metadata, a broker's for its HW.
    Events that come in one call happened at one moment."""

    def __call__(self, node_id: int, /, *events: NodeEvent) -> None:
        """Take the high watermarks of one broker."""


class Led(NamedTuple):
    """A partition with a leader."""

    topic: str
    partition: int
    leader: int
    leader_epoch: int


class HighWatermarks(ClientCore):
    """A client core, or a part of one.

    Args:
        brokers: where they listen, by id.
        led: the partitions that have a leader now; internal topics are passed over.
        report: gets the events.
    """

    def __init__(
        self, brokers: Mapping[int, Endpoint], led: Callable[[], Iterable[Led]], report: Report, ports: Ports
    ) -> None:
        self._brokers = brokers
        self._led = led
        self._report = report
        self._ports = ports
        self._asked: set[int] = set()  # membership only, never iterated
        self._reported: dict[tuple[str, int], tuple[int, int]] = {}

    def start(self) -> None:
        """Ask all brokers, again and again."""
        self._ports.clock.call_later(_EVERY_NS, self._ask)

    def _ask(self) -> None:
        by_leader: dict[int, list[Led]] = {}
        for one in self._led():
            if not one.topic.startswith(_INTERNAL):
                by_leader.setdefault(one.leader, []).append(one)
        for leader, led in by_leader.items():
            endpoint = self._brokers.get(leader)
            if endpoint is not None and leader not in self._asked:
                self._asked.add(leader)
                self._ports.network.send(
                    endpoint,
                    _request(led),
                    _VERSION,
                    partial(self._answered, leader, {one[:2]: one.leader_epoch for one in led}),
                    timeout_ns=_TIMEOUT_NS,
                    channel="high-watermarks",
                )
        self.start()

    def _answered(
        self, leader: int, epochs: Mapping[tuple[str, int], int], response: ListOffsetsResponse | RpcFailure
    ) -> None:
        self._asked.discard(leader)
        if isinstance(response, RpcFailure):
            return
        for topic in response.topics:
            for partition in topic.partitions:
                key = (topic.name, partition.partition_index)
                if partition.error_code == ErrorCode.NONE and partition.offset >= 0 and key in epochs:
                    self._high_watermark(leader, key, epochs[key], partition)

    def _high_watermark(self, leader: int, key: tuple[str, int], asked_in: int, answer: Any) -> None:
        epoch = asked_in if answer.leader_epoch == _NO_EPOCH else answer.leader_epoch
        if self._reported.get(key) == (epoch, answer.offset):
            return
        self._reported[key] = (epoch, answer.offset)
        event = HighWatermarkAdvanced(partition=f"{key[0]}-{key[1]}", leader_epoch=epoch, offset=answer.offset)
        self._report(leader, event)


def _request(led: Iterable[Led]) -> ListOffsetsRequest:
    topics: dict[str, list[ListOffsetsPartition]] = {}
    for one in led:
        partition = ListOffsetsPartition(
            partition_index=one.partition, current_leader_epoch=one.leader_epoch, timestamp=_LATEST
        )
        topics.setdefault(one.topic, []).append(partition)
    return ListOffsetsRequest(
        replica_id=_CONSUMER,
        topics=[ListOffsetsTopic(name=name, partitions=partitions) for name, partitions in topics.items()],
    )
