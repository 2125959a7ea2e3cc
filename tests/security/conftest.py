"""A cluster of processes in which nothing is in the clear but one listener, and certificates to meet it with.

Three controllers and two brokers on loopback. The nodes talk to each other over TLS and authenticate by SCRAM, from
the first moment on. Each broker has a listener for every way in which clients may come.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest
import trustme
from confluent_kafka.admin import AdminClient, NewTopic
from node_process import Node
from waiting import until

from highwater_chaos.backends.local.layout import free_ports

PATIENCE = 90
"""Seconds that anything may take on a machine with other worries."""

BOOTSTRAP = (
    "SCRAM-SHA-256=[name=node,password=node-secret,iterations=4096];"
    "SCRAM-SHA-512=[name=node,password=node-secret];"
    "SCRAM-SHA-256=[name=alice,password=alice-secret,iterations=8192];"
    'SCRAM-SHA-512=[name="alice",password="alice-512"]'
)
LOOPS = ("asyncio", "uvloop" if find_spec("uvloop") else "asyncio")
"""Of the two brokers: TLS is another matter in each."""
LISTENERS = {
    "INTERNAL": "SASL_SSL",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "SASL": "SASL_PLAINTEXT",
    "SECURE": "SASL_SSL",
}
LOGIN = 'org.apache.kafka.common.security.scram.ScramLoginModule required username="node" password="node-secret";'


@dataclass
class Certificates:
    """PEM files below ``folder``: of an authority, of a node, of a client, and of an authority that nobody trusts."""

    folder: Path

    def __post_init__(self):
        authority, stranger = trustme.CA(), trustme.CA()
        self.ca = self._write("ca.pem", authority.cert_pem)
        self.other_ca = self._write("other-ca.pem", stranger.cert_pem)
        self.node = self._identity("node", authority.issue_cert("127.0.0.1", "localhost", common_name="node"))
        self.client = self._identity("client", authority.issue_cert("bob.example", common_name="bob, the builder"))
        self.impostor = self._identity("impostor", stranger.issue_cert("127.0.0.1", common_name="node"))
        self.elsewhere = self._identity("elsewhere", authority.issue_cert("elsewhere.example"))

    def _write(self, name, blob):
        path = self.folder / name
        path.write_bytes(blob.bytes())
        return path

    def _identity(self, name, cert):
        """One file with key and chain, as Kafka wants it, and one each, as clients do."""
        self._write(f"{name}.key", cert.private_key_pem)
        chain = b"".join(blob.bytes() for blob in cert.cert_chain_pems)
        (self.folder / f"{name}.crt").write_bytes(chain)
        whole = self.folder / f"{name}.pem"
        whole.write_bytes(cert.private_key_pem.bytes() + chain)
        return whole

    def context(self, *, ca=None, client=None):
        """What a client in Python needs."""
        context = ssl.create_default_context(cafile=str(ca or self.ca))
        if client is not None:
            context.load_cert_chain(client)
        return context


class Cluster:
    """The processes, and what clients need to know."""

    def __init__(self, folder, certificates):
        self.certificates = certificates
        self.folder = folder
        ports = free_ports(3)
        voters = ",".join(f"{1000 + i}@127.0.0.1:{port}" for i, port in enumerate(ports))
        common = {
            "cluster.id": "highwater-security-001",
            "controller.quorum.voters": voters,
            "controller.listener.names": "CONTROLLER",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": certificates.node,
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": certificates.ca,
            "sasl.mechanism.controller.protocol": "SCRAM-SHA-256",
            "listener.name.controller.scram-sha-256.sasl.jaas.config": LOGIN,
            "highwater.scram.bootstrap": BOOTSTRAP,
        }
        self.controllers = [
            Node(
                folder,
                f"controller-{i}",
                {
                    **common,
                    "process.roles": "controller",
                    "node.id": 1000 + i,
                    "listener.security.protocol.map": "CONTROLLER:SASL_SSL",
                    "listeners": f"CONTROLLER://127.0.0.1:{port}",
                    "offsets.topic.num.partitions": 2,
                },
            )
            for i, port in enumerate(ports)
        ]
        protocols = ",".join(f"{name}:{protocol}" for name, protocol in LISTENERS.items())
        self.brokers = [
            Node(
                folder,
                f"broker-{i}",
                {
                    **common,
                    "process.roles": "broker",
                    "node.id": (0, 5001)[i],  # ids of others begin where they like
                    "listener.security.protocol.map": f"CONTROLLER:SASL_SSL,{protocols}",
                    "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
                    "inter.broker.listener.name": "INTERNAL",
                    "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
                    "listener.name.internal.sasl.enabled.mechanisms": "SCRAM-SHA-512",
                    "listener.name.internal.scram-sha-512.sasl.jaas.config": LOGIN,
                    "listener.name.internal.ssl.client.auth": "required",
                    "listener.name.mutual.ssl.client.auth": "required",
                    "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512,PLAIN",
                    "listener.name.sasl.plain.sasl.jaas.config": (
                        "org.apache.kafka.common.security.plain.PlainLoginModule required "
                        'user_carol="carol-secret" user_dave="d\\"ave;";'
                    ),
                    "listener.name.secure.plain.sasl.jaas.config": (
                        'org.apache.kafka.common.security.plain.PlainLoginModule required user_carol="carol-secret";'
                    ),
                    "highwater.authentication.timeout.ms": 2000,
                    "highwater.event.loop": LOOPS[i],
                    "offsets.topic.num.partitions": 2,
                    "offsets.topic.replication.factor": 2,
                    "group.initial.rebalance.delay.ms": 0,
                },
            )
            for i in range(2)
        ]
        self.nodes = [*self.controllers, *self.brokers]

    def start(self):
        for node in self.nodes:
            node.start()
        for node in self.nodes:
            until(node.is_ready, f"{node.name} to listen")
        admin = AdminClient(self.librdkafka("SECURE"))
        until(lambda: self._sees_all(admin), "both brokers")

    @staticmethod
    def _sees_all(admin):
        try:
            return len(admin.list_topics(timeout=5).brokers) == 2
        except Exception:
            return False

    def bootstrap(self, listener):
        """Addresses of a listener."""
        return ",".join(f"127.0.0.1:{broker.ports[listener]}" for broker in self.brokers)

    def librdkafka(self, listener, mechanism="SCRAM-SHA-256", user="alice", password="alice-secret", **more):
        """Configuration of a client that is allowed in."""
        protocol = LISTENERS[listener]
        config = {"bootstrap.servers": self.bootstrap(listener), "security.protocol": protocol.lower(), "log_level": 0}
        if protocol.endswith("SSL"):
            config["ssl.ca.location"] = str(self.certificates.ca)
        if listener == "MUTUAL":
            config["ssl.certificate.location"] = str(self.certificates.client.with_suffix(".crt"))
            config["ssl.key.location"] = str(self.certificates.client.with_suffix(".key"))
        if protocol.startswith("SASL"):
            config |= {"sasl.mechanisms": mechanism, "sasl.username": user, "sasl.password": password}
        return config | more

    def topic(self, name, partitions=2):
        """A new topic on both brokers."""
        admin = AdminClient(self.librdkafka("SECURE"))
        until(lambda: self._sees_all(admin), "brokers of other tests to be fenced")
        (future,) = admin.create_topics([NewTopic(name, partitions, 2)]).values()
        future.result(PATIENCE)
        until(
            lambda: all(p.leader >= 0 for p in admin.list_topics(name, timeout=10).topics[name].partitions.values()),
            "leaders",
        )
        return name

    def logged(self, text, nodes=None):
        """Whether a log of the nodes has ``text``."""
        return any(text in node.log.read_text() for node in nodes or self.brokers)

    until = staticmethod(until)

    def close(self):
        for node in self.nodes:
            node.end()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory):
    return Certificates(tmp_path_factory.mktemp("certificates"))


@pytest.fixture(scope="package")
def cluster(tmp_path_factory, certificates):
    cluster = Cluster(tmp_path_factory.mktemp("cluster"), certificates)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def make_node(cluster):
    """``make_node(name, changes)``: one more broker as the others are, but for ``changes``; ended with the test."""
    made = []

    def make(name, changes):
        node = Node(cluster.folder, name, {**cluster.brokers[0].properties, **changes})
        made.append(node)
        return node

    yield make
    for node in made:
        node.end()
