"""A cluster in ZooKeeper mode in the simulator, with a real ensemble; and a controller in the test's hands."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

import pytest
from simulated_cluster import IdleClient, SimulatedCluster

from highwater_runtime.broker import BrokerOptions
from highwater_runtime.config import NodeConfig, PropertyValue
from highwater_runtime.metadata.znodes import LeaderAndIsrNode, decode_node, leader_and_isr_path
from highwater_runtime.nodes import ZooKeeperBroker
from highwater_runtime.ports import SECOND, Endpoint, Ports, RpcFailure
from highwater_runtime.ports.coordination import Get
from highwater_runtime.ports.trace import NodeEvent
from highwater_runtime.sim import Simulator
from highwater_runtime.switches import Switches
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.fetch_request import FetchPartition, FetchRequest, FetchTopic
from highwater_runtime.zookeeper import EnsembleClient, ZooKeeperOptions, ZooKeeperServer

FAST = {
    "zookeeper.session.timeout.ms": 2000,
    "replica.lag.time.max.ms": 3000,
    "replica.fetch.backoff.ms": 100,
    "replica.socket.timeout.ms": 3000,
    "request.timeout.ms": 3000,
    "controller.socket.timeout.ms": 3000,
    "controlled.shutdown.timeout.ms": 5000,
}
QUICK = NodeConfig(
    quorum_election_timeout_ms=100,
    quorum_fetch_timeout_ms=200,
    quorum_election_backoff_max_ms=100,
    quorum_request_timeout_ms=200,
)


class Client(IdleClient):
    """It has a session with the ensemble too."""

    def __init__(self, ports: Ports, servers: list[Endpoint]) -> None:
        super().__init__(ports)
        self._servers = servers

    def start(self) -> None:
        self.session = EnsembleClient(self.ports, self._servers).open(60_000, lambda _: None)


class Cluster(SimulatedCluster):
    """``brokers`` brokers and ``zookeepers`` servers."""

    patience_s = 60

    def __init__(
        self,
        seed: int = 1,
        *,
        brokers: int = 3,
        zookeepers: int = 1,
        config: Mapping[str, PropertyValue] | None = None,
        switches: Mapping[str, str] | None = None,
    ) -> None:
        self.sim = Simulator(seed, check_mutation=True, codec="some")
        self.events: list[tuple[int, str, NodeEvent]] = []
        self.sim.trace.subscribers.append(lambda t, node, _, event: self.events.append((t, node, event)))
        properties = {**FAST, **(config or {})}
        tick_ms = max(100, int(properties["zookeeper.session.timeout.ms"]) // 20)  # a session lasts 20 ticks at most
        servers = {2000 + i: Endpoint(f"zookeeper-{i}", 2181) for i in range(zookeepers)}
        for node_id, endpoint in servers.items():
            facts = ZooKeeperOptions(
                node_id=node_id, servers=servers, cluster_id="ensemble", tick_ms=tick_ms, config=QUICK
            )
            self.sim.add_node(endpoint.host, 2181, lambda ports, facts=facts: ZooKeeperServer(facts, ports))
        self.brokers = brokers
        for b in range(brokers):
            options = BrokerOptions(
                node_id=b,
                endpoint=Endpoint(f"broker-{b}", 9092),
                cluster_id="test-cluster",
                switches=Switches.of(switches or {}),
                config=NodeConfig.of(properties),
            )
            self.sim.add_node(
                f"broker-{b}",
                9092,
                lambda ports, options=options: ZooKeeperBroker(
                    options, ports, EnsembleClient(ports, list(servers.values()))
                ),
            )
        self.sim.add_node("client", 1, lambda ports: Client(ports, list(servers.values())), disk=False)
        for name in self.sim.nodes:
            self.sim.start(name)
        self.until(lambda: all(self.is_up(b) for b in range(brokers)))

    # --- looking in ---

    def broker(self, broker_id: int) -> ZooKeeperBroker | None:
        core = self.sim.node(f"broker-{broker_id}").core
        return core if isinstance(core, ZooKeeperBroker) else None

    def is_up(self, broker_id: int) -> bool:
        """Registered, and so do all live brokers see it."""
        broker = self.broker(broker_id)
        if broker is None or broker.broker_epoch < 0:
            return False
        own = broker.image.brokers.get(broker_id)
        others = [b for b in map(self.broker, range(self.brokers)) if b is not None]
        return (
            own is not None and own.epoch == broker.broker_epoch and all(broker_id in b.image.brokers for b in others)
        )

    @property
    def controller(self) -> int:
        active = [b for b in range(self.brokers) if (core := self.broker(b)) is not None and core.controller.is_active]
        assert active, "no controller"
        return max(active, key=lambda b: self.broker(b).controller.epoch)

    def directories(self, broker_id: int) -> list[str]:
        return sorted(name for name in self.sim.node(f"broker-{broker_id}").disk.list() if "-" in name)

    def of_kind(self, kind: type[NodeEvent], node: str = "") -> list[Any]:
        return [event for _, where, event in self.events if isinstance(event, kind) and node in ("", where)]

    # --- ZooKeeper ---

    @property
    def client(self) -> Client:
        core = self.sim.node("client").core
        assert isinstance(core, Client)
        return core

    def do(self, operation: Any) -> Any:
        """The result of an operation of the client's own session."""
        results: list[Any] = []
        self.client.session.submit(operation, results.append)
        self.until(lambda: bool(results))
        return results[0]

    def state(self, topic: str = "orders") -> tuple[LeaderAndIsrNode, int]:
        """Leader and ISR as ZooKeeper has them, and the version."""
        found = self.do(Get(leader_and_isr_path(topic, 0)))
        return decode_node(LeaderAndIsrNode, "", found.data), found.stat.version

    # --- talking to it ---

    def send(self, to: int, request: Any, version: int, on_answer: Callable[[Any], None], within_s: float = 30) -> None:
        self.client.ports.network.send(
            Endpoint(f"broker-{to}", 9092), request, version, on_answer, timeout_ns=int(within_s * SECOND)
        )

    def ask(self, to: int, request: Any, version: int, within_s: float = 30) -> Any:
        answers: list[Any] = []
        self.send(to, request, version, answers.append, within_s)
        self.until(lambda: bool(answers), within_s + 1)
        return answers[0]

    def create_topic(self, replicas: list[int], name: str = "orders", configs: Mapping[str, str] | None = None) -> UUID:
        return self.create_topic_at(lambda *asked: self.ask(self.controller, *asked), replicas, name, configs)

    def delete_topic(self, name: str = "orders") -> None:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=10_000)
        response = self.ask(self.controller, request, 6)
        assert response.responses[0].error_code == ErrorCode.NONE, response

    def produce(self, to: int, *values: bytes, acks: int = -1, topic: str = "orders", timeout_ms: int = 3000) -> Any:
        """Produce one batch; returns the error code."""
        request = self.produce_request(*values, acks=acks, topic=topic, timeout_ms=timeout_ms)
        response = self.ask(to, request, 9)
        assert not isinstance(response, RpcFailure), response
        return ErrorCode(response.responses[0].partition_responses[0].error_code)

    def fetch(self, to: int, offset: int, topic: str = "orders") -> Any:
        """Fetch as a consumer, by name; returns the partition's answer."""
        fetch = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=[FetchTopic(topic=topic, partitions=[fetch])]
        )
        response = self.ask(to, request, 11)
        return response.responses[0].partitions[0]


@pytest.fixture
def make_cluster() -> Callable[..., Cluster]:
    return Cluster
