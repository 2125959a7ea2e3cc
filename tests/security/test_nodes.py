"""Nodes among themselves: who may join, and what becomes of credentials that change."""

from __future__ import annotations

import signal
import uuid

import pytest
from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka.admin import (
    AdminClient,
    NewTopic,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialDeletion,
    UserScramCredentialUpsertion,
)

PATIENCE = 90


def _logs_in(cluster, user, password, mechanism="SCRAM-SHA-256"):
    config = cluster.librdkafka("SECURE", mechanism, user, password)
    try:
        AdminClient(config).list_topics(timeout=4)
    except KafkaException:
        return False
    return True


@pytest.mark.thorough
def test_credentials_are_set_changed_and_deleted(cluster):
    admin = AdminClient(cluster.librdkafka("SECURE"))
    user = f"user-{uuid.uuid4().hex[:8]}"
    sha_256 = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 5000)

    def alter(*changes):
        for future in admin.alter_user_scram_credentials(list(changes)).values():
            future.result(PATIENCE)

    def described():
        (future,) = admin.describe_user_scram_credentials([user]).values()
        return [(i.mechanism, i.iterations) for i in future.result(PATIENCE).scram_credential_infos]

    assert not _logs_in(cluster, user, "first")
    alter(UserScramCredentialUpsertion(user, sha_256, b"first", b"salt of 16 bytes"))
    cluster.until(lambda: _logs_in(cluster, user, "first"), "the user to be known")
    assert described() == [(ScramMechanism.SCRAM_SHA_256, 5000)]
    assert not _logs_in(cluster, user, "first", "SCRAM-SHA-512")

    alter(
        UserScramCredentialUpsertion(user, sha_256, b"second", b"salt of 16 bytes"),
        UserScramCredentialUpsertion(user, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"third"),
    )
    cluster.until(lambda: _logs_in(cluster, user, "second"), "the new password to be known")
    assert _logs_in(cluster, user, "third", "SCRAM-SHA-512")
    assert not _logs_in(cluster, user, "first")

    alter(
        UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256),
        UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_512),
    )
    cluster.until(lambda: not _logs_in(cluster, user, "second"), "the user to be forgotten")
    with pytest.raises(KafkaException, match="has no SCRAM credential"):
        described()
    with pytest.raises(KafkaException, match="no such credential"):
        alter(UserScramCredentialDeletion(user, ScramMechanism.SCRAM_SHA_256))
    with pytest.raises(KafkaException, match="iterations must be 4096"):
        alter(UserScramCredentialUpsertion(user, ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 100), b"x"))


def test_users_of_the_bootstrap_are_in_the_metadata_log(cluster):
    admin = AdminClient(cluster.librdkafka("SECURE"))
    everybody = admin.describe_user_scram_credentials().result(PATIENCE)
    assert {i.iterations for i in everybody["alice"].scram_credential_infos} == {8192, 4096}
    assert len(everybody["node"].scram_credential_infos) == 2


def test_a_broker_that_trusts_another_authority_does_not_join(cluster, make_node):
    stranger = make_node("stranger", {"node.id": 7, "ssl.truststore.location": cluster.certificates.other_ca})
    stranger.start()
    cluster.until(lambda: "certificate verify failed" in stranger.log.read_text(), "a refusal")
    assert 7 not in AdminClient(cluster.librdkafka("SECURE")).list_topics(timeout=30).brokers


def test_a_broker_of_another_authority_reads_from_nobody(cluster, make_node):
    """INTERNAL asks for certificates: the brokers turn away one that another authority has made."""
    topic = f"t-{uuid.uuid4().hex[:8]}"
    impostor = make_node("impostor", {"node.id": 6, "ssl.keystore.location": cluster.certificates.impostor})
    impostor.start()
    admin = AdminClient(cluster.librdkafka("SECURE"))
    cluster.until(lambda: 6 in admin.list_topics(timeout=30).brokers, "the broker to be unfenced")
    (future,) = admin.create_topics([NewTopic(topic, 1, replica_assignment=[[0, 6]])]).values()
    future.result(PATIENCE)
    cluster.until(lambda: cluster.logged("TLS handshake failed listener=INTERNAL"), "a refusal")
    (partition,) = admin.list_topics(topic, timeout=30).topics[topic].partitions.values()
    assert partition.leader == 0


