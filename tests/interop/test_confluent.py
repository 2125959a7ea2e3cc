"""confluent-kafka (librdkafka)."""

from __future__ import annotations

import threading
import time

import pytest
from confluent_kafka import (
    OFFSET_BEGINNING,
    Consumer,
    ConsumerGroupTopicPartitions,
    ElectionType,
    IsolationLevel,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    ResourceType,
)

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.fixture
def producer_of(cluster):
    def make(**options):
        return Producer({"bootstrap.servers": cluster.bootstrap, **options})

    return make


@pytest.fixture
def consumer_of(cluster):
    made = []

    def make(group="none", **options):
        consumer = Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": group,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                **options,
            }
        )
        made.append(consumer)
        return consumer

    yield make
    for consumer in made:
        consumer.close()


def send_all(producer, topic, values, **options):
    """Send and wait; returns offsets by value."""
    offsets = {}
    errors = []

    def delivered(error, message):
        if error is not None:
            errors.append(error)
        else:
            offsets[message.value()] = (message.partition(), message.offset())

    for value in values:
        producer.produce(topic, value, on_delivery=delivered, **options)
    assert producer.flush(60) == 0
    assert errors == []
    return offsets


def read(consumer, count):
    messages = []
    deadline = time.monotonic() + 60
    while len(messages) < count:
        assert time.monotonic() < deadline, f"{len(messages)} of {count} read after a minute"
        for message in consumer.consume(count - len(messages), timeout=1):
            assert message.error() is None, message.error()
            messages.append(message)
    return messages


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_as_they_were_sent(codec, topic, producer_of, consumer_of):
    producer = producer_of(**{"compression.type": codec, "linger.ms": 50, "enable.idempotence": True})
    sent = []
    for number in range(300):
        key = f"key-{number}".encode() if number % 3 else None
        value = f"value {number} ".encode() * 20 if number % 7 else None
        headers = [("number", str(number).encode()), ("empty", b""), ("null", None)]
        producer.produce(topic, value, key, headers=headers, timestamp=1_700_000_000_000 + number)
        sent.append((number, key, value, headers, (1, 1_700_000_000_000 + number)))
    assert producer.flush(60) == 0
    consumer = consumer_of()
    consumer.assign([TopicPartition(topic, 0, OFFSET_BEGINNING)])
    got = [(m.offset(), m.key(), m.value(), m.headers(), m.timestamp()) for m in read(consumer, 300)]
    assert got == sent


def test_many_batches_to_many_partitions_arrive_in_order(topic_of, producer_of, consumer_of):
    topic = topic_of(partitions=4)
    producer = producer_of(**{"enable.idempotence": True, "batch.size": 4096})
    sent = {index: [] for index in range(4)}
    for number in range(5000):
        value = str(number).encode()
        producer.produce(topic, value, partition=number % 4)
        sent[number % 4].append(value)
        producer.poll(0)
    assert producer.flush(60) == 0
    consumer = consumer_of()
    consumer.assign([TopicPartition(topic, index, OFFSET_BEGINNING) for index in range(4)])
    got = {index: [] for index in range(4)}
    for message in read(consumer, 5000):
        got[message.partition()].append(message.value())
    assert got == sent


def test_a_read_from_a_time_begins_at_the_first_record_not_before_it(topic, producer_of, consumer_of):
    producer = producer_of()
    for number in range(10):
        producer.produce(topic, str(number).encode(), timestamp=1_700_000_000_000 + 1000 * number)
        producer.flush(60)
    consumer = consumer_of()
    at = consumer.offsets_for_times([TopicPartition(topic, 0, 1_700_000_000_000 + 3500)], timeout=30)
    assert at[0].offset == 4
    assert consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=30) == (0, 10)


def test_a_record_that_is_too_large_is_refused_and_the_next_one_is_not(topic_of, producer_of):
    topic = topic_of(max_message_bytes="2000")
    producer = producer_of(**{"linger.ms": 0})
    errors = []
    producer.produce(topic, b"x" * 10_000, on_delivery=lambda error, _: errors.append(error))
    producer.flush(60)
    assert [error.code() for error in errors] == [KafkaError.MSG_SIZE_TOO_LARGE]
    assert send_all(producer, topic, [b"small"]) == {b"small": (0, 0)}


