"""A LogCluster in ZooKeeper mode, served: what is made, said, repaired, replaced in order, and what goes with it.

Pods are pretended; the same with real servers is in ``test_real_nodes.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from highwater_operator.admin import EnsembleView, ServerView

LEADER = ServerView(leads=True, synced_followers=2)
FOLLOWER = ServerView(leads=False, synced_followers=0)
SOUND = EnsembleView(1, {0: FOLLOWER, 1: LEADER, 2: FOLLOWER})


@pytest.fixture
def zk(stage: Any) -> Any:
    """Begun, and settled."""
    stage.cluster().ensemble = SOUND
    stage.serve(mode="zookeeper", brokers=2)
    return stage


def names(stage: Any, version: str, kind: str) -> set[str]:
    return {one["metadata"]["name"] for one in stage.api.objects(version, kind, "default")}


def test_what_is_made_and_said(zk: Any) -> None:
    servers, brokers = ({f"demo-{role}-{n}" for n in range(count)} for role, count in (("zookeeper", 3), ("broker", 2)))
    assert set(zk.pods()) == servers | brokers
    assert names(zk, "apps/v1", "StatefulSet") == {"demo-zookeeper", "demo-broker"}
    assert names(zk, "policy/v1", "PodDisruptionBudget") == {"demo-zookeeper", "demo-broker"}
    status = zk.status()
    assert (status["zookeepersReady"], status["brokersReady"], status["activeController"]) == ("3/3", "2/2", 1)
    assert status.get("controllersReady", "") == ""
    assert zk.condition("Ready")["message"] == "all nodes are ready; controller 1 is active"
    (created,) = zk.events("Created")
    assert created["message"] == "3 zookeepers and 2 brokers"
    claims = names(zk, "v1", "PersistentVolumeClaim")
    assert {one for one in claims if "zookeeper" in one} == {f"data-demo-zookeeper-{n}" for n in range(3)}


def test_a_cluster_without_its_servers_says_which(zk: Any, wait_for: Any) -> None:
    from api_server.world import READY, UNREADY

    broken = {"demo-zookeeper-2"}
    zk.world.pods.decide = lambda pod: UNREADY if pod["metadata"]["name"] in broken else READY
    zk.api.delete("v1", "Pod", "demo-zookeeper-2", "default")
    wait_for(lambda: "all but demo-zookeeper-2 are ready" in zk.condition("Ready")["message"], "the words")
    assert zk.condition("Ready")["status"] == "True", "two of three serve"
    broken.add("demo-zookeeper-1")
    zk.api.delete("v1", "Pod", "demo-zookeeper-1", "default")
    wait_for(lambda: zk.condition("Ready")["message"] == "1 of 3 ZooKeeper servers are ready", "the words")
    assert zk.condition("Ready")["reason"] == "PodsNotReady"
    zk.world.pods.decide = lambda pod: READY
    zk.cluster().ensemble = replace(SOUND, controller=-1)
    for name in broken:
        zk.api.delete("v1", "Pod", name, "default")
    wait_for(lambda: zk.condition("Ready")["reason"] == "NoActiveController", "the reason")
    assert zk.condition("Ready")["message"] == "no broker is the active controller"


def test_servers_are_replaced_only_while_the_ensemble_can_do_without(zk: Any, wait_for: Any) -> None:
    zk.world.pods.stopped.clear()
    zk.cluster().ensemble = replace(SOUND, servers={**SOUND.servers, 1: ServerView(leads=True, synced_followers=1)})
    zk.patch("demo", zookeeperImage="highwater/zookeeper:next", image="highwater/node:next")
    said = "1 of 2 followers of zookeeper-1 are in sync"
    wait_for(lambda: said in zk.condition("Progressing")["message"], "the reason to wait")
    assert zk.world.pods.stopped == []
    zk.cluster().ensemble = SOUND
    zk.until_settled()
    order = [name.removeprefix("demo-") for _, name in zk.world.pods.stopped]
    assert order == ["zookeeper-0", "zookeeper-2", "zookeeper-1", "broker-0", "broker-1"]
    images = {name: pod["spec"]["containers"][0]["image"] for name, pod in zk.pods().items()}
    assert {found for name, found in images.items() if "zookeeper" in name} == {"highwater/zookeeper:next"}
    assert {found for name, found in images.items() if "broker" in name} == {"highwater/node:next"}


def test_a_broker_that_is_down_is_not_scaled_away_with_what_it_holds(zk: Any, wait_for: Any) -> None:
    """In ZooKeeper mode it is registered no more, and its replicas are its own all the same."""
    zk.cluster().place("orders", [1])
    zk.cluster().registered.clear()
    live = zk.cluster()
    ready = live.ready
    live.ready = lambda: ready() - {1}
    zk.patch("demo", brokers=1)
    wait_for(lambda: zk.condition("Degraded")["reason"] == "ScaleDownRefused", "the refusal")
    assert "broker 1 holds replicas of orders-0" in zk.condition("Degraded")["message"]
    assert "demo-broker-1" in zk.pods()
