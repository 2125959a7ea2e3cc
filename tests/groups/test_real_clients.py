"""Group consumers of three client libraries on a cluster of processes, whose coordinator is killed in the middle.

Two members read a topic while a producer writes to it. When they have read a part of it, the broker that coordinates
their group gets SIGKILL (and with it go its partitions of the topic); it is started again later. Each record must have
been read by somebody in the end, and what was committed must be where they got to.
"""

from __future__ import annotations

import asyncio
import signal
import threading

import pytest
from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from kafka import KafkaConsumer
from kafka.errors import CommitFailedError, KafkaError
from node_process import Node
from waiting import until

from highwater_chaos.backends.local.layout import free_ports, voters_text
from highwater_runtime.broker.groups.records import partition_for
from highwater_runtime.ports import Endpoint

PATIENCE = 120
PARTITIONS = 4
RECORDS = 1200


class Processes:
    """Three controllers and three brokers on loopback."""

    def __init__(self, folder):
        ports = free_ports(6)
        voters = voters_text([(1000 + i, Endpoint("127.0.0.1", port)) for i, port in enumerate(ports[:3])])
        common = {
            "cluster.id": "Z3JvdXBzLWNsdXN0ZXItMQ",
            "controller.quorum.voters": voters,
            "min.insync.replicas": 2,
            "default.replication.factor": 3,
            "offsets.topic.num.partitions": 6,
            "group.initial.rebalance.delay.ms": 300,
            "broker.session.timeout.ms": 4000,
            "broker.heartbeat.interval.ms": 500,
            "replica.lag.time.max.ms": 8000,
        }
        self.controllers = [
            Node(folder, f"controller-{i}", {**common, **self._role("controller", 1000 + i, port)})
            for i, port in enumerate(ports[:3])
        ]
        self.brokers = [
            Node(folder, f"broker-{i}", {**common, **self._role("broker", i, port)}) for i, port in enumerate(ports[3:])
        ]
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in ports[3:])

    @staticmethod
    def _role(role, node_id, port):
        address = f"PLAINTEXT://127.0.0.1:{port}"
        own = {"process.roles": role, "node.id": node_id, "listeners": address}
        return own if role == "controller" else {**own, "advertised.listeners": address}

    def start(self):
        nodes = (*self.controllers, *self.brokers)
        for node in nodes:
            node.start()
        for node in nodes:
            until(node.is_ready, f"{node.name} to listen")
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap})
        until(lambda: len(self.topics(None).brokers) == 3, "all brokers to be unfenced")

    def topics(self, topic):
        def ask():
            try:
                return self.admin.list_topics(topic, timeout=5) if topic else self.admin.list_topics(timeout=5)
            except KafkaException:
                return None

        return until(ask, "metadata")

    def coordinator(self, group):
        def leader():
            topic = self.topics("__consumer_offsets").topics["__consumer_offsets"]
            partition = topic.partitions.get(partition_for(group, 6))
            return None if partition is None or partition.leader < 0 else (partition.leader,)

        return until(leader, "a coordinator")[0]

    def create(self, topic):
        self.admin.create_topics([NewTopic(topic, PARTITIONS, 3)])[topic].result(PATIENCE)
        until(lambda: len(self.topics(topic).topics[topic].partitions) == PARTITIONS, topic)

    def committed(self, group, topic):
        """Offset by partition, as the admin client is told."""

        def ask():
            try:
                asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, p) for p in range(PARTITIONS)])
                answer = self.admin.list_consumer_group_offsets([asked])[group].result(20)
            except KafkaException:
                return None
            return {p.partition: p.offset for p in answer.topic_partitions}

        return until(ask, "committed offsets")


@pytest.fixture(scope="module")
def processes(tmp_path_factory):
    made = Processes(tmp_path_factory.mktemp("groups"))
    try:
        made.start()
        yield made
    finally:
        for node in (*made.brokers, *made.controllers):
            node.end(signal.SIGKILL)


# --- members: each reads and commits until it is told to stop, and tells what it has read ---


class Reading:
    """What all members of one group have read."""

    def __init__(self):
        self.seen = set()
        self.enough = threading.Event()
        self.errors = []

    def read(self, partition, offset):
        self.seen.add((partition, offset))


def confluent_member(bootstrap, topic, group, name, reading, **options):
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "session.timeout.ms": 10_000,
            "heartbeat.interval.ms": 500,
            **options,
        }
    )
    consumer.subscribe([topic])
    try:
        while not reading.enough.is_set():
            messages = [m for m in consumer.consume(50, 0.2) if not m.error()]
            for message in messages:
                reading.read(message.partition(), message.offset())
            if messages:
                try:
                    consumer.commit(asynchronous=False)
                except KafkaException as error:
                    reading.errors.append(str(error))
    finally:
        consumer.close()