def test_an_unknown_topic_is_an_error(cluster, producer_of):
    producer = producer_of(**{"message.timeout.ms": 10_000, "topic.metadata.propagation.max.ms": 1000})
    errors = []
    producer.produce("no-such-topic", b"x", on_delivery=lambda error, _: errors.append(error))
    producer.flush(60)
    assert [error.code() for error in errors] == [KafkaError.UNKNOWN_TOPIC_OR_PART]


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_a_group_shares_partitions_and_its_offsets_outlive_its_members(strategy, topic_of, producer_of, consumer_of):
    topic = topic_of(partitions=4)
    group = f"group-{topic}"
    options = {"partition.assignment.strategy": strategy, "session.timeout.ms": 10_000, "heartbeat.interval.ms": 500}
    producer = producer_of()
    for index in range(4):
        send_all(producer, topic, [b"%d-%d" % (index, n) for n in range(25)], partition=index)
    first = consumer_of(group, **options)
    first.subscribe([topic])
    seen = {message.value() for message in read(first, 100)}
    assert len(seen) == 100
    first.commit(asynchronous=False)

    second = consumer_of(group, **options)
    second.subscribe([topic])
    assert _poll_until(lambda: len(first.assignment()) == len(second.assignment()) == 2, first, second) == []
    parts = {p.partition for p in first.assignment()} | {p.partition for p in second.assignment()}
    assert parts == {0, 1, 2, 3}

    # One leaves: the other has all again, and reads only what came after the commit.
    second.close()
    assert _poll_until(lambda: len(first.assignment()) == 4, first) == []
    send_all(producer, topic, [b"later"], partition=3)
    assert [message.value() for message in read(first, 1)] == [b"later"]
    first.close()

    third = consumer_of(group, **options)
    committed = third.committed([TopicPartition(topic, index) for index in range(4)], timeout=30)
    assert [position.offset for position in committed] == [25, 25, 25, 25]
    third.subscribe([topic])
    assert [message.value() for message in read(third, 1)] == [b"later"]


def _poll_until(condition, *consumers):
    """Let consumers live until ``condition``; returns what they read meanwhile."""
    found = []
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        for consumer in consumers:
            message = consumer.poll(0.1)
            if message is not None:
                assert message.error() is None, message.error()
                found.append(message.value())
    return found


def test_topics_are_created_enlarged_configured_and_deleted(cluster, wait_until):
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    name = "confluent-admin"
    admin.create_topics([NewTopic(name, 2, 3, config={"retention.ms": "3600000"})])[name].result(30)
    with pytest.raises(KafkaException) as again:
        admin.create_topics([NewTopic(name, 2, 3)])[name].result(30)
    assert again.value.args[0].code() == KafkaError.TOPIC_ALREADY_EXISTS
    with pytest.raises(KafkaException) as too_many:
        admin.create_topics([NewTopic("too-many-replicas", 1, 9)])["too-many-replicas"].result(30)
    assert too_many.value.args[0].code() == KafkaError.INVALID_REPLICATION_FACTOR

    admin.create_partitions([NewPartitions(name, 5)])[name].result(30)
    wait_until(lambda: len(cluster.partitions(name)) == 5, "five partitions")

    resource = ConfigResource(ResourceType.TOPIC, name)
    config = admin.describe_configs([resource])[resource].result(30)
    assert (config["retention.ms"].value, config["min.insync.replicas"].value) == ("3600000", "2")
    change = ConfigResource(
        ResourceType.TOPIC,
        name,
        incremental_configs=[ConfigEntry("retention.ms", "7200000", incremental_operation=AlterConfigOpType.SET)],
    )
    admin.incremental_alter_configs([change])[change].result(30)
    wait_until(
        lambda: admin.describe_configs([resource])[resource].result(30)["retention.ms"].value == "7200000",
        "the new retention",
    )
    broker = ConfigResource(ResourceType.BROKER, "0")
    assert admin.describe_configs([broker])[broker].result(30)["broker.session.timeout.ms"].value == "4000"

    admin.delete_topics([name])[name].result(30)
    wait_until(lambda: name not in cluster.metadata().topics, "the topic to go")


