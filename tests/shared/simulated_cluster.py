"""What tests of brokers do with a simulated cluster, in KRaft mode and in ZooKeeper mode alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from highwater_runtime.broker import Broker, BrokerOptions, KraftBroker, Partition
from highwater_runtime.config import NodeConfig, PropertyValue
from highwater_runtime.controller.kraft import ControllerOptions, QuorumController
from highwater_runtime.log.records import build_batch
from highwater_runtime.metadata import MetadataVersion
from highwater_runtime.ports import SECOND, ClientCore, Endpoint, Ports, RpcFailure
from highwater_runtime.ports.trace import NodeEvent
from highwater_runtime.sim import Simulator
from highwater_runtime.sim.network import CodecMode
from highwater_runtime.switches import Switches
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from highwater_runtime.wire.messages.produce_request import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)

CLUSTER_ID = "test-cluster-of-brokers"
FAST = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 3000,
    "replica.fetch.backoff.ms": 100,
    "replica.socket.timeout.ms": 3000,
    "request.timeout.ms": 3000,
    "controller.socket.timeout.ms": 3000,
    "controller.quorum.election.timeout.ms": 500,
    "controller.quorum.fetch.timeout.ms": 1000,
}


class IdleClient(ClientCore):
    """A client's core: sends what the test tells it to."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports


class SimulatedCluster:
    """Brokers ``broker-0``, ``broker-1`` and so on in ``sim``."""

    sim: Simulator
    patience_s: float = 30
    """Simulated seconds."""

    # --- time ---

    def until(self, predicate: Callable[[], bool], within_s: float | None = None) -> None:
        """Run until ``predicate`` holds; fail if that takes too long."""
        within_s = self.patience_s if within_s is None else within_s
        assert self.sim.run_for(int(within_s * SECOND), predicate=predicate), "not in time"

    def run(self, seconds: float) -> None:
        self.sim.run_for(int(seconds * SECOND))

    # --- looking in ---

    def broker(self, broker_id: int) -> Broker | None:
        core = self.sim.node(f"broker-{broker_id}").core
        return core if isinstance(core, Broker) else None

    def replica(self, broker_id: int, name: str = "orders-0") -> Partition | None:
        broker = self.broker(broker_id)
        if broker is None:
            return None
        return next((p for p in broker.partitions.values() if p.name == name), None)

    def leads(self, broker_id: int, name: str = "orders-0") -> bool:
        replica = self.replica(broker_id, name)
        return replica is not None and replica.is_leader

    def values(self, broker_id: int, name: str = "orders-0") -> list[bytes | None]:
        """All values in a replica's log."""
        replica = self.replica(broker_id, name)
        assert replica is not None
        log = replica.log
        return [r.value for b in log.batches_between(log.log_start_offset, log.log_end_offset) for r in b.records()]

    # --- talking to it ---

    def create_topic_at(
        self, ask: Callable[..., object], replicas: list[int], name: str, configs: Mapping[str, str] | None
    ) -> UUID:
        """Create a topic of one partition by ``ask(request, version)``, and wait for its leader."""
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=replicas)],
            configs=[CreatableTopicConfig(name=k, value=v) for k, v in (configs or {}).items()],
        )
        response = ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        assert not isinstance(response, RpcFailure)
        assert response.topics[0].error_code == ErrorCode.NONE, response.topics[0]
        topic_id: UUID = response.topics[0].topic_id
        self.until(lambda: self.leads(replicas[0], f"{name}-0"))
        return topic_id

    def produce_request(
        self,
        *values: bytes,
        acks: int = -1,
        topic: str = "orders",
        producer_id: int = -1,
        sequence: int = -1,
        timeout_ms: int = 3000,
    ) -> ProduceRequest:
        batch = build_batch(
            list(values),
            timestamp_ms=1_000,
            producer_id=producer_id,
            producer_epoch=0 if producer_id >= 0 else -1,
            base_sequence=sequence,
        )
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])
        return ProduceRequest(acks=acks, timeout_ms=timeout_ms, topic_data=[data])


class KraftCluster(SimulatedCluster):
    """Brokers, controllers and one client in a simulator."""

    def __init__(
        self,
        seed: int = 1,
        *,
        brokers: int = 3,
        controllers: int = 1,
        config: Mapping[str, PropertyValue] | None = None,
        switches: Mapping[str, str] | None = None,
        metadata_version: str | None = None,
        codec: CodecMode = "some",
        hold_until_published: bool = False,
    ) -> None:
        self.sim = Simulator(seed, check_mutation=True, codec=codec)
        self.events: list[tuple[int, str, NodeEvent]] = []
        self.sim.trace.subscribers.append(lambda t, node, _, event: self.events.append((t, node, event)))
        properties = NodeConfig.of({**FAST, **(config or {})})
        chosen = Switches.of(switches or {})
        voters = {1000 + i: Endpoint(f"controller-{i}", 9093) for i in range(controllers)}
        version = MetadataVersion.of(metadata_version) if metadata_version else MetadataVersion.latest()

        def controller(node_id: int) -> Callable[[Ports], QuorumController]:
            options = ControllerOptions(
                node_id=node_id,
                voters=voters,
                cluster_id=CLUSTER_ID,
                switches=chosen,
                config=properties,
                bootstrap_metadata_version=version,
            )
            return lambda ports: QuorumController(options, ports)

        def broker(node_id: int) -> Callable[[Ports], Broker]:
            options = BrokerOptions(
                node_id=node_id,
                endpoint=Endpoint(f"broker-{node_id}", 9092),
                controllers=voters,
                cluster_id=CLUSTER_ID,
                switches=chosen,
                config=properties,
                hold_until_published=hold_until_published,
            )
            return lambda ports: KraftBroker(options, ports)

        for node_id, endpoint in voters.items():
            self.sim.add_node(endpoint.host, endpoint.port, controller(node_id))
        for b in range(brokers):
            self.sim.add_node(f"broker-{b}", 9092, broker(b))
        self.sim.add_node("client", 1, IdleClient, disk=False)
        for name in self.sim.nodes:
            self.sim.start(name)
        self.until(lambda: all(self.unfenced(b) for b in range(brokers)))

    def unfenced(self, broker_id: int) -> bool:
        broker = self.broker(broker_id)
        if broker is None or broker.broker_epoch < 0:
            return False
        own = broker.image.brokers.get(broker_id)
        return own is not None and own.epoch == broker.broker_epoch and own.active

    def of_kind(self, kind: type[NodeEvent]) -> list[tuple[int, str, Any]]:
        return [entry for entry in self.events if isinstance(entry[2], kind)]
