"""The whole chain with ``spec.security``: real nodes from the Secrets that the operator made, and clients by theirs."""

from __future__ import annotations

import functools
import json
import ssl
from base64 import b64decode, b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from log_cluster.real_nodes import PACE
from log_cluster.secured_nodes import SecuredNodes

from highwater_chaos.apache_kafka.fetching import ApacheKafkaUnavailableError
from highwater_chaos.apache_kafka.installation import fetch, install
from highwater_chaos.backends.attach.session import Access, Session, UnreachableError
from highwater_operator.admin import wire_admin

LONG = 120.0
CONFIG = {
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 300,
    "controller.quorum.fetch.timeout.ms": 1500,
    "replica.fetch.wait.max.ms": 200,
}
TOPIC = {"name": "orders", "partitions": 2, "replicationFactor": 2}


@pytest.fixture
def nodes(kube_api: Any, tmp_path: Path) -> Iterator[SecuredNodes]:
    made = SecuredNodes(kube_api, tmp_path)
    with made.names_known():
        yield made
    made.close()


class Client:
    """Who has the Secret for clients, as it was when this was made."""

    def __init__(self, api: Any, folder: Path, **changed: str) -> None:
        secret = api.get("v1", "Secret", "demo-client", "default")
        text = b64decode(secret["data"]["client.properties"]).decode()
        self.password = b64decode(secret["data"]["password"]).decode()
        for old, new in changed.items():
            text = text.replace(getattr(self, old), new)
        self.file = folder / f"client-{len(list(folder.glob('client-*')))}.properties"
        self.file.write_text(text)

    def topics(self, bootstrap: str | None = None) -> list[str | None]:
        """Raises ``UnreachableError``."""
        with Session(Access.of(bootstrap, self.file)) as session:
            return [topic.name for topic in session.metadata(["orders"], 3.0).topics if topic.error_code == 0]


def shown(nodes: SecuredNodes, pod: str, port: int) -> x509.Certificate:
    """What a node shows on a connection that is made now."""
    return x509.load_pem_x509_certificate(ssl.get_server_certificate((nodes.address(pod), port), timeout=5).encode())


def test_a_secured_cluster_lets_in_who_knows_it_and_rotates_what_it_is_known_by(
    real: Any, nodes: SecuredNodes, kube_api: Any, tmp_path: Path, wait_for: Any, caplog: pytest.LogCaptureFixture
) -> None:
    real.start(functools.partial(wire_admin, at=nodes.at), pace=PACE)
    real.create(brokers=2, controllers=1, security={}, config=CONFIG, topics=[TOPIC])
    real.until_settled(patience=LONG)
    status = real.status()
    assert status["underReplicatedPartitions"] == 0, "brokers fetch from each other"
    assert status["clientSecret"] == "demo-client"

    client = Client(kube_api, tmp_path)
    assert client.topics() == ["orders"]
    stranger = Client(kube_api, tmp_path, password="wrong")
    with pytest.raises(UnreachableError, match="SASL_AUTHENTICATION_FAILED"):
        stranger.topics()
    plain = tmp_path / "plain.properties"
    plain.write_text("security.protocol=PLAINTEXT\n")
    for name, port in (("demo-broker-0.demo-brokers", 9092), ("demo-broker-0.demo-brokers", 9091)):
        with (
            Session(Access.of(f"{name}.default.svc:{port}", plain)) as session,
            pytest.raises(UnreachableError),
        ):
            session.metadata(["orders"], 1.0)
    tls = tmp_path / "tls.properties"
    tls.write_text(
        "\n".join(line for line in client.file.read_text().splitlines() if not line.startswith("sasl")).replace(
            "SASL_SSL", "SSL"
        )
    )
    for at in ("demo-broker-0.demo-brokers.default.svc:9091", "demo-controller-0.demo-controllers.default.svc:9093"):
        with Session(Access.of(at, tls)) as session, pytest.raises(UnreachableError):
            session.metadata(["orders"], 1.0)

    # Rotation of certificates: each node is restarted once, and clients go on with what they have.
    places = [("demo-controller-0", 9093), *((f"demo-broker-{n}", port) for n in (0, 1) for port in (9091, 9092))]
    before = {place: shown(nodes, *place) for place in places}
    nodes.order.clear()
    annotate(kube_api, "highwater.dev/rotate-certificates", "now")
    wait_for(lambda: len(nodes.order) == 3, "each pod to be replaced", LONG)
    real.until_settled(patience=LONG)
    for place in places:
        after = shown(nodes, *place)
        assert after.serial_number != before[place].serial_number
        assert after.issuer == before[place].issuer
        before[place] = after
    assert client.topics() == ["orders"]

    # Rotation of the authority: trusted beside the old one, then it signs, then it is alone.
    nodes.order.clear()
    annotate(kube_api, "highwater.dev/rotate-authority", "now")
    wait_for(lambda: len(nodes.order) == 9, "each pod to be replaced three times", 2 * LONG)
    real.until_settled(patience=LONG)
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(b64decode(kube_api.get("v1", "Secret", "demo-client", "default")["data"]["ca.crt"]))
    (authority,) = x509.load_pem_x509_certificates(trusted.read_bytes())
    for place in places:
        shown(nodes, *place).verify_directly_issued_by(authority)
    with pytest.raises(UnreachableError, match="TLS handshake failed"):
        client.topics()
    assert Client(kube_api, tmp_path).topics() == ["orders"]

    # Nobody else has heard the password.
    public = [
        real.get(),
        *(one for kind in ("ConfigMap", "Event", "Pod") for one in kube_api.objects("v1", kind, "default")),
        *kube_api.objects("apps/v1", "StatefulSet", "default"),
    ]
    assert client.password not in json.dumps(public)
    logs = "".join(path.read_text() for path in tmp_path.glob("*.log"))
    assert "listening" in logs or logs
    assert client.password not in logs
    assert client.password not in caplog.text

    # Kafka keeps the password that it began with; whoever changes it elsewhere reads why nothing goes on.
    wrong = {"data": {"password": b64encode(b"another").decode()}}
    kube_api.patch("v1", "Secret", "demo-identity", "default", wrong)
    wait_for(
        lambda: "authentication failed: SASL_AUTHENTICATION_FAILED" in real.condition("Ready")["message"], "it is said"
    )