def test_the_cluster_describes_itself(cluster, topic, producer_of):
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    described = admin.describe_cluster().result(30)
    assert sorted((node.id, node.port, node.rack) for node in described.nodes) == [
        (index, port, f"rack-{index}") for index, port in enumerate(cluster.ports)
    ]
    assert described.cluster_id == "aW50ZXJvcC1jbHVzdGVyLT"
    send_all(producer_of(), topic, [b"a", b"b", b"c"])
    where = TopicPartition(topic, 0)
    latest = admin.list_offsets({where: OffsetSpec.latest()}, isolation_level=IsolationLevel.READ_UNCOMMITTED)
    assert latest[where].result(30).offset == 3


def test_groups_are_listed_described_and_deleted(cluster, topic, producer_of, consumer_of):
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    group = f"group-{topic}"
    send_all(producer_of(), topic, [b"a", b"b"])
    consumer = consumer_of(group)
    consumer.subscribe([topic])
    read(consumer, 2)
    consumer.commit(asynchronous=False)
    assert group in {listed.group_id for listed in admin.list_consumer_groups().result(30).valid}
    description = admin.describe_consumer_groups([group])[group].result(30)
    assert (description.state.name, len(description.members)) == ("STABLE", 1)
    consumer.close()
    request = ConsumerGroupTopicPartitions(group)
    offsets = admin.list_consumer_group_offsets([request])[group].result(30)
    assert [(p.topic, p.partition, p.offset) for p in offsets.topic_partitions] == [(topic, 0, 2)]
    change = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 1)])
    admin.alter_consumer_group_offsets([change])[group].result(30)
    consumer = consumer_of(group)
    consumer.subscribe([topic])
    assert [message.value() for message in read(consumer, 1)] == [b"b"]
    consumer.close()
    admin.delete_consumer_groups([group])[group].result(30)
    assert group not in {listed.group_id for listed in admin.list_consumer_groups().result(30).valid}


def test_nothing_is_lost_and_nothing_doubled_when_a_leader_dies_and_leads_again(
    cluster, topic, producer_of, consumer_of, wait_until
):
    producer = producer_of(**{"enable.idempotence": True, "linger.ms": 5})
    sent, errors = [], []
    stop = threading.Event()

    def keep_sending():
        number = 0
        while not stop.is_set():
            value = str(number).encode()
            producer.produce(topic, value, on_delivery=lambda error, _: error is None or errors.append(error))
            sent.append(value)
            number += 1
            producer.poll(0.002)

    sender = threading.Thread(target=keep_sending)
    sender.start()
    group = f"group-{topic}"
    consumer = consumer_of(group)
    consumer.subscribe([topic])
    got = [message.value() for message in read(consumer, 100)]
    with cluster.without_leader(topic) as preferred:
        before = len(sent)
        while len(sent) < before + 200:
            got += [message.value() for message in consumer.consume(100, timeout=0.1) if message.error() is None]
        stop.set()
        sender.join()
        assert producer.flush(60) == 0
        assert errors == []
        got += [message.value() for message in read(consumer, len(sent) - len(got))]
        assert got == sent
        consumer.commit(asynchronous=False)
        assert consumer.committed([TopicPartition(topic, 0)], timeout=30)[0].offset == len(sent)
    elected = cluster.admin.elect_leaders(ElectionType.PREFERRED, [TopicPartition(topic, 0)]).result(30)
    assert [error for error in elected.values() if error is not None] == []
    wait_until(lambda: cluster.leader(topic) == preferred, "the preferred leader")
    assert send_all(producer, topic, [b"once more"]) == {b"once more": (0, len(sent))}
