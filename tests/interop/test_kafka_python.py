"""kafka-python."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, NewTopic
from kafka.errors import TopicAlreadyExistsError
from kafka.structs import OffsetAndMetadata

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


@pytest.fixture
def producer_of(cluster):
    made = []

    def make(**options):
        made.append(KafkaProducer(bootstrap_servers=cluster.bootstrap.split(","), **options))
        return made[-1]

    yield make
    for producer in made:
        producer.close(timeout=30)


@pytest.fixture
def consumer_of(cluster):
    made = []

    def make(*topics, **options):
        options = {"auto_offset_reset": "earliest", "enable_auto_commit": False, **options}
        made.append(KafkaConsumer(*topics, bootstrap_servers=cluster.bootstrap.split(","), **options))
        return made[-1]

    yield make
    for consumer in made:
        consumer.close()


@pytest.fixture
def admin(cluster):
    made = KafkaAdminClient(bootstrap_servers=cluster.bootstrap.split(","))
    yield made
    made.close()


def read(consumer, count):
    records = []
    deadline = time.monotonic() + 60
    while len(records) < count:
        assert time.monotonic() < deadline, f"{len(records)} of {count} read after a minute"
        for batch in consumer.poll(timeout_ms=500).values():
            records += batch
    return records


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_as_they_were_sent(codec, topic, producer_of, consumer_of):
    producer = producer_of(compression_type=None if codec == "none" else codec, linger_ms=50)
    sent = []
    for number in range(300):
        key = f"key-{number}".encode() if number % 3 else None
        value = f"value {number} ".encode() * 20 if number % 7 or key is None else None
        headers = [("number", str(number).encode()), ("empty", b"")]
        producer.send(topic, value, key, headers=headers, timestamp_ms=1_700_000_000_000 + number)
        sent.append((number, key, value, headers, 1_700_000_000_000 + number))
    producer.flush(timeout=60)
    consumer = consumer_of()
    consumer.assign([TopicPartition(topic, 0)])
    consumer.seek_to_beginning()
    got = [(r.offset, r.key, r.value, [tuple(h) for h in r.headers], r.timestamp) for r in read(consumer, 300)]
    assert got == sent


def test_an_idempotent_producer_is_told_every_offset(topic, producer_of):
    producer = producer_of(enable_idempotence=True, acks="all")
    futures = [producer.send(topic, str(number).encode()) for number in range(100)]
    assert [future.get(timeout=60).offset for future in futures] == list(range(100))


def test_offsets_are_found_by_time(topic, producer_of, consumer_of):
    producer = producer_of()
    for number in range(10):
        producer.send(topic, b"x", timestamp_ms=1_700_000_000_000 + 1000 * number).get(timeout=60)
    where = TopicPartition(topic, 0)
    consumer = consumer_of()
    assert consumer.offsets_for_times({where: 1_700_000_000_000 + 3500})[where].offset == 4
    assert consumer.beginning_offsets([where]) == {where: 0}
    assert consumer.end_offsets([where]) == {where: 10}


def test_a_group_shares_partitions_and_its_offsets_outlive_its_members(topic_of, producer_of, consumer_of):
    topic = topic_of(partitions=4)
    producer = producer_of()
    for index in range(4):
        for number in range(25):
            producer.send(topic, b"%d-%d" % (index, number), partition=index)
    producer.flush(timeout=60)
    options = {"group_id": f"group-{topic}", "session_timeout_ms": 10_000, "heartbeat_interval_ms": 500}
    first = consumer_of(topic, **options)
    assert len({record.value for record in read(first, 100)}) == 100
    first.commit()
    second = consumer_of(topic, **options)
    # Each in a thread of its own, as they would be: polled in turns, one that runs out of its time between JoinGroup
    # and SyncGroup joins again, and the other has to follow, which can go on for ever.
    deadline = time.monotonic() + 60

    def poll_until_shared(consumer):
        got = {}
        while not len(first.assignment()) == len(second.assignment()) == 2 and time.monotonic() < deadline:
            got |= consumer.poll(timeout_ms=1000)
        return got

    with ThreadPoolExecutor(2) as threads:
        assert list(threads.map(poll_until_shared, (first, second))) == [{}, {}]
    assert len(first.assignment()) == len(second.assignment()) == 2
    assert first.assignment() | second.assignment() == {TopicPartition(topic, index) for index in range(4)}
    second.close()
    producer.send(topic, b"later", partition=3)
    producer.flush(timeout=60)
    assert [record.value for record in read(first, 1)] == [b"later"]
    assert first.committed(TopicPartition(topic, 3)) == 25


def test_topics_are_created_enlarged_configured_and_deleted(cluster, admin, wait_until):
    name = "kafka-python-admin"
    admin.create_topics([NewTopic(name, 2, 3, topic_configs={"retention.ms": "3600000"})])
    with pytest.raises(TopicAlreadyExistsError):
        admin.create_topics([NewTopic(name, 2, 3)])
    admin.create_partitions({name: 5})
    wait_until(lambda: len(cluster.partitions(name)) == 5, "five partitions")
    admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, name, configs={"retention.ms": "7200000"})])
    wait_until(lambda: _retention(admin, name) == "7200000", "the new retention")
    admin.delete_topics([name])
    wait_until(lambda: name not in cluster.metadata().topics, "the topic to go")


def _retention(admin, name):
    (found,) = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)]).values()
    return found[name]["retention.ms"]["value"]


def test_replicas_are_reassigned(cluster, admin, topic_of, producer_of, consumer_of, wait_until):
    topic = topic_of(replicas=2)
    producer = producer_of()
    for number in range(100):
        producer.send(topic, str(number).encode())
    producer.flush(timeout=60)
    (outsider,) = {0, 1, 2} - set(cluster.partitions(topic)[0].replicas)
    target = [outsider, cluster.partitions(topic)[0].replicas[0]]
    assert admin.alter_partition_reassignments({TopicPartition(topic, 0): target}) == {TopicPartition(topic, 0): None}
    wait_until(lambda: list(cluster.partitions(topic)[0].replicas) == target, "the reassignment")
    wait_until(lambda: cluster.in_sync(topic), "the new replica")
    assert admin.list_partition_reassignments() in ({}, [], None)
    consumer = consumer_of(topic)
    assert [record.value for record in read(consumer, 100)] == [str(number).encode() for number in range(100)]


def test_the_cluster_describes_itself(cluster, admin, topic, producer_of):
    producer_of().send(topic, b"x" * 1000).get(timeout=60)
    described = admin.describe_cluster()
    assert sorted(broker["broker_id"] for broker in described["brokers"]) == [0, 1, 2]
    quorum = admin.describe_metadata_quorum()
    (partition,) = quorum["topics"][0]["partitions"]
    assert partition["leader_id"] == 1000
    assert [voter["replica_id"] for voter in partition["current_voters"]] == [1000]
    assert sorted(observer["replica_id"] for observer in partition["observers"]) == [0, 1, 2]
    directories = admin.describe_log_dirs({topic: [0]})
    sizes = [
        found["partition_size"]
        for broker in directories
        for directory in broker["log_dirs"]
        for named in directory["topics"]
        if named["name"] == topic
        for found in named["partitions"]
    ]
    assert len(sizes) == 3
    assert all(size > 1000 for size in sizes)


def test_groups_are_listed_described_and_deleted(admin, topic, producer_of, consumer_of):
    group = f"group-{topic}"
    producer_of().send(topic, b"a").get(timeout=60)
    consumer = consumer_of(topic, group_id=group)
    read(consumer, 1)
    consumer.commit({TopicPartition(topic, 0): OffsetAndMetadata(1, "so far", -1)})
    assert group in {listed["group_id"] for listed in admin.list_groups()}
    described = admin.describe_groups([group])[group]
    assert described["group_state"] == "Stable"
    assert len(described["members"]) == 1
    consumer.close()
    found = admin.list_group_offsets(group)[group][TopicPartition(topic, 0)]
    assert (found.offset, found.metadata) == (1, "so far")
    admin.delete_groups([group])
    assert group not in {listed["group_id"] for listed in admin.list_groups()}


def test_nothing_is_lost_and_nothing_doubled_when_a_leader_dies(cluster, topic, producer_of, consumer_of):
    producer = producer_of(enable_idempotence=True, acks="all", retry_backoff_ms=100)
    futures = []

    def send(count):
        for _ in range(count):
            futures.append(producer.send(topic, str(len(futures)).encode()))

    send(200)
    consumer = consumer_of(topic, group_id=f"group-{topic}", retry_backoff_ms=100)
    got = read(consumer, 100)
    send(200)
    with cluster.without_leader(topic):
        send(200)
        assert sorted(future.get(timeout=60).offset for future in futures) == list(range(600))
        got += read(consumer, 600 - len(got))
        assert [record.value for record in got] == [str(number).encode() for number in range(600)]
        consumer.commit()
        assert consumer.committed(TopicPartition(topic, 0)) == 600
