"""The whole chain: a LogCluster whose pods are real nodes, asked by the operator over the wire."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from log_cluster.outside_clients import OutsideClients
from log_cluster.real_nodes import PACE, RealNodes

from highwater_operator.admin import AdminError, ClusterView, EnsembleView, ServerView, wire_admin
from highwater_operator.zookeeper import java
from highwater_runtime.ports import Endpoint

LONG = 120.0
CONFIG = {
    "offsets.topic.replication.factor": 2,
    "broker.session.timeout.ms": 3000,
    "broker.heartbeat.interval.ms": 300,
    "controller.quorum.fetch.timeout.ms": 1500,
    "replica.fetch.wait.max.ms": 200,
}


@pytest.fixture
def nodes(kube_api: Any, tmp_path: Path) -> Iterator[RealNodes]:
    made = RealNodes(kube_api, tmp_path)
    yield made
    made.close()


def look(nodes: RealNodes) -> ClusterView:
    async def ask() -> ClusterView:
        brokers = [nodes.at(Endpoint(f"demo-broker-{n}.demo-brokers.default.svc", 9092)) for n in range(2)]
        async with wire_admin(brokers) as admin:
            return await admin.look()

    return asyncio.run(ask())


@pytest.mark.thorough
def test_a_life_with_real_nodes(real: Any, nodes: RealNodes, wait_for: Any, record_property: Any) -> None:
    real.start(functools.partial(wire_admin, at=nodes.at), pace=PACE)
    topics = [
        {"name": "orders", "partitions": 2, "replicationFactor": 2},
        {"name": "far", "assignment": [[2]]},
    ]
    real.create(brokers=3, config=CONFIG, topics=topics)
    real.until_settled(patience=LONG)
    status = real.status()
    assert status["underReplicatedPartitions"] == 0
    active = status["activeController"]
    assert active in (1000, 1001, 1002)
    seen = look(nodes)
    assert sorted(seen.brokers) == [0, 1, 2]
    assert [len(one.replicas) for one in seen.topics["orders"].partitions] == [2, 2]

    # Fewer brokers: refused while a replica lives there, done once it has been moved.
    real.patch("demo", brokers=2, topics=[topics[0], {"name": "far"}])
    wait_for(lambda: real.condition("Degraded")["reason"] == "ScaleDownRefused", "the refusal", LONG)
    assert "far-0" in real.condition("Degraded")["message"]
    on_two = [
        (topic.name, one.index) for topic in seen.topics.values() for one in topic.partitions if 2 in one.replicas
    ]
    for name, index in on_two:
        asyncio.run(_reassign(nodes, name, index))
    real.until_settled(patience=LONG)
    assert "demo-broker-2" not in real.pods()
    wait_for(lambda: sorted(look(nodes).brokers) == [0, 1], "the unregistration, in a broker's metadata", LONG)

    # A change of configuration: controllers first, the active one last of them, then brokers; clients of others go on.
    nodes.order.clear()
    active = real.status()["activeController"]
    bootstrap = str(nodes.at(Endpoint("demo-broker-0.demo-brokers.default.svc", 9092)))
    with OutsideClients(bootstrap, "orders") as clients:
        wait_for(lambda: clients.acknowledged and clients.read, "clients to be at work", LONG)
        real.patch("demo", config={**CONFIG, "log.retention.ms": 1_000_000})
        real.until_settled(patience=LONG)
    controllers = [f"demo-controller-{n}" for n in range(3) if 1000 + n != active] + [
        f"demo-controller-{active - 1000}"
    ]
    assert nodes.order == [*controllers, "demo-broker-0", "demo-broker-1"]
    assert look(nodes).under_replicated == ()
    record_property("acknowledged", len(clients.acknowledged))
    record_property("longest_gap_s", round(clients.longest_gap_s, 2))
    assert clients.failed == []
    assert clients.acknowledged <= clients.read.keys(), "nothing that was acknowledged is lost"

    # Deleted: a broker's controlled shutdown is answered, since controllers end after the last broker has ended.
    began = time.monotonic()
    real.api.delete("highwater.dev/v1alpha1", "LogCluster", "demo", "default")
    early: set[str] = set()
    brokers_end: list[float] = []

    def gone() -> bool:
        pods = real.pods()
        if any("-broker-" in name for name in pods):
            brokers_end.append(time.monotonic() - began)
            early.update(
                name for name, pod in pods.items() if name in controllers and "deletionTimestamp" in pod["metadata"]
            )
        return not pods

    wait_for(gone, "everything to be gone", LONG)
    record_property("deletion_s", round(time.monotonic() - began, 2))
    assert early == set(), "controllers that were asked to end while there were brokers"
    # 31 s where no controller answers: the whole of controlled.shutdown.timeout.ms.
    record_property("brokers_end_s", round(brokers_end[-1], 2))
    assert brokers_end[-1] < 20, "brokers whose controlled shutdown nobody answers"


@pytest.mark.thorough
@pytest.mark.skipif(bool(java.missing()), reason="no ZooKeeper here (apt-get install libzookeeper-java)")
def test_a_life_with_real_zookeeper(real: Any, nodes: RealNodes) -> None:
    real.start(functools.partial(wire_admin, at=nodes.at), pace=PACE)
    config = {"zookeeper.session.timeout.ms": 4500, "replica.fetch.wait.max.ms": 200}
    topic = {"name": "orders", "partitions": 2, "replicationFactor": 2}
    real.create(mode="zookeeper", zookeepers=3, brokers=2, config=config, topics=[topic])
    real.until_settled(patience=LONG)
    status = real.status()
    assert (status["zookeepersReady"], status["brokersReady"], status.get("controllersReady", "")) == ("3/3", "2/2", "")
    assert status["activeController"] in (0, 1)
    seen = ensemble(nodes)
    (leader,) = seen.leaders
    assert seen.servers[leader] == ServerView(leads=True, synced_followers=2)

    # A session time-out is what servers and brokers both read: servers first, their leader last of them.
    nodes.order.clear()
    controller = status["activeController"]
    real.patch("demo", config={**config, "zookeeper.session.timeout.ms": 6300})
    real.until_settled(patience=LONG)
    servers = [f"demo-zookeeper-{n}" for n in range(3) if n != leader] + [f"demo-zookeeper-{leader}"]
    assert nodes.order[:3] == servers
    assert sorted(nodes.order[3:]) == ["demo-broker-0", "demo-broker-1"], "each once"
    assert controller in (0, 1)
    seen = ensemble(nodes)
    assert seen.why_unsafe is None
    assert [len(one.isr) for one in look(nodes).topics["orders"].partitions] == [2, 2]


def ensemble(nodes: RealNodes) -> EnsembleView:
    async def ask() -> EnsembleView:
        brokers, servers = (
            [nodes.at(Endpoint(f"demo-{role}-{n}.demo-{role}s.default.svc", 1)) for n in range(count)]
            for role, count in (("broker", 2), ("zookeeper", 3))
        )
        async with wire_admin(brokers, servers) as admin:
            found = (await admin.look()).quorum
        assert isinstance(found, EnsembleView)
        return found

    return asyncio.run(ask())


async def _reassign(nodes: RealNodes, topic: str, index: int) -> None:
    async with wire_admin([nodes.at(Endpoint("demo-broker-0.demo-brokers.default.svc", 9092))]) as admin:
        await admin.reassign(topic, index, [0] if topic == "far" else [0, 1])


def test_nobody_answers() -> None:
    async def ask() -> None:
        async with wire_admin([Endpoint("127.0.0.1", 1)]) as admin:
            await admin.look()

    with pytest.raises(AdminError, match=r"answered DescribeClusterRequest: 127\.0\.0\.1:1 connection refused"):
        asyncio.run(ask())