def test_a_broker_with_a_wrong_password_is_kept_out(cluster, make_node):
    jaas = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="node" password="guess";'
    stranger = make_node("guesser", {"node.id": 8, "listener.name.controller.scram-sha-256.sasl.jaas.config": jaas})
    stranger.start()
    cluster.until(lambda: "authentication refused" in stranger.log.read_text(), "a refusal")
    assert "SASL_AUTHENTICATION_FAILED" in stranger.log.read_text()
    assert cluster.logged("user 'node': The client keys don't match", cluster.controllers)
    assert 8 not in AdminClient(cluster.librdkafka("SECURE")).list_topics(timeout=30).brokers


def test_a_server_must_be_who_its_certificate_says(cluster, make_node):
    """A broker that shows a certificate for another host is registered, and no client and no broker talks to it."""
    astray = make_node("astray", {"node.id": 9, "ssl.keystore.location": cluster.certificates.elsewhere})
    astray.start()
    cluster.until(astray.is_ready, "it to listen")
    config = cluster.librdkafka("SECURE") | {"bootstrap.servers": f"127.0.0.1:{astray.ports['SECURE']}"}
    with pytest.raises(KafkaException):
        AdminClient(config).list_topics(timeout=3)
    lenient = AdminClient(config | {"ssl.endpoint.identification.algorithm": "none"})
    cluster.until(lambda: 9 in lenient.list_topics(timeout=30).brokers, "the broker to be unfenced")
    assert astray.end(signal.SIGTERM) == 0


@pytest.mark.thorough
def test_all_nodes_lose_power_and_come_back(cluster):
    """The credentials of the files let the quorum elect a leader; then those of the metadata log are in force."""
    admin = AdminClient(cluster.librdkafka("SECURE"))
    user = f"late-{uuid.uuid4().hex[:8]}"
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    for future in admin.alter_user_scram_credentials([UserScramCredentialUpsertion(user, info, b"pw")]).values():
        future.result(PATIENCE)
    topic = cluster.topic(f"t-{uuid.uuid4().hex[:8]}", partitions=1)
    producer = Producer({**cluster.librdkafka("SECURE"), "acks": "all"})
    producer.produce(topic, b"before")
    assert producer.flush(60) == 0
    for node in cluster.nodes:
        node.end()
    cluster.start()
    cluster.until(lambda: _logs_in(cluster, user, "pw"), "the user to be known again")
    config = cluster.librdkafka("SECURE", user=user, password="pw")
    consumer = Consumer({**config, "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    message = consumer.poll(60)
    assert message is not None
    assert message.value() == b"before"
    consumer.close()


def test_a_leader_change_goes_by_tls_and_scram(cluster):
    topic = cluster.topic(f"t-{uuid.uuid4().hex[:8]}", partitions=1)
    producer = Producer({**cluster.librdkafka("SECURE"), "acks": "all"})
    for n in range(100):
        producer.produce(topic, b"%d" % n)
    assert producer.flush(60) == 0
    admin = AdminClient(cluster.librdkafka("SECURE"))
    leader = admin.list_topics(topic, timeout=30).topics[topic].partitions[0].leader
    victim, other = sorted(cluster.brokers, key=lambda broker: broker.properties["node.id"] != leader)
    assert victim.end(signal.SIGTERM) == 0
    cluster.until(
        lambda: (
            AdminClient(cluster.librdkafka("TLS") | {"bootstrap.servers": f"127.0.0.1:{other.ports['TLS']}"})
            .list_topics(topic, timeout=30)
            .topics[topic]
            .partitions[0]
            .leader
            == other.properties["node.id"]
        ),
        "another leader",
    )
    victim.start()
    cluster.until(victim.is_ready, "the broker to listen again")
    consumer = Consumer({**cluster.librdkafka("SECURE"), "group.id": topic, "auto.offset.reset": "earliest"})
    consumer.subscribe([topic])
    found = []
    while len(found) < 100:
        message = consumer.poll(60)
        assert message is not None
        found.append(message.value())
    consumer.close()
    assert found == [b"%d" % n for n in range(100)]