def kafka_python_member(bootstrap, topic, group, name, reading):
    consumer = KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap.split(","),
        group_id=group,
        client_id=name,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        session_timeout_ms=10_000,
        heartbeat_interval_ms=500,
    )
    try:
        while not reading.enough.is_set():
            polled = consumer.poll(timeout_ms=200, max_records=50)
            for partition, messages in polled.items():
                for message in messages:
                    reading.read(partition.partition, message.offset)
            if polled:
                try:
                    consumer.commit()
                except (CommitFailedError, KafkaError) as error:
                    reading.errors.append(str(error))
    finally:
        consumer.close()


def aiokafka_member(bootstrap, topic, group, name, reading):
    class Listener(ConsumerRebalanceListener):
        async def on_partitions_revoked(self, revoked): ...

        async def on_partitions_assigned(self, assigned): ...

    async def run():
        consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            group_id=group,
            client_id=name,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            session_timeout_ms=10_000,
            heartbeat_interval_ms=500,
        )
        consumer.subscribe([topic], listener=Listener())
        await consumer.start()
        try:
            while not reading.enough.is_set():
                polled = await consumer.getmany(timeout_ms=200, max_records=50)
                for partition, messages in polled.items():
                    for message in messages:
                        reading.read(partition.partition, message.offset)
                if polled:
                    try:
                        await consumer.commit()
                    except Exception as error:
                        reading.errors.append(str(error))
        finally:
            await consumer.stop()

    asyncio.run(run())


def cooperative(*arguments):
    confluent_member(*arguments, **{"partition.assignment.strategy": "cooperative-sticky"})


def static(bootstrap, topic, group, name, reading):
    confluent_member(bootstrap, topic, group, name, reading, **{"group.instance.id": name})


@pytest.mark.thorough
@pytest.mark.parametrize(
    "member",
    [
        confluent_member,
        cooperative,  # the broker sees another name, and no other request
        static,
        kafka_python_member,
        aiokafka_member,
    ],
    ids=lambda m: m.__name__,
)
def test_a_group_goes_on_when_its_coordinator_is_killed(processes, member):
    topic, group = f"topic-{member.__name__}", f"group-{member.__name__}"
    processes.create(topic)
    producer = Producer(
        {"bootstrap.servers": processes.bootstrap, "enable.idempotence": True, "message.timeout.ms": 120_000}
    )
    delivered = {}

    def note(error, message):
        assert error is None, error
        delivered[message.partition(), message.offset()] = message.value()

    def produce(first, last):
        for n in range(first, last):
            producer.produce(topic, b"%d" % n, partition=n % PARTITIONS, on_delivery=note)
            producer.poll(0)

    reading = Reading()
    members = [
        threading.Thread(
            target=member, args=(processes.bootstrap, topic, group, f"{member.__name__}-{i}", reading), daemon=True
        )
        for i in range(2)
    ]
    produce(0, RECORDS // 3)
    for thread in members:
        thread.start()
    until(lambda: len(reading.seen) >= RECORDS // 6, "the first records to be read")
    produce(RECORDS // 3, 2 * RECORDS // 3)
    killed = processes.coordinator(group)
    processes.brokers[killed].end(signal.SIGKILL)
    try:
        produce(2 * RECORDS // 3, RECORDS)
        until(lambda: producer.flush(0.2) == 0 and len(delivered) == RECORDS, "everything to be produced")
        until(lambda: delivered.keys() <= reading.seen, f"everything to be read; errors {reading.errors[-3:]}")
        ends = {p: max(offset for partition, offset in delivered if partition == p) + 1 for p in range(PARTITIONS)}
        until(lambda: processes.committed(group, topic) == ends, f"everything to be committed; {ends}")
        assert processes.coordinator(group) != killed
    finally:
        reading.enough.set()
        processes.brokers[killed].start()
        until(processes.brokers[killed].is_ready, "the broker to be back")
    for thread in members:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    assert reading.seen == delivered.keys(), "and nothing else"
    until(lambda: len(processes.topics(None).brokers) == 3, "all brokers to be unfenced again")
    until(
        lambda: all(
            len(p.isrs) == 3
            for name in ("__consumer_offsets", topic)
            for p in processes.topics(name).topics[name].partitions.values()
        ),
        "all replicas to be in sync",
    )
    assert processes.committed(group, topic) == ends
