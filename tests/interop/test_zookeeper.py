"""Each client against a cluster in ZooKeeper mode.

The stories of the other files are told in KRaft mode. A client sees no difference but that a broker is the controller,
which it must ask for topics.
"""

from __future__ import annotations

import subprocess
import time

import pytest
from confluent_kafka import Consumer, Producer
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer
from kafka.admin import NewTopic


@pytest.fixture
def cluster(zookeeper_cluster):
    """In the place of the other one, for ``topic_of`` too."""
    return zookeeper_cluster


def test_librdkafka(cluster, topic):
    """Nothing is lost and nothing doubled when a leader dies; its session has to expire first."""
    producer = Producer({"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True, "linger.ms": 0})
    errors = []

    def send(values):
        for value in values:
            producer.produce(topic, value, on_delivery=lambda error, _: errors.append(error) if error else None)

    before, after = ([f"{when}-{number}".encode() for number in range(200)] for when in ("before", "after"))
    send(before)
    assert producer.flush(60) == 0
    with cluster.without_leader(topic):
        send(after)
        assert producer.flush(90) == 0
    assert errors == []
    consumer = Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "rd", "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found, deadline = [], time.monotonic() + 90
    while len(found) < 400 and time.monotonic() < deadline:
        found += [message.value() for message in consumer.consume(100, 1.0) if not message.error()]
    consumer.close()
    assert found == before + after


def test_kafka_python(cluster):
    """With its own admin client, which has to find the controller among the brokers."""
    brokers = cluster.bootstrap.split(",")
    admin = KafkaAdminClient(bootstrap_servers=brokers)
    admin.create_topics([NewTopic("zookeeper-python", 2, 3)])
    producer = KafkaProducer(bootstrap_servers=brokers, acks="all")
    sent = [f"{number}".encode() for number in range(50)]
    for number, value in enumerate(sent):
        producer.send("zookeeper-python", value, partition=number % 2).get(60)
    producer.close()
    consumer = KafkaConsumer(
        "zookeeper-python", bootstrap_servers=brokers, group_id="python", auto_offset_reset="earliest"
    )
    found, deadline = [], time.monotonic() + 90
    while len(found) < len(sent) and time.monotonic() < deadline:
        found += [record.value for batch in consumer.poll(1000).values() for record in batch]
    consumer.close()
    assert sorted(found) == sorted(sent)
    admin.delete_topics(["zookeeper-python"])
    assert "zookeeper-python" not in admin.list_topics()
    admin.close()


@pytest.mark.thorough
@pytest.mark.parametrize("story", ["roundtrip", "group", "reassign"])
def test_java(cluster, interop_java, topic_of, story):
    arguments = {
        "roundtrip": lambda: (topic_of(), "none", "lz4"),
        "group": lambda: (topic_of(partitions=4),),
        "reassign": lambda: (topic_of(replicas=2),),
    }[story]()
    command = [*interop_java, cluster.bootstrap, story, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert (done.returncode, done.stdout.splitlines()[-1:]) == (0, ["done"]), done.stderr
