"""One ordered, retrying sender per broker: what the controller commands, in the order in which it was decided.

One request is under way at a time. What comes meanwhile is merged: a *round* is sent as LeaderAndIsr, then
UpdateMetadata, then StopReplica (Kafka's order), and only a partition that is stopped and then starts again (a topic
that is created again) needs a second round. A broker follows no leader that it does not know to live. So a round that
introduces brokers (``brokers_first``) begins with another UpdateMetadata, which has nothing but the live brokers.

A full list (``type`` 2) names every replica of its broker, so it takes in what is merged into it, and is never split.
Without topic ids it is sent all the same, with ids of zero (KAFKA-7362's draft).

A request that gets no answer is sent again. It may be merged with nothing any more, as the broker may have carried it
out. Each request has a number, which its copies share, so that a broker knows a copy that comes after a later request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from highwater_runtime.controller.zk.context import PartitionKey
from highwater_runtime.ports import MS, ApiMessage, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.leader_and_isr_request import (
    LeaderAndIsrLiveLeader,
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from highwater_runtime.wire.messages.stop_replica_request import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from highwater_runtime.wire.messages.update_metadata_request import (
    UpdateMetadataBroker,
    UpdateMetadataPartitionState,
    UpdateMetadataRequest,
    UpdateMetadataTopicState,
)

_TYPE_SINCE: Final = 5
"""Version of LeaderAndIsr."""
CHANNEL: Final = "controller-to-broker"
RETRY_NS: Final = 100 * MS
"""Between two attempts (Kafka's RequestSendThread)."""

INCREMENTAL: Final = 1
FULL: Final = 2


@dataclass(slots=True)
class Round:
    """The commands for one broker. Values are the generated states, by partition; None: no such request.
    ``topic_ids`` has the id of each topic in it, as it was when that was decided. ``brokers_first``: its leaders may be
    brokers that were not alive in the round before."""

    topic_ids: dict[str, UUID] = field(default_factory=dict)
    leader_and_isr: dict[PartitionKey, LeaderAndIsrPartitionState] | None = None
    full: bool = False
    brokers_first: bool = False
    update_metadata: dict[PartitionKey, UpdateMetadataPartitionState] | None = None
    stop: dict[PartitionKey, StopReplicaPartitionState] | None = None

    def takes(self, other: Round) -> bool:
        """Whether ``other`` may be merged into this without changing the order that matters."""
        if any(self.topic_ids.get(topic, topic_id) != topic_id for topic, topic_id in other.topic_ids.items()):
            return False
        return not (self.stop and other.leader_and_isr and any(key in self.stop for key in other.leader_and_isr))

    def merge(self, other: Round) -> None:
        """Take in a later round."""
        self.topic_ids |= other.topic_ids
        self.brokers_first = self.brokers_first or other.brokers_first
        if other.leader_and_isr is not None:
            if other.full or self.leader_and_isr is None:
                self.leader_and_isr = dict(other.leader_and_isr)
                self.full = other.full
            else:
                self.leader_and_isr.update(other.leader_and_isr)
        if other.update_metadata is not None:
            self.update_metadata = (self.update_metadata or {}) | other.update_metadata
        if other.stop is not None:
            self.stop = (self.stop or {}) | other.stop


@dataclass(frozen=True, slots=True)
class Header:
    """What every request of one controller says; ``live_brokers`` gives those of the moment of sending."""

    controller_id: int
    epoch: int
    topic_ids: bool
    leader_and_isr_version: int
    sequence: Iterator[int]
    """Numbers for the requests."""
    live_brokers: Callable[[], list[UpdateMetadataBroker]]
    live_leaders: Callable[[list[int]], list[LeaderAndIsrLiveLeader]]


OnResponse = Callable[["BrokerSender", Any, Any], None]
"""Sender, request, response."""


class BrokerSender:
    """The way to one broker in one incarnation of it."""

    def __init__(
        self,
        broker_id: int,
        broker_epoch: int,
        endpoint: Endpoint,
        header: Header,
        ports: Ports,
        on_response: OnResponse,
        *,
        timeout_ns: int,
    ) -> None:
        self.broker_id = broker_id
        self.broker_epoch = broker_epoch
        self._endpoint = endpoint
        self._header = header
        self._ports = ports
        self._on_response = on_response
        self._timeout_ns = timeout_ns
        self._rounds: deque[Round] = deque()
        self._due: deque[tuple[ApiMessage, int]] = deque()
        """The requests of the round that is being sent."""
        self._in_flight = False
        self._closed = False

    def send(self, round_: Round) -> None:
        """Send this after all that was sent before."""
        if self._closed:
            return
        if self._rounds and self._rounds[-1].takes(round_):
            self._rounds[-1].merge(round_)
        else:
            self._rounds.append(round_)
        self._next()

    def close(self) -> None:
        """Send nothing more; what is under way is not believed."""
        self._closed = True
        self._rounds.clear()
        self._due.clear()

    def _next(self) -> None:
        if self._closed or self._in_flight:
            return
        if not self._due and self._rounds:
            self._due.extend(self._requests(self._rounds.popleft()))
        if self._due:
            self._in_flight = True
            self._attempt()

    def _attempt(self) -> None:
        if self._closed:
            return
        request, version = self._due[0]
        self._ports.network.send(
            self._endpoint,
            request,
            version,
            lambda response: self._responded(request, response),
            timeout_ns=self._timeout_ns,
            channel=CHANNEL,
        )

    def _responded(self, request: ApiMessage, response: Any) -> None:
        if self._closed:
            return
        if isinstance(response, RpcFailure):
            self._ports.clock.call_later(RETRY_NS, self._attempt)
            return
        self._in_flight = False
        self._due.popleft()
        if response.error_code == ErrorCode.STALE_BROKER_EPOCH:
            self._rounds.clear()
            self._due.clear()
        self._on_response(self, request, response)
        self._next()

    # --- requests -------------------------------------------------------------------------------------------------

    def _requests(self, round_: Round) -> list[tuple[ApiMessage, int]]:
        requests: list[tuple[ApiMessage, int]] = []
        header = self._header
        facts: dict[str, Any] = {
            "controller_id": header.controller_id,
            "controller_epoch": header.epoch,
            "broker_epoch": self.broker_epoch,
        }

        def update(states: dict[PartitionKey, UpdateMetadataPartitionState]) -> None:
            topics = [
                UpdateMetadataTopicState(topic_name=topic, topic_id=round_.topic_ids[topic], partition_states=of_topic)
                for topic, of_topic in _by_topic(states)
            ]
            request = UpdateMetadataRequest(
                **facts, sequence=next(header.sequence), topic_states=topics, live_brokers=header.live_brokers()
            )
            requests.append((request, 7 if header.topic_ids else 6))

        if round_.brokers_first and round_.leader_and_isr is not None:
            update({})
        if round_.leader_and_isr is not None:
            states = round_.leader_and_isr
            leaders = sorted({state.leader for state in states.values() if state.leader >= 0})
            topics = [
                LeaderAndIsrTopicState(topic_name=topic, topic_id=round_.topic_ids[topic], partition_states=of_topic)
                for topic, of_topic in _by_topic(states)
            ]
            request = LeaderAndIsrRequest(
                **facts,
                sequence=next(header.sequence),
                topic_states=topics,
                live_leaders=header.live_leaders(leaders),
            )
            if header.leader_and_isr_version >= _TYPE_SINCE:
                request.type = FULL if round_.full else INCREMENTAL
            requests.append((request, header.leader_and_isr_version))
        if round_.update_metadata is not None:
            update(round_.update_metadata)
        if round_.stop is not None:
            stopped = [
                StopReplicaTopicState(topic_name=topic, partition_states=of_topic)
                for topic, of_topic in _by_topic(round_.stop)
            ]
            requests.append((StopReplicaRequest(**facts, sequence=next(header.sequence), topic_states=stopped), 3))
        return requests


def _by_topic(states: dict[PartitionKey, Any]) -> list[tuple[str, list[Any]]]:
    topics: dict[str, list[Any]] = {}
    for key, state in states.items():
        topics.setdefault(key.topic, []).append(state)
    return list(topics.items())
