"""Kafka's own Java client over TLS and SCRAM: its console tools, and the tool that sets credentials."""

from __future__ import annotations

import shutil
import subprocess
import uuid

import pytest
from confluent_kafka.admin import AdminClient

SCRAM = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="{}" password="{}";'


@pytest.fixture
def java(cluster, kafka_tool, tmp_path):
    """``java(listener, mechanism, password)(tool, *arguments)`` runs a tool as alice, or by certificate."""

    def client(listener="SECURE", mechanism="SCRAM-SHA-512", password="alice-512", user="alice"):
        config = tmp_path / f"client-{uuid.uuid4().hex[:6]}.properties"
        lines = {
            "security.protocol": cluster.librdkafka(listener)["security.protocol"].upper(),
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": cluster.certificates.ca,
        }
        if listener == "MUTUAL":
            lines |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.location": _pkcs8(cluster.certificates.client, tmp_path),
            }
        else:
            lines |= {"sasl.mechanism": mechanism, "sasl.jaas.config": SCRAM.format(user, password)}
        config.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))

        def run(tool, *arguments, stdin="", status=0):
            command = kafka_tool(tool, "--bootstrap-server", cluster.bootstrap(listener))
            command += ["--command-config", str(config), *arguments]
            done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=240, check=False)
            assert done.returncode == status, done.stdout + done.stderr
            return done.stdout + done.stderr

        return run

    return client


def _pkcs8(identity, folder):
    """Java reads private keys in PKCS#8 only."""
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    path = folder / "keystore.pem"
    command = ["openssl", "pkcs8", "-topk8", "-nocrypt", "-in", identity.with_suffix(".key"), "-out", path]
    subprocess.run(command, check=True)
    path.write_text(path.read_text() + identity.with_suffix(".crt").read_text())
    return path


SHA_512, MUTUAL = {}, {"listener": "MUTUAL"}
SHA_256 = {"mechanism": "SCRAM-SHA-256", "password": "alice-secret"}


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("producer", "consumer"),
    [
        pytest.param(MUTUAL, SHA_512, id="mutual TLS, SCRAM-SHA-512"),
        pytest.param(SHA_512, MUTUAL, id="SCRAM-SHA-512, mutual TLS", marks=pytest.mark.thorough),
        pytest.param(SHA_256, SHA_256, id="SCRAM-SHA-256", marks=pytest.mark.thorough),
    ],
)
def test_console_producer_and_consumer(cluster, java, producer, consumer):
    topic = cluster.topic(f"t-{uuid.uuid4().hex[:8]}", partitions=1)
    java(**producer)("ConsoleProducer", "--topic", topic, stdin="a\nb\nc\n")
    consume = ("--topic", topic, "--from-beginning", "--max-messages", "3", "--timeout-ms", "90000")
    found = java(**consumer)("consumer.ConsoleConsumer", *consume)
    assert [line for line in found.splitlines() if line in "abc"] == ["a", "b", "c"]


@pytest.mark.thorough
def test_credentials_by_command_line(cluster, java):
    user = f"java-{uuid.uuid4().hex[:8]}"
    admin = java()
    entity = ("--entity-type", "users", "--entity-name", user)
    admin(
        "kafka.admin.ConfigCommand", "--alter", *entity, "--add-config", "SCRAM-SHA-256=[iterations=6000,password=pw]"
    )
    librdkafka = AdminClient(cluster.librdkafka("SECURE"))
    cluster.until(lambda: user in librdkafka.describe_user_scram_credentials().result(60), "the credential to be known")
    (info,) = librdkafka.describe_user_scram_credentials().result(60)[user].scram_credential_infos
    assert info.iterations == 6000
    java(mechanism="SCRAM-SHA-256", user=user, password="pw")("TopicCommand", "--list")
    refused = java(mechanism="SCRAM-SHA-256", user=user, password="not pw")("TopicCommand", "--list", status=1)
    assert "invalid credentials for SCRAM-SHA-256" in refused
    admin("kafka.admin.ConfigCommand", "--alter", *entity, "--delete-config", "SCRAM-SHA-256")
