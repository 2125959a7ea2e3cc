"""A client's view of the cluster: brokers and partition leaders, refreshed when a response shows that it is stale.

Kafka's client rules: ask any known broker, bootstrap ones first; one request at a time; after a failure try another
broker; accept a leader epoch only if it is not older than the known one (KIP-320), so a response from a broker that
lags does not replace newer metadata.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from highwater_runtime.ports import MS, SECOND, Endpoint, Ports, RpcFailure
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.metadata_request import MetadataRequest, MetadataRequestTopic
from highwater_runtime.wire.messages.metadata_response import MetadataResponse

METADATA_VERSION: Final = 12
RETRY_BACKOFF_NS: Final = 100 * MS
"""Kafka's ``retry.backoff.ms``."""
MAX_BACKOFF_NS: Final = 1 * SECOND
"""Kafka's ``retry.backoff.max.ms``: what asking again and again for the same answer comes to (KIP-580)."""
MAX_AGE_NS: Final = 10 * SECOND
"""How long metadata is believed when nothing contradicts it (Kafka's default is five minutes; runs are shorter)."""

NO_ID: Final = UUID(int=0)
"""The id of a topic in a cluster whose topics have none."""

PartitionKey = tuple[str, int]
"""Topic name and partition index."""


def key_name(key: PartitionKey) -> str:
    """``("orders", 0)`` → ``"orders-0"``."""
    return f"{key[0]}-{key[1]}"


@dataclass(frozen=True, slots=True)
class LeaderOf:
    """The leader of a partition; ``node_id`` −1: none known."""

    node_id: int
    epoch: int


class MetadataCache:
    """One client's view of brokers, topics and leaders."""

    def __init__(
        self,
        ports: Ports,
        bootstrap: Sequence[Endpoint],
        topics: Sequence[str],
        request_timeout_ns: int,
        on_refreshed: Callable[[], None],
        first: int = 0,
    ) -> None:
        self.partitions: list[PartitionKey] = []
        """All partitions of the topics, sorted."""
        self.topic_ids: dict[str, UUID] = {}
        self.moved: dict[PartitionKey, None] = {}
        """Partitions that are new or have another leader, leader epoch or address of it since the answer before, or of
        which no leader is known any more."""
        self._ports = ports
        self._bootstrap = list(bootstrap)
        self._topics = list(topics)
        self._timeout_ns = request_timeout_ns
        self._on_refreshed = on_refreshed
        self._brokers: dict[int, Endpoint] = {}
        self._leaders: dict[PartitionKey, LeaderOf] = {}
        self._asking = False
        self._again = False
        self._attempt = first
        """Counts questions that any broker can answer. Clients that begin to count elsewhere ask other brokers."""
        self._last_asked_ns: int | None = None
        self._backoff_ns = RETRY_BACKOFF_NS
        self._stopped = False

    def start(self) -> None:
        """Ask now, and again whenever what is known has become old."""
        self.refresh()
        self._ports.clock.call_later(MAX_AGE_NS, self._grow_old)

    def stop(self) -> None:
        self._stopped = True

    def leader(self, key: PartitionKey) -> LeaderOf | None:
        """The leader to send to, None where none is known or its address is not."""
        found = self._leaders.get(key)
        return found if found is not None and found.node_id in self._brokers else None

    def endpoint(self, node_id: int) -> Endpoint:
        return self._brokers[node_id]

    def any_broker(self) -> Endpoint:
        """A broker to ask what any can answer; another one each time."""
        self._attempt += 1
        known = list(self._brokers.values()) or self._bootstrap
        return known[self._attempt % len(known)]

    def refresh(self) -> None:
        """Ask for metadata soon: at once, or after a backoff if the last question was just now."""
        if self._stopped or self._asking:
            self._again = self._again or self._asking
            return
        self._asking = True
        now = self._ports.clock.now_ns()
        since = MAX_BACKOFF_NS if self._last_asked_ns is None else now - self._last_asked_ns
        if since >= MAX_BACKOFF_NS:
            self._backoff_ns = RETRY_BACKOFF_NS
        if since >= self._backoff_ns:
            self._ask()
        else:
            self._ports.clock.call_later(self._backoff_ns - since, self._ask)

    def _grow_old(self) -> None:
        if not self._stopped:
            self.refresh()
            self._ports.clock.call_later(MAX_AGE_NS, self._grow_old)

    def _ask(self) -> None:
        self._again = False
        self._last_asked_ns = self._ports.clock.now_ns()
        request = MetadataRequest(
            topics=[MetadataRequestTopic(name=name) for name in self._topics], allow_auto_topic_creation=False
        )
        # All known brokers may be gone, so every third request goes to a bootstrap broker.
        self._attempt += 1
        known = list(self._brokers.values())
        pool = self._bootstrap if not known or self._attempt % 3 == 0 else known
        to = pool[self._attempt % len(pool)]
        self._ports.network.send(
            to, request, METADATA_VERSION, self._answered, timeout_ns=self._timeout_ns, channel="metadata"
        )

    def _answered(self, response: MetadataResponse | RpcFailure) -> None:
        self._asking = False
        if self._stopped:
            return
        if isinstance(response, RpcFailure):
            self.refresh()
            return
        complete = self._take(response)
        self._backoff_ns = RETRY_BACKOFF_NS if self.moved else min(2 * self._backoff_ns, MAX_BACKOFF_NS)
        if self._again or not complete:
            self.refresh()
        self._on_refreshed()

    def _forget(self, topic: str) -> None:
        """Drop all of a topic: the next response may be about another one of that name, perhaps with fewer
        partitions."""
        self.partitions = [key for key in self.partitions if key[0] != topic]
        self.moved |= dict.fromkeys(key for key in self._leaders if key[0] == topic)
        self._leaders = {key: leader for key, leader in self._leaders.items() if key[0] != topic}

    def _take(self, response: MetadataResponse) -> bool:
        """Take over a response; returns whether every partition has a leader."""
        brokers_before = self._brokers
        if response.brokers:
            self._brokers = {broker.node_id: Endpoint(broker.host, broker.port) for broker in response.brokers}
        complete = bool(response.brokers)
        self.moved = {}
        found = False
        for topic in response.topics:
            name = topic.name
            if name is None or topic.error_code != ErrorCode.NONE:
                complete = False
                if name is not None and self.topic_ids.get(name) == NO_ID:
                    # No id will tell the topic that is created next from this one.
                    self._forget(name)
                continue
            if self.topic_ids.get(name) != topic.topic_id:
                # Another topic with the same name: the leader epochs of the old one do not apply.
                self._forget(name)
                self.topic_ids[name] = topic.topic_id
            for partition in topic.partitions:
                key = (name, partition.partition_index)
                leader = known = self._leaders.get(key)
                epoch = partition.leader_epoch
                if (
                    known is None
                    or epoch > known.epoch
                    or (epoch == known.epoch and partition.leader_id != known.node_id)
                ):
                    leader = self._leaders[key] = LeaderOf(partition.leader_id, epoch)
                    self.moved[key] = None
                    found = found or known is None
                complete = complete and leader is not None and leader.node_id in self._brokers
        if found:
            self.partitions = sorted({*self.partitions, *self._leaders})
        if self._brokers != brokers_before:
            self.moved |= dict.fromkeys(self._leaders)
        return complete
