"""Real clients by every listener: they produce and consume, and are turned away where they should be."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import uuid

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

WAYS = [
    pytest.param("TLS", {}, id="TLS"),
    pytest.param("MUTUAL", {}, id="mutual TLS"),
    pytest.param("SASL", {"mechanism": "SCRAM-SHA-256"}, id="SASL_PLAINTEXT, SCRAM-SHA-256"),
    pytest.param("SASL", {"mechanism": "SCRAM-SHA-512", "password": "alice-512"}, id="SASL_PLAINTEXT, SCRAM-SHA-512"),
    pytest.param("SECURE", {"mechanism": "SCRAM-SHA-256"}, id="SASL_SSL, SCRAM-SHA-256"),
    pytest.param("SECURE", {"mechanism": "SCRAM-SHA-512", "password": "alice-512"}, id="SASL_SSL, SCRAM-SHA-512"),
    pytest.param("SECURE", {"mechanism": "PLAIN", "user": "carol", "password": "carol-secret"}, id="SASL_SSL, PLAIN"),
    pytest.param("SASL", {"mechanism": "PLAIN", "user": "dave", "password": 'd"ave;'}, id="SASL_PLAINTEXT, PLAIN"),
]
VALUES = [f"value-{n}".encode() for n in range(50)]


def new_topic(cluster):
    return cluster.topic(f"t-{uuid.uuid4().hex[:8]}", partitions=1)


@pytest.mark.parametrize(("listener", "login"), WAYS)
def test_librdkafka(cluster, listener, login):
    topic = new_topic(cluster)
    config = cluster.librdkafka(listener, **login)
    producer = Producer({**config, "enable.idempotence": True})
    for value in VALUES:
        producer.produce(topic, value)
    assert producer.flush(60) == 0
    consumer = Consumer({**config, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = []
    while len(found) < len(VALUES):
        message = consumer.poll(60)
        assert message is not None, f"only {len(found)} records"
        assert message.error() is None
        found.append(message.value())
    consumer.close()
    assert found == VALUES


@pytest.mark.parametrize(("listener", "login"), WAYS)
def test_clients_are_told_of_their_own_listener(cluster, listener, login):
    brokers = AdminClient(cluster.librdkafka(listener, **login)).list_topics(timeout=60).brokers
    assert {b.id: b.port for b in brokers.values()} == {
        broker.properties["node.id"]: broker.ports[listener] for broker in cluster.brokers
    }


def _python_security(cluster, listener, login):
    """As kafka-python and aiokafka have it."""
    protocol = cluster.librdkafka(listener)["security.protocol"].upper()
    options = {"security_protocol": protocol, "bootstrap_servers": cluster.bootstrap(listener).split(",")}
    if protocol.endswith("SSL"):
        client = cluster.certificates.client if listener == "MUTUAL" else None
        options["ssl_context"] = cluster.certificates.context(client=client)
    if protocol.startswith("SASL"):
        options |= {
            "sasl_mechanism": login["mechanism"],
            "sasl_plain_username": login.get("user", "alice"),
            "sasl_plain_password": login.get("password", "alice-secret"),
        }
    return options


@pytest.mark.parametrize(("listener", "login"), WAYS)
def test_kafka_python(cluster, listener, login):
    from kafka import KafkaConsumer, KafkaProducer

    topic = new_topic(cluster)
    options = _python_security(cluster, listener, login)
    producer = KafkaProducer(**options)
    for value in VALUES:
        producer.send(topic, value)
    producer.flush(60)
    producer.close(60)
    consumer = KafkaConsumer(topic, auto_offset_reset="earliest", consumer_timeout_ms=60_000, **options)
    found = []
    for record in consumer:
        found.append(record.value)
        if len(found) == len(VALUES):
            break
    consumer.close()
    assert found == VALUES


@pytest.mark.parametrize(("listener", "login"), WAYS)
def test_aiokafka(cluster, listener, login):
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

    topic = new_topic(cluster)
    options = _python_security(cluster, listener, login)

    async def story():
        producer = AIOKafkaProducer(**options)
        await producer.start()
        for value in VALUES:
            await producer.send_and_wait(topic, value)
        await producer.stop()
        consumer = AIOKafkaConsumer(topic, auto_offset_reset="earliest", **options)
        await consumer.start()
        found = [(await asyncio.wait_for(consumer.getone(), 60)).value for _ in VALUES]
        await consumer.stop()
        return found

    assert asyncio.run(story()) == VALUES


@pytest.mark.skipif(shutil.which("kcat") is None, reason="kcat is not installed")
@pytest.mark.parametrize(("listener", "login"), WAYS)
def test_kcat(cluster, listener, login):
    topic = new_topic(cluster)
    options = [f"-X{name}={value}" for name, value in cluster.librdkafka(listener, **login).items()]
    options = [option for option in options if "log_level" not in option]
    lines = b"\n".join(VALUES)
    produce = ["kcat", "-P", "-t", topic, *options]
    subprocess.run(produce, input=lines, check=True, timeout=120)
    consume = ["kcat", "-C", "-t", topic, "-e", "-o", "beginning", "-q", *options]
    done = subprocess.run(consume, check=True, timeout=120, capture_output=True)
    assert done.stdout.split() == VALUES


# --- who is turned away -----------------------------------------------------------------------------------------------


def errors_of(config, seconds=30):
    """The errors of authentication and TLS that librdkafka tells, up to the first poll that brings one.

    On a busy machine it may tell before that of a connection that took too long or was closed.
    """
    told = []
    producer = Producer({**config, "error_cb": told.append})
    for _ in range(seconds * 10):
        producer.poll(0.1)
        if found := [error for error in told if error.code() in (KafkaError._SSL, KafkaError._AUTHENTICATION)]:
            return found
    pytest.fail(f"librdkafka told of neither within {seconds} s: {[error.str() for error in told]}")


@pytest.mark.parametrize(
    ("listener", "login"),
    [
        pytest.param("SASL", {"password": "wrong"}, id="wrong password"),
        pytest.param("SASL", {"user": "nobody"}, id="unknown user"),
        pytest.param("SECURE", {"password": "alice-512"}, id="password of another mechanism"),
        pytest.param(
            "SASL", {"mechanism": "PLAIN", "user": "carol", "password": "not-this"}, id="wrong password for PLAIN"
        ),
        pytest.param(
            "SECURE", {"mechanism": "PLAIN", "user": "dave", "password": 'd"ave;'}, id="user of another listener"
        ),
    ],
)
def test_wrong_credentials(cluster, listener, login):
    (error, *_) = errors_of(cluster.librdkafka(listener, **login))
    assert error.code() == KafkaError._AUTHENTICATION
    assert "invalid credentials" in error.str()
    assert not cluster.logged(login.get("password", "alice-secret"))


def test_a_mechanism_that_is_not_offered(cluster):
    (error, *_) = errors_of(cluster.librdkafka("INTERNAL", "PLAIN") | _certificate(cluster.certificates.client))
    assert error.code() in (KafkaError._AUTHENTICATION, KafkaError.UNSUPPORTED_SASL_MECHANISM)
    assert cluster.logged("mechanism 'PLAIN' is not enabled")


def _certificate(path):
    return {
        "ssl.certificate.location": str(path.with_suffix(".crt")),
        "ssl.key.location": str(path.with_suffix(".key")),
    }


def test_a_client_that_trusts_another_authority(cluster):
    config = cluster.librdkafka("TLS") | {"ssl.ca.location": str(cluster.certificates.other_ca)}
    (error, *_) = errors_of(config)
    assert error.code() == KafkaError._SSL
    assert "verify" in error.str()


def test_a_client_without_certificate(cluster):
    config = cluster.librdkafka("MUTUAL")
    anonymous = {name: value for name, value in config.items() if "certificate" not in name and "key" not in name}
    with pytest.raises(KafkaException):
        AdminClient(anonymous).list_topics(timeout=3)
    assert cluster.logged("PEER_DID_NOT_RETURN_A_CERTIFICATE")


def test_a_client_with_a_certificate_of_another_authority(cluster):
    with pytest.raises(KafkaException):
        AdminClient(cluster.librdkafka("MUTUAL") | _certificate(cluster.certificates.impostor)).list_topics(timeout=3)
    assert cluster.logged("unable to get local issuer certificate")


def test_a_client_in_the_clear_where_tls_is_spoken(cluster):
    config = {"bootstrap.servers": cluster.bootstrap("TLS"), "log_level": 0}
    with pytest.raises(KafkaException):
        AdminClient(config).list_topics(timeout=3)


def test_what_is_committed_by_one_listener_is_seen_by_another(cluster):
    topic = new_topic(cluster)
    first = Consumer({**cluster.librdkafka("TLS"), "group.id": topic})
    first.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
    first.close()
    second = Consumer({**cluster.librdkafka("SASL"), "group.id": topic})
    assert second.committed([TopicPartition(topic, 0)], timeout=60)[0].offset == 7
    second.close()