def annotate(api: Any, name: str, value: str) -> None:
    patch = {"metadata": {"annotations": {name: value}}}
    api.patch("highwater.dev/v1alpha1", "LogCluster", "demo", "default", patch)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("release", "mechanism"), [("3.4.1", "PLAIN"), ("3.5.2", "SCRAM-SHA-512"), ("4.3.1", "SCRAM-SHA-256")]
)
def test_nodes_of_apache_kafka(
    release: str,
    mechanism: str,
    real: Any,
    nodes: SecuredNodes,
    kube_api: Any,
    tmp_path: Path,
    wait_for: Any,
) -> None:
    try:
        install(release)
        fetch(release, exporter=True)
    except ApacheKafkaUnavailableError as error:
        pytest.skip(str(error))
    real.start(functools.partial(wire_admin, at=nodes.at), pace=PACE)
    kafka = {"runtime": "apache-kafka", "version": release, "security": {"mechanism": mechanism}}
    real.create(brokers=2, controllers=1, topics=[TOPIC], **kafka)
    real.until_settled(patience=LONG)
    client = Client(kube_api, tmp_path)
    assert client.topics() == ["orders"]
    with pytest.raises(UnreachableError, match=r"SASL_AUTHENTICATION_FAILED"):
        Client(kube_api, tmp_path, password="wrong").topics()
    plain = tmp_path / "plain.properties"
    plain.write_text("security.protocol=PLAINTEXT\n")
    inside = Access.of("demo-broker-0.demo-brokers.default.svc:9091", plain)
    with Session(inside) as session, pytest.raises(UnreachableError):
        session.metadata(["orders"], 1.0)

    place = ("demo-broker-0", 9092)
    before = shown(nodes, *place)
    annotate(kube_api, "highwater.dev/rotate-certificates", "now")
    wait_for(lambda: len(nodes.order) == 3, "each pod to be replaced", 2 * LONG)
    real.until_settled(patience=LONG)
    assert shown(nodes, *place).serial_number != before.serial_number
    assert client.topics() == ["orders"]
    logs = "".join(path.read_text() for path in (*tmp_path.glob("*.log"), *tmp_path.glob("*/events.jsonl")))
    assert "formatted" in logs
    assert client.password not in logs
