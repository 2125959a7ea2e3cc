"""What tests of brokers do with a simulated cluster, in KRaft mode and in ZooKeeper mode alike."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from uuid import UUID

from highwater_runtime.broker import Broker, Partition
from highwater_runtime.log.records import build_batch
from highwater_runtime.ports import SECOND, RpcFailure
from highwater_runtime.sim import Simulator
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
