"""One real cluster for all clients: three brokers and a controller as processes on loopback (and one of ZooKeeper mode
for those who ask for it: ``ZooKeeperCluster``).

Whoever kills a broker brings it back (``cluster.without_leader``), so that the tests can share it. Topics are made
through librdkafka's admin client, so that a test of another client's producer does not depend on its admin client.
"""

from __future__ import annotations

import itertools
import signal
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, NewTopic
from node_process import Node
from waiting import until

from highwater_chaos.backends.ensemble.servers import MYID, Member, available, command, server_config
from highwater_chaos.backends.local.layout import free_ports, is_free, voters_text
from highwater_runtime.ports import Endpoint

HERE = Path(__file__).parent
BROKERS = 3
CONTROLLER_ID = 1000
SESSION_MS = 4000
COMMON = {
    "cluster.id": "aW50ZXJvcC1jbHVzdGVyLT",
    "auto.create.topics.enable": False,
    "min.insync.replicas": 2,
    "default.replication.factor": 3,
    "offsets.topic.num.partitions": 3,
    "group.initial.rebalance.delay.ms": 300,
    "broker.session.timeout.ms": SESSION_MS,
    "broker.heartbeat.interval.ms": 500,
    "replica.lag.time.max.ms": 8000,
}
PATIENCE = 60
"""Seconds that anything may take on a machine with other worries."""


class ZooKeeperServer(Node):
    """A ZooKeeper server that is an ensemble by itself."""

    def __init__(self, folder, member):
        super().__init__(folder, "zookeeper-0", {})
        self.port = member.client_port
        self.data = folder / self.name
        config = {"data": self.data, "session_timeout_ms": SESSION_MS, "bind": member.host}
        self.config.write_text(server_config({1: member}, 1, **config))

    def start(self):
        self.data.mkdir(exist_ok=True)
        (self.data / MYID).write_text("1\n")
        self.run(command(self.config))

    def is_ready(self):
        assert self.process.poll() is None, f"{self.name} ended: {self.log.read_text()[-2000:]}"
        return not is_free(self.port)


class Cluster:
    def __init__(self, folder):
        *brokers, first, second, third = free_ports(BROKERS + 3)
        quorum, self.quorum = self.make_quorum(folder, first, second, third)
        self.brokers = [
            Node(
                folder,
                f"broker-{index}",
                {
                    **COMMON,
                    **quorum,
                    "process.roles": "broker",
                    "node.id": index,
                    "listeners": f"PLAINTEXT://127.0.0.1:{port}",
                    "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}",
                    "broker.rack": f"rack-{index}",
                },
            )
            for index, port in enumerate(brokers)
        ]
        self.ports = brokers
        self.bootstrap = ",".join(f"127.0.0.1:{port}" for port in brokers)
        self.admin = None

    def make_quorum(self, folder, port, *_):
        """What brokers are told of the quorum, and the node that it is."""
        quorum = {"controller.quorum.voters": voters_text([(CONTROLLER_ID, Endpoint("127.0.0.1", port))])}
        controller = {
            **COMMON,
            **quorum,
            "process.roles": "controller",
            "node.id": CONTROLLER_ID,
            "listeners": f"PLAINTEXT://127.0.0.1:{port}",
        }
        return quorum, Node(folder, "controller-0", controller)

    def start(self):
        for node in (self.quorum, *self.brokers):
            node.start()
        for node in (self.quorum, *self.brokers):
            until(node.is_ready, f"{node.name} to listen")
        self.admin = AdminClient({"bootstrap.servers": self.bootstrap, "log_level": 2})
        until(lambda: len(self.metadata().brokers) == BROKERS, "all brokers to be unfenced")

    def stop(self):
        """Stop all cleanly; returns each node's exit status."""
        return {node.name: node.end(signal.SIGTERM) for node in (*self.brokers, self.quorum)}

    def metadata(self, topic=None):
        return until(lambda: self._metadata(topic), "metadata")

    def _metadata(self, topic):
        try:
            return self.admin.list_topics(topic, timeout=5) if topic else self.admin.list_topics(timeout=5)
        except KafkaException:
            return None

    def partitions(self, topic):
        """Partition metadata by index; empty while the topic is unknown."""
        about = self.metadata(topic).topics[topic]
        return {} if about.error else about.partitions

    def leader(self, topic, index=0):
        """Id of the leader, or −1."""
        found = self.partitions(topic).get(index)
        return -1 if found is None or found.error else found.leader

    def in_sync(self, topic):
        found = self.partitions(topic)
        return bool(found) and all(sorted(one.isrs) == sorted(one.replicas) for one in found.values())

    def create(self, topic, partitions=1, replicas=3, **config):
        created = self.admin.create_topics(
            [
                NewTopic(
                    topic, partitions, replicas, config={key.replace("_", "."): value for key, value in config.items()}
                )
            ]
        )
        created[topic].result(PATIENCE)
        until(lambda: len(self.partitions(topic)) == partitions and self.in_sync(topic), f"{topic} to be in sync")
        return topic

    @contextmanager
    def without_leader(self, topic, index=0):
        """Kill the leader of a partition; inside, another one leads. It is back and in sync afterwards."""
        with self.leader_killed(topic, index) as old:
            until(lambda: self.leader(topic, index) not in (-1, old), f"a new leader of {topic}-{index}")
            yield old

    @contextmanager
    def leader_killed(self, topic, index=0):
        """The same without waiting for another leader: inside, nobody leads for a while."""
        old = self.leader(topic, index)
        self.brokers[old].end(signal.SIGKILL)
        try:
            yield old
        finally:
            self.brokers[old].start()
            until(self.brokers[old].is_ready, f"broker {old} to be back")
            until(lambda: self.in_sync(topic), f"{topic} to be in sync again")

    def kill(self):
        """End all, at once."""
        for node in (*self.brokers, self.quorum):
            if node.process is not None:
                node.process.kill()
                node.process.wait()


class ZooKeeperCluster(Cluster):
    """A cluster of ZooKeeper mode."""

    def make_quorum(self, folder, *ports):
        member = Member("127.0.0.1", *ports)
        quorum = {
            "zookeeper.connect": f"{member.host}:{member.client_port}",
            "zookeeper.session.timeout.ms": SESSION_MS,
        }
        return quorum, ZooKeeperServer(folder, member)


@pytest.fixture(scope="package")
def cluster(tmp_path_factory):
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.start()
        yield made
    finally:
        made.kill()


@pytest.fixture(scope="session")
def zookeeper_cluster(tmp_path_factory):
    """Skips where there is no ZooKeeper."""
    if (problem := available()) is not None:
        pytest.skip(problem)
    made = ZooKeeperCluster(tmp_path_factory.mktemp("zookeeper"))
    try:
        made.start()
        yield made
    finally:
        made.kill()


_numbers = itertools.count()


@pytest.fixture
def topic_of(cluster, request):
    """Makes a topic of its own for the test: ``topic_of(partitions=3, retention_ms="1000")``."""

    def make(**options):
        return cluster.create(f"{request.node.originalname.replace('_', '-')[:60]}-{next(_numbers)}", **options)

    return make


@pytest.fixture
def topic(topic_of):
    return topic_of()


@pytest.fixture(scope="session")
def wait_until():
    return until
