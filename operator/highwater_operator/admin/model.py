"""A live cluster as its brokers tell it, and what may be asked of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from highwater_chaos.experiment.steps import CreateTopic
from highwater_runtime.ports import Endpoint

NO_LEADER = -1


class AdminError(Exception):
    """The cluster did not answer, or refused; the message says what was asked and why it was not done."""


@dataclass(frozen=True, slots=True)
class PartitionView:
    """One partition, as one broker's metadata has it."""

    topic: str
    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]

    @property
    def name(self) -> str:
        """``orders-0``."""
        return f"{self.topic}-{self.index}"

    @property
    def is_under_replicated(self) -> bool:
        """Whether a replica is missing from the ISR, or there is no leader."""
        return self.leader == NO_LEADER or len(self.isr) < len(self.replicas)


@dataclass(frozen=True, slots=True)
class TopicView:
    """A topic; partitions by index."""

    name: str
    is_internal: bool
    partitions: tuple[PartitionView, ...]


@dataclass(frozen=True, slots=True)
class BrokerView:
    """A registered broker."""

    id: int
    endpoint: Endpoint
    fenced: bool


@dataclass(frozen=True, slots=True)
class QuorumView:
    """The metadata quorum as its leader tells it. ``voters``: node id to end of its log, −1 where not known."""

    leader: int
    epoch: int
    high_watermark: int
    voters: Mapping[int, int]

    @property
    def lagging(self) -> tuple[int, ...]:
        """Voters that do not have everything that is committed."""
        return tuple(voter for voter, end in self.voters.items() if end < self.high_watermark)


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster, from the answers of all its live brokers.

    Brokers learn of a change one after the other. ``under_replicated`` names every partition that *any* of them holds
    for such, so that a broker which is behind can delay a rolling restart but never let one begin too early.
    """

    cluster_id: str
    brokers: Mapping[int, BrokerView]
    topics: Mapping[str, TopicView]
    quorum: QuorumView | None
    under_replicated: tuple[str, ...]
    silent: tuple[int, ...] = ()
    """Unfenced brokers that did not answer."""
    problems: tuple[str, ...] = field(default=())
    """Why something here is not known."""

    def replicas_on(self, broker: int) -> tuple[str, ...]:
        """Names of the partitions of which ``broker`` holds a replica."""
        return tuple(
            partition.name
            for topic in self.topics.values()
            for partition in topic.partitions
            if broker in partition.replicas
        )

    def partition(self, topic: str, index: int) -> PartitionView | None:
        """One partition; None where there is no such."""
        found = self.topics.get(topic)
        return None if found is None else next((one for one in found.partitions if one.index == index), None)


class ClusterAdmin(Protocol):
    """A conversation with one cluster."""

    async def look(self) -> ClusterView:
        """How the cluster is. Raises :class:`AdminError` where no broker answers."""

    async def create_topic(self, topic: CreateTopic) -> None:
        """Create a topic; fine where it is there already. Raises :class:`AdminError`."""

    async def delete_topic(self, name: str) -> None:
        """Delete a topic; fine where it is not there. Raises :class:`AdminError`."""

    async def unregister_broker(self, broker: int) -> None:
        """Take a broker that is gone out of the metadata; fine where it is not there. Raises :class:`AdminError`."""

    async def reassign(self, topic: str, partition: int, replicas: Sequence[int]) -> None:
        """Begin to move a partition. Raises :class:`AdminError`."""


OpenAdmin = Callable[[Sequence[Endpoint]], AbstractAsyncContextManager[ClusterAdmin]]
"""Opens a conversation with the cluster that has these brokers."""
