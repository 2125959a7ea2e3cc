"""The observer tells what the metadata log says: Apache Kafka's as recorded, and our own as our nodes tell it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from highwater_chaos.backends.local.apache_kafka.metadata_observer import MetadataObserver, ObserverOptions
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.backends.sim_cluster import BROKER_PORT, CLUSTER_ID, CONTROLLER_PORT
from highwater_chaos.experiment import Cluster
from highwater_chaos.workload.admin import AdminClient, AdminOutcome
from highwater_runtime.log.records import iter_batches
from highwater_runtime.ports import SECOND, Endpoint, Ports
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    HighWatermarkAdvanced,
    NodeEvent,
    PartitionChanged,
)
from highwater_runtime.sim import Simulator
from highwater_runtime.wire.messages.no_op_record import NoOpRecord
from highwater_runtime.wire.messages.partition_change_record import PartitionChangeRecord
from highwater_runtime.wire.messages.partition_record import PartitionRecord
from highwater_runtime.wire.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from highwater_runtime.wire.messages.topic_record import TopicRecord
from highwater_runtime.wire.records_codec import encode_metadata_record

TOPIC = UUID(int=7)
METADATA = (BrokerRegistered, BrokerRegistrationChanged, PartitionChanged)


class Told:
    """What an observer reports and complains of."""

    def __init__(self) -> None:
        self.events: list[tuple[int, NodeEvent]] = []
        self.complaints: list[str] = []

    def options(self, controllers: int = 1, brokers: int = 0) -> ObserverOptions:
        return ObserverOptions(
            cluster_id=CLUSTER_ID,
            voters={1000 + i: Endpoint(f"controller-{i}", CONTROLLER_PORT) for i in range(controllers)},
            brokers={i: Endpoint(f"broker-{i}", BROKER_PORT) for i in range(brokers)},
            report=lambda node, *events: self.events.extend((node, event) for event in events),
            complain=self.complaints.append,
        )

    @property
    def metadata(self) -> list[NodeEvent]:
        return [event for _, event in self.events if isinstance(event, METADATA)]


@pytest.fixture
def told() -> Told:
    return Told()


@pytest.fixture
def observer(told: Told) -> MetadataObserver:
    """One that hears of commits from the test alone."""
    made: list[MetadataObserver] = []

    def make(ports: Ports) -> MetadataObserver:
        made.append(MetadataObserver(told.options(), ports))
        return made[0]

    simulator = Simulator(1)
    simulator.add_node("observer", 9092, make)
    simulator.start("observer")
    simulator.run_until(1)
    return made[0]


def encoded(record: Any, version: int = 0) -> bytes:
    return encode_metadata_record(record, version)


# --- Apache Kafka's log ---------------------------------------------------------------------------------------------


def test_what_was_recorded_of_apache_kafka(recorded: Path, observer: MetadataObserver, told: Told) -> None:
    offset = 0
    for batch in iter_batches((recorded / "metadata.bin").read_bytes()):
        batch.ensure_valid()
        values = [] if batch.is_control else [record.value or b"" for record in batch.records()]
        assert batch.base_offset == offset, "the log begins at its beginning"
        observer.on_commit(batch.base_offset, batch.leader_epoch, values, batch.last_offset)
        offset = batch.end_offset
    assert told.complaints == []
    assert [_short(event) for event in told.metadata] == [
        "broker 1 registered in 13",
        "broker 0 registered in 14",
        "broker 1 unfenced",
        "broker 0 unfenced",
        "orders-0 created: leader 0 in 0, ISR [0, 1], partition epoch 0",
        "orders-0 changed: leader 1 in 1, ISR [1], partition epoch 1",
        "broker 0 fenced",
        "broker 0 registered in 39",
        "broker 0 unfenced",
        "orders-0 changed: leader 1 in 1, ISR [0, 1], partition epoch 2",
        "orders-1 created: leader 1 in 0, ISR [0, 1], partition epoch 0",
        "broker 1 controlled-shutdown",
        "orders-0 changed: leader 0 in 2, ISR [0], partition epoch 3",
        "orders-1 changed: leader 0 in 1, ISR [0], partition epoch 1",
        "broker 1 fenced",
        "broker 1 registered in 58",
        "broker 1 unfenced",
        "orders-0 changed: leader 0 in 2, ISR [0, 1], partition epoch 4",
        "orders-1 changed: leader 0 in 1, ISR [0, 1], partition epoch 2",
        "orders-0 deleted: leader 0 in 2, ISR [0, 1], partition epoch 4",
        "orders-1 deleted: leader 0 in 1, ISR [0, 1], partition epoch 2",
    ]
    offsets = [event.metadata_offset for event in told.metadata]  # type: ignore[attr-defined]
    assert offsets == sorted(offsets)


def _short(event: NodeEvent) -> str:
    match event:
        case BrokerRegistered():
            assert event.broker_epoch == event.metadata_offset
            return f"broker {event.broker} registered in {event.broker_epoch}"
        case BrokerRegistrationChanged():
            return f"broker {event.broker} {event.reason}"
        case PartitionChanged():
            return (
                f"{event.partition} {event.reason}: leader {event.leader} in {event.leader_epoch}, ISR"
                f" {sorted(event.isr)}, partition epoch {event.partition_epoch}"
            )
        case _:
            raise AssertionError(event)


# --- records --------------------------------------------------------------------------------------------------------


def test_records_of_unknown_kinds_are_passed_over(observer: MetadataObserver, told: Told) -> None:
    begin_transaction, register_controller = b"\x01\x17\x00\x00", b"\x01\x1b\x00" + bytes(30)
    observer.on_commit(0, 1, [begin_transaction, encoded(NoOpRecord()), register_controller], 2)
    assert (told.events, told.complaints) == ([], [])


def test_a_record_that_matters_and_cannot_be_read_is_complained_of(observer: MetadataObserver, told: Told) -> None:
    topic = encoded(TopicRecord(name="orders", topic_id=TOPIC))
    newer = topic[:2] + b"\x63" + topic[3:]
    observer.on_commit(4, 1, [newer, topic[:-4], b""], 6)
    assert [complaint.split(" cannot")[0] for complaint in told.complaints] == [
        "record 4 of the metadata log",
        "record 5 of the metadata log",
        "record 6 of the metadata log",
    ]
    orphan = encoded(PartitionChangeRecord(partition_id=0, topic_id=TOPIC, isr=[1]))
    observer.on_commit(7, 1, [orphan], 7)
    assert "does not fit those before it" in told.complaints[-1]
    observer.on_commit(8, 1, [topic], 8)
    assert "orders" in observer.image.topics_by_name


def test_a_snapshot_is_told_by_what_it_changes(observer: MetadataObserver, told: Told) -> None:
    registration = RegisterBrokerRecord(
        broker_id=2,
        incarnation_id=UUID(int=5),
        broker_epoch=3,
        end_points=[BrokerEndpoint(name="PLAINTEXT", host="b", port=1)],
        fenced=False,
    )
    topic = TopicRecord(name="orders", topic_id=TOPIC)

    def partition(isr: list[int], epoch: int) -> PartitionRecord:
        return PartitionRecord(
            partition_id=0, topic_id=TOPIC, replicas=[2, 3], isr=isr, leader=2, leader_epoch=1, partition_epoch=epoch
        )

    observer.on_commit(9, 1, [encoded(topic), encoded(partition([2, 3], 0))], 10)
    told.events.clear()
    observer.on_load_snapshot(
        100, 2, [encoded(registration), encoded(topic), encoded(partition([2], 6)), b"\x01\x17\x00\x00"]
    )
    assert [_short(event) for event in told.metadata if not isinstance(event, BrokerRegistered)] == [
        "broker 2 unfenced",
        "orders-0 changed: leader 2 in 1, ISR [2], partition epoch 6",
    ]
    (registered,) = (event for event in told.metadata if isinstance(event, BrokerRegistered))
    assert (registered.broker_epoch, registered.metadata_offset) == (3, 3)
    assert told.complaints == []


# --- our own cluster ------------------------------------------------------------------------------------------------


def test_it_tells_of_our_own_cluster_what_our_nodes_tell(told: Told) -> None:
    """The oracle: our controllers report each change themselves. One of them dies, a broker too, topics come and go."""
    cluster = Cluster(brokers=3, controllers=3, config={"broker.session.timeout.ms": 3000})
    backend = SimBackend()
    backend.build(cluster, 5)
    simulator = backend.simulator
    simulator.add_node("observer", 9092, lambda ports: MetadataObserver(told.options(3, 3), ports))
    simulator.start("observer")
    clients: list[AdminClient] = []
    outcomes: list[AdminOutcome] = []

    def admin(ports: Ports) -> AdminClient:
        clients.append(AdminClient(backend.bootstrap(), ports))
        return clients[0]

    backend.add_client("admin", admin)

    def live(seconds: int) -> None:
        backend.advance(backend.now_ns() + seconds * SECOND)

    def do(act: Callable[[AdminClient], None]) -> None:
        backend.post(lambda: act(clients[0]))
        live(10)
        assert outcomes.pop().error is None

    live(15)
    do(
        lambda client: client.create_topic(
            "orders",
            partitions=4,
            replication_factor=3,
            assignment=None,
            config={},
            timeout_ns=20 * SECOND,
            on_outcome=outcomes.append,
        )
    )
    leader = next(name for name in ("controller-0", "controller-1", "controller-2") if _is_active(backend, name))
    backend.kill(leader)
    backend.kill("broker-1")
    live(15)
    backend.start(leader)
    backend.start("broker-1")
    live(15)
    do(lambda client: client.delete_topic("orders", timeout_ns=20 * SECOND, on_outcome=outcomes.append))

    by_nodes = {
        (timed.event.metadata_offset, _short(timed.event))
        for timed in backend.events_since(0)
        if isinstance(timed.event, METADATA)
    }
    assert told.complaints == []
    seen = [(event.metadata_offset, _short(event)) for event in told.metadata]  # type: ignore[attr-defined]
    assert sorted(seen) == sorted(by_nodes)
    assert len(seen) > 20
    assert {node for node, event in told.events if isinstance(event, METADATA)} <= {1000, 1001, 1002}

    sampled = [(node, event) for node, event in told.events if isinstance(event, HighWatermarkAdvanced)]
    assert {event.partition for _, event in sampled} == {f"orders-{index}" for index in range(4)}
    assert {node for node, _ in sampled} <= {0, 1, 2}


def _is_active(backend: SimBackend, name: str) -> bool:
    return any(
        sample.name == "kafka_controller_kafkacontroller_activecontrollercount" and sample.value == 1
        for sample in backend.metric_samples()
        if sample.node == name
    )
