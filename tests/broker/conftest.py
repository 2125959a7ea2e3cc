"""A real cluster in the simulator, and small clients that talk to it from a test; helpers beside it are importable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from random import Random
from typing import Any
from uuid import UUID

import pytest
from hand_ports import HandClock, HandNetwork, HandTrace
from simulated_cluster import FAST, IdleClient, KraftCluster

from highwater_runtime.broker import Partition
from highwater_runtime.broker.isr import Proposal
from highwater_runtime.broker.leadership import Leadership
from highwater_runtime.broker.partition_context import PartitionContext
from highwater_runtime.config import NodeConfig
from highwater_runtime.log.config import LogConfig
from highwater_runtime.log.log import Log
from highwater_runtime.log.records import build_batch, iter_batches
from highwater_runtime.metadata import PartitionRegistration
from highwater_runtime.ports import SECOND, Ports, RpcFailure
from highwater_runtime.sim import SimDisk, derive_random
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic


class Cluster(KraftCluster):
    """Brokers, controllers and one client in a simulator."""

    # --- looking in ---

    def leader(self, name: str = "orders-0") -> Partition:
        leaders = [p for p in self.replicas(name) if p.is_leader]
        assert leaders, f"{name} has no leader"
        return max(leaders, key=lambda p: p.leader_epoch)

    def replicas(self, name: str = "orders-0") -> list[Partition]:
        found = [self.replica(b, name) for b in range(len(self.sim.nodes)) if f"broker-{b}" in self.sim.nodes]
        return [p for p in found if p is not None]

    # --- talking to it ---

    def ask(self, to: str, request: Any, version: int, *, within_s: float = 30, channel: str = "") -> Any:
        """Send a request and run until it is answered."""
        answers: list[Any] = []
        self.send(to, request, version, answers.append, within_s=within_s, channel=channel)
        self.until(lambda: bool(answers), within_s + 1)
        return answers[0]

    def send(
        self,
        to: str,
        request: Any,
        version: int,
        on_answer: Callable[[Any], None],
        *,
        within_s: float = 30,
        channel: str = "",
    ) -> None:
        client = self.sim.node("client").core
        assert isinstance(client, IdleClient)
        endpoint = self.sim.node(to).endpoint
        client.ports.network.send(
            endpoint, request, version, on_answer, timeout_ns=int(within_s * SECOND), channel=channel
        )

    def create_topic(self, replicas: list[int], name: str = "orders", configs: Mapping[str, str] | None = None) -> UUID:
        return self.create_topic_at(lambda *asked: self.ask("broker-0", *asked), replicas, name, configs)

    def produce(self, *values: bytes, to: int | None = None, **options: Any) -> Any:
        """Produce one batch; returns the partition's answer."""
        leader = self.leader(f"{options.get('topic', 'orders')}-0").leader_id if to is None else to
        response = self.ask(f"broker-{leader}", self.produce_request(*values, **options), 9)
        assert not isinstance(response, RpcFailure), response
        return response.responses[0].partition_responses[0]

    def fetch_request(
        self, topic_id: UUID, offset: int, *, max_wait_ms: int = 0, min_bytes: int = 1, epoch: int = -1
    ) -> FetchRequest:
        fetch = FetchPartition(
            partition=0, fetch_offset=offset, current_leader_epoch=epoch, partition_max_bytes=1 << 20
        )
        return FetchRequest(
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=1 << 20,
            topics=[FetchTopic(topic_id=topic_id, partitions=[fetch])],
        )

    def fetch(self, topic_id: UUID, offset: int, *, to: int | None = None, **options: Any) -> Any:
        """Fetch as a consumer; returns the partition's answer."""
        leader = self.leader().leader_id if to is None else to
        response = self.ask(f"broker-{leader}", self.fetch_request(topic_id, offset, **options), 15, channel="fetch")
        assert not isinstance(response, RpcFailure), response
        return response.responses[0].partitions[0]


def values_of(records: bytes | None) -> list[bytes | None]:
    return [r.value for b in iter_batches(records or b"") for r in b.records()]


@pytest.fixture
def make_cluster() -> Callable[..., Cluster]:
    return Cluster


@pytest.fixture
def record_values() -> Callable[[bytes | None], list[bytes | None]]:
    return values_of


# --- one partition, without a cluster -----------------------------------------------------------------------------


class Bench:
    """One replica of a topic's partition 0 on broker 1 with a real log, and a metadata image in the test's hands."""

    def __init__(self, *, min_isr: int = 1, topic: str = "orders") -> None:
        topic_id = UUID(int=5 if topic == "orders" else 6)
        self.clock = HandClock(SECOND)
        self.trace = HandTrace()
        self.proposals: list[Proposal] = []
        self.withdrawn: list[Any] = []
        self.changed: list[Any] = []
        self.registered = {1: 11, 2: 12, 3: 13}
        """Broker epochs of the active brokers in this broker's metadata."""
        self.min_isr = min_isr
        self.disk = disk = SimDisk(derive_random(1, "disk"), schedule=lambda *_: None, now_ns=self.clock.now_ns)
        self.log = Log.open(disk, f"{topic}-0", LogConfig(), self.clock, topic_id=topic_id, trace=self.trace)
        context = PartitionContext(
            broker_id=1,
            config=NodeConfig.of(FAST),
            clock=self.clock,
            trace=self.trace,
            broker_epoch=lambda: 11,
            eligible=lambda f: f.broker_id in self.registered and f.replica_epoch in (-1, self.registered[f.broker_id]),
            min_isr=lambda _: self.min_isr,
            propose=lambda _, proposal, __: self.proposals.append(proposal),
            withdraw=self.withdrawn.append,
            changed=self.changed.append,
            committed=self.changed.append,
            appended=self.changed.append,
            isr_changed=lambda *_: None,
        )
        self.partition = Partition(topic, topic_id, 0, self.log, 0, context)

    def become(
        self,
        leader: int,
        isr: tuple[int, ...] = (1, 2, 3),
        *,
        epoch: int = 0,
        partition_epoch: int = 0,
        replicas: tuple[int, ...] = (1, 2, 3),
    ) -> None:
        """Metadata arrives."""
        self.partition.apply(
            PartitionRegistration(
                replicas=replicas, isr=isr, leader=leader, leader_epoch=epoch, partition_epoch=partition_epoch
            )
        )

    @property
    def leading(self) -> Leadership:
        assert self.partition.leading is not None
        return self.partition.leading

    def append(self, *values: bytes) -> None:
        """Produce one batch on the leader."""
        self.leading.append(build_batch(list(values), timestamp_ms=1))

    def fetched(self, broker_id: int, offset: int, *, epoch: int | None = None) -> None:
        """A follower fetches at ``offset`` under its broker epoch."""
        self.leading.fetched_by(broker_id, offset, 0, self.registered[broker_id] if epoch is None else epoch)


@pytest.fixture
def bench() -> Bench:
    return Bench()


@pytest.fixture
def make_bench() -> Callable[..., Bench]:
    return Bench


@pytest.fixture
def fake_clock() -> HandClock:
    return HandClock(SECOND)


@pytest.fixture
def recorder() -> HandTrace:
    return HandTrace()


@pytest.fixture
def wire() -> HandNetwork:
    return HandNetwork()


@pytest.fixture
def ports(wire: HandNetwork, fake_clock: HandClock, recorder: HandTrace) -> Ports:
    return Ports(clock=fake_clock, network=wire, disk=None, random=Random(1), metrics=None, trace=recorder)
