"""A live cluster as its brokers tell it, and what may be asked of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import Protocol

from highwater_chaos.experiment.nodes import node_id
from highwater_chaos.experiment.steps import CreateTopic
from highwater_runtime.host.net.listeners import PLAINTEXT_OUTBOUND, OutboundSecurity
from highwater_runtime.ports import Endpoint

NO_LEADER = -1
_NAMED = 5


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
    """A topic; partitions by index. ``id``: in hex; empty: not known, or topics have none."""

    name: str
    is_internal: bool
    partitions: tuple[PartitionView, ...]
    id: str = ""


@dataclass(frozen=True, slots=True)
class BrokerView:
    """A registered broker."""

    id: int
    endpoint: Endpoint
    fenced: bool


@dataclass(frozen=True, slots=True)
class QuorumView:
    """The metadata quorum as its leader describes it. ``voters``: node id to end of its log, −1 if not known.
    ``out_of_reach``: which nodes cannot reach which controllers, as the nodes themselves say; a line for each node."""

    leader: int
    epoch: int
    high_watermark: int
    voters: Mapping[int, int]
    out_of_reach: tuple[str, ...] = ()

    @property
    def lagging(self) -> tuple[int, ...]:
        """Voters that do not have everything that is committed."""
        return tuple(voter for voter, end in self.voters.items() if end < self.high_watermark)

    @property
    def controller(self) -> int:
        """Node id of the active controller, −1 if there is none."""
        return self.leader

    @property
    def costly(self) -> frozenset[int]:
        """Node ids whose restart costs an election."""
        return frozenset({self.leader})

    @property
    def why_unsafe(self) -> str | None:
        """Why it could not do without one more node now; None: it could."""
        if self.leader < 0:
            return "the metadata quorum has no leader"
        if self.lagging:
            return f"controllers {list(self.lagging)} have not caught up"
        if self.out_of_reach:
            more = len(self.out_of_reach) - _NAMED
            return "; ".join(self.out_of_reach[:_NAMED]) + (f"; and {more} more nodes" if more > 0 else "")
        return None


@dataclass(frozen=True, slots=True)
class ServerView:
    """A ZooKeeper server that serves. ``synced_followers``: of a leader, how many have all that it has."""

    leads: bool
    synced_followers: int


@dataclass(frozen=True, slots=True)
class EnsembleView:
    """The ZooKeeper ensemble as its servers describe it: by index, the server, or why it does not serve.
    ``controller``: the broker that is the active controller, −1 if brokers know of none."""

    controller: int
    servers: Mapping[int, ServerView | str]

    @property
    def leaders(self) -> tuple[int, ...]:
        """Servers that say that they lead."""
        return tuple(index for index, one in self.servers.items() if isinstance(one, ServerView) and one.leads)

    @property
    def costly(self) -> frozenset[int]:
        """Node ids whose restart costs an election, of the ensemble or of the controller."""
        return frozenset({self.controller, *(node_id(f"zookeeper-{index}") for index in self.leaders)})

    @property
    def why_unsafe(self) -> str | None:
        """Why it could not do without one more node now; None: it could."""
        for index, one in self.servers.items():
            if isinstance(one, str):
                return f"zookeeper-{index} does not serve: {one}"
        if len(self.leaders) != 1:
            return f"of the ZooKeeper servers {list(self.leaders)} say that they lead; expected one"
        leader = self.servers[self.leaders[0]]
        followers = len(self.servers) - 1
        if isinstance(leader, ServerView) and leader.synced_followers < followers:
            return f"{leader.synced_followers} of {followers} followers of zookeeper-{self.leaders[0]} are in sync"
        return "no broker is the active controller" if self.controller < 0 else None


@dataclass(frozen=True, slots=True)
class ClusterView:
    """The cluster, from the answers of all its live brokers.

    Brokers learn of a change one after the other. ``under_replicated`` names every partition that *any* of them holds
    for such, so that a broker which is behind can delay a rolling restart but never let one begin too early.
    """

    cluster_id: str
    brokers: Mapping[int, BrokerView]
    topics: Mapping[str, TopicView]
    quorum: QuorumView | EnsembleView | None
    under_replicated: tuple[str, ...]
    silent: tuple[int, ...] = ()
    """Unfenced brokers that did not answer."""
    out_of_sync: frozenset[int] = frozenset()
    """Brokers with replicas of under-replicated partitions that *no* broker holds to be in the ISR of one of these."""
    problems: tuple[str, ...] = field(default=())
    """Why something here is not known."""

    @property
    def holders(self) -> frozenset[int]:
        """Brokers that are registered, or hold a replica: in ZooKeeper mode one that is down is not registered."""
        partitions = (partition for topic in self.topics.values() for partition in topic.partitions)
        return frozenset({*self.brokers, *(replica for one in partitions for replica in one.replicas)})

    @property
    def without_leader(self) -> tuple[str, ...]:
        """Names of the partitions that nobody leads."""
        partitions = (partition for topic in self.topics.values() for partition in topic.partitions)
        return tuple(one.name for one in partitions if one.leader == NO_LEADER)

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


class OpenAdmin(Protocol):
    """Opens a conversation with the cluster that has these brokers, and in ZooKeeper mode these ZooKeeper servers;
    ``pages``: the admin endpoints of the nodes that are to be asked whom of the quorum they reach;
    ``security``: how brokers are met."""

    def __call__(
        self,
        brokers: Sequence[Endpoint],
        zookeepers: Sequence[Endpoint],
        /,
        *,
        pages: Sequence[Endpoint] = (),
        security: OutboundSecurity = PLAINTEXT_OUTBOUND,
    ) -> AbstractAsyncContextManager[ClusterAdmin]: ...
