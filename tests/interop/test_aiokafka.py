"""aiokafka."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

CODECS = ["none", "gzip", "snappy", "lz4", "zstd"]


async def read(consumer, count):
    return [await asyncio.wait_for(consumer.getone(), 60) for _ in range(count)]


def reader(cluster, *topics, **options):
    return AIOKafkaConsumer(
        *topics,
        bootstrap_servers=cluster.bootstrap,
        **{"auto_offset_reset": "earliest", "enable_auto_commit": False, **options},
    )


@pytest.mark.parametrize("codec", CODECS)
def test_records_come_back_as_they_were_sent(codec, cluster, topic):
    async def story():
        compression = None if codec == "none" else codec
        sent, futures = [], []
        async with AIOKafkaProducer(
            bootstrap_servers=cluster.bootstrap, compression_type=compression, linger_ms=50, enable_idempotence=True
        ) as producer:
            for number in range(300):
                key = f"key-{number}".encode() if number % 3 else None
                value = f"value {number} ".encode() * 20 if number % 7 or key is None else None
                headers = [("number", str(number).encode()), ("empty", b"")]
                stamp = 1_700_000_000_000 + number
                futures.append(await producer.send(topic, value, key, headers=headers, timestamp_ms=stamp))
                sent.append((number, key, value, tuple(headers), stamp))
            assert [(await future).offset for future in futures] == list(range(300))
        async with reader(cluster, topic) as consumer:
            got = [(r.offset, r.key, r.value, tuple(r.headers), r.timestamp) for r in await read(consumer, 300)]
        assert got == sent

    asyncio.run(story())


def test_a_group_shares_partitions_and_its_offsets_outlive_its_members(cluster, topic_of):
    topic = topic_of(partitions=4)
    options = {"group_id": f"group-{topic}", "heartbeat_interval_ms": 500}

    async def story():
        async with AIOKafkaProducer(bootstrap_servers=cluster.bootstrap) as producer:
            for number in range(100):
                await producer.send_and_wait(topic, str(number).encode(), partition=number % 4)
            async with reader(cluster, topic, **options) as first:
                assert len({record.value for record in await read(first, 100)}) == 100
                await first.commit()
                async with reader(cluster, topic, **options) as second:
                    async with asyncio.timeout(60):
                        while not len(first.assignment()) == len(second.assignment()) == 2:
                            assert await first.getmany(timeout_ms=50) == {}
                            assert await second.getmany(timeout_ms=50) == {}
                    shared = first.assignment() | second.assignment()
                    assert shared == {TopicPartition(topic, index) for index in range(4)}
            await producer.send_and_wait(topic, b"later", partition=3)
            async with reader(cluster, topic, **options) as third:
                assert [record.value for record in await read(third, 1)] == [b"later"]
                assert await third.committed(TopicPartition(topic, 3)) == 25

    asyncio.run(story())


def test_topics_are_created_enlarged_configured_and_deleted(cluster, wait_until):
    name = "aiokafka-admin"

    async def story():
        admin = AIOKafkaAdminClient(bootstrap_servers=cluster.bootstrap)
        await admin.start()
        try:
            await admin.create_topics([NewTopic(name, 2, 3, topic_configs={"retention.ms": "3600000"})])
            wait_until(lambda: len(cluster.partitions(name)) == 2, "the topic")
            await admin.create_partitions({name: NewPartitions(5)})
            wait_until(lambda: len(cluster.partitions(name)) == 5, "five partitions")
            assert name in await admin.list_topics()
            (answer,) = await admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, name)])
            (resource,) = answer.resources
            assert resource[0] == 0
            assert {entry[0]: entry[1] for entry in resource[4]}["retention.ms"] == "3600000"
            described = await admin.describe_cluster()
            assert sorted(broker["node_id"] for broker in described["brokers"]) == [0, 1, 2]
            await admin.delete_topics([name])
            wait_until(lambda: name not in cluster.metadata().topics, "the topic to go")
        finally:
            await admin.close()

    asyncio.run(story())


def test_nothing_is_lost_and_nothing_doubled_when_a_leader_dies(cluster, topic):
    async def story():
        async with (
            AIOKafkaProducer(bootstrap_servers=cluster.bootstrap, enable_idempotence=True, linger_ms=5) as producer,
            reader(cluster, topic, group_id=f"group-{topic}") as consumer,
        ):
            futures = []

            async def send(count):
                for _ in range(count):
                    futures.append(await producer.send(topic, str(len(futures)).encode()))

            await send(200)
            got = await read(consumer, 100)
            await send(200)
            outage = cluster.without_leader(topic)
            await asyncio.to_thread(outage.__enter__)
            try:
                await send(200)
                offsets = [(await asyncio.wait_for(future, 60)).offset for future in futures]
                assert offsets == list(range(600))
                got += await read(consumer, 500)
                assert [record.value for record in got] == [str(number).encode() for number in range(600)]
                await consumer.commit()
                assert await consumer.committed(TopicPartition(topic, 0)) == 600
            finally:
                await asyncio.to_thread(outage.__exit__, None, None, None)

    asyncio.run(story())
