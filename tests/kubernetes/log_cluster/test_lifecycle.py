"""A LogCluster from its creation to its deletion."""

from __future__ import annotations

from typing import Any

import pytest

from highwater_operator.admin import EnsembleView, ServerView
from highwater_operator.settings import FINALIZER, PREFIX

KINDS = [
    ("v1", "ServiceAccount"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("policy/v1", "PodDisruptionBudget"),
    ("apps/v1", "StatefulSet"),
]

ENSEMBLE = EnsembleView(0, {n: ServerView(leads=n == 0, synced_followers=2 if n == 0 else 0) for n in range(3)})


def test_a_cluster_becomes_ready_and_says_so(stage: Any) -> None:
    stage.serve(topics=[{"name": "orders", "partitions": 2, "replicationFactor": 3}])
    status = stage.status()
    assert status["phase"] == "Ready"
    assert status["observedGeneration"] == 1
    assert (status["brokersReady"], status["controllersReady"]) == ("3/3", "3/3")
    assert status["bootstrap"] == "demo-bootstrap.default.svc:9092"
    assert (status["activeController"], status["underReplicatedPartitions"]) == (1000, 0)
    assert stage.condition("Degraded")["reason"] == "Sound"
    made = ("demo-broker", "demo-controller")
    assert status["statefulSets"] == [f"{name}/{stage.set(name)['metadata']['uid']}" for name in made]
    assert sorted(stage.pods()) == [f"demo-{role}-{n}" for role in ("broker", "controller") for n in range(3)]
    assert stage.cluster().created == ["orders"]
    stage.steady_reconciles(1)
    assert {"Created", "Serving", "TopicCreated"} <= {event["reason"] for event in stage.events()}
    assert all(event["count"] == 1 for event in stage.events("Created"))
    metadata = stage.get()["metadata"]
    assert metadata.get("finalizers", []) == [], "kopf leaves nothing on the resource"
    assert [key for key in metadata.get("annotations", {}) if "kopf" in key or PREFIX in key] == []
    assert FINALIZER.startswith(PREFIX)
    # Nothing is written once it is settled, nor in vain.
    stage.world.settle()
    revision, written = stage.api.store.revision, []
    stage.api.fault(matches=lambda asked: asked.verb in ("patch", "create") and bool(written.append(str(asked))))
    stage.steady_reconciles(3)
    assert (stage.api.store.revision, written) == (revision, [])


def test_a_stateful_set_of_somebody_who_says_that_it_is_the_operators_is_not_recorded(
    stage: Any, wait_for: Any
) -> None:
    """Agents may touch pods of those that are, in a namespace that has not opted in."""
    uid = stage.create()["metadata"]["uid"]
    owner = {
        "apiVersion": "highwater.dev/v1alpha1",
        "kind": "LogCluster",
        "name": "demo",
        "uid": uid,
        "controller": True,
    }
    labels = {"app": "postgres"}
    meta = {"name": "demo-broker", "namespace": "default", "ownerReferences": [owner]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "node", "image": "postgres"}]}}
    spec = {"serviceName": "postgres", "selector": {"matchLabels": labels}, "template": template, "replicas": 1}
    spec |= {"podManagementPolicy": "Parallel", "updateStrategy": {"type": "OnDelete"}}
    stage.api.create({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec})
    stage.start()
    wait_for(lambda: stage.condition("Degraded")["reason"] == "NotCarriedOut", "a condition")
    assert stage.status().get("statefulSets", []) == []


def test_deletion_is_clean(stage: Any, wait_for: Any) -> None:
    stage.serve()
    stage.api.delete("highwater.dev/v1alpha1", "LogCluster", "demo", "default")

    def left() -> list[str]:
        kinds = [*KINDS, ("v1", "Pod"), ("v1", "PersistentVolumeClaim")]
        found = [one for version, kind in kinds for one in stage.api.objects(version, kind, "default")]
        return [one["metadata"]["name"] for one in found]

    wait_for(lambda: left() == [], "everything to be gone")
    stage.world.settle()
    assert left() == []


def test_claims_stay_where_the_resource_says_so(stage: Any, wait_for: Any) -> None:
    stage.serve(storage={"whenDeleted": "Retain"})
    stage.api.delete("highwater.dev/v1alpha1", "LogCluster", "demo", "default")
    wait_for(lambda: not stage.pods(), "pods to be gone")
    assert len(stage.api.objects("v1", "PersistentVolumeClaim", "default")) == 6


def test_an_operator_that_comes_later_goes_on(stage: Any) -> None:
    stage.create(topics=[{"name": "orders"}])
    stage.start()
    stage.until_settled()
    stage.stop()
    stage.patch("demo", brokers=4)
    stage.start()
    stage.until_settled()
    assert stage.status()["brokersReady"] == "4/4"
    assert stage.cluster().created == ["orders"]


def test_topics_that_are_there_are_left_alone(stage: Any, wait_for: Any) -> None:
    stage.cluster().place("orders", (0, 1))
    stage.serve(topics=[{"name": "orders", "partitions": 3, "replicationFactor": 2}])
    (event,) = wait_for(lambda: stage.events("TopicDiffers"), "the difference to be told")
    assert "orders has 1 partitions, not 3" in event["message"]
    assert stage.cluster().created == []


def test_a_topic_that_is_refused_is_told_of(stage: Any, wait_for: Any) -> None:
    stage.cluster().refuses_topics = "createTopic orders: INVALID_CONFIG: no such thing"
    stage.start()
    stage.create(topics=[{"name": "orders"}])
    wait_for(lambda: stage.condition("Degraded")["reason"] == "NotCarriedOut", "the refusal to be told")
    assert "INVALID_CONFIG" in stage.condition("Degraded")["message"]
    assert stage.condition("Ready")["reason"] == "TopicsMissing"
    stage.cluster().refuses_topics = None
    stage.until_settled()
    assert stage.cluster().created == ["orders"]


def test_pods_that_are_slow_are_told_of(stage: Any, wait_for: Any) -> None:
    from api_server.world import UNREADY

    stage.world.pods.decide = lambda pod: UNREADY
    stage.start()
    stage.create()
    wait_for(lambda: stage.condition("Progressing")["reason"] == "PodsStarting", "the reason")
    assert stage.condition("Ready")["reason"] == "PodsNotReady"
    assert "of 3 controllers are ready" in stage.condition("Ready")["message"]


@pytest.mark.quick("kraft-controller-operator runs", "zookeeper-zookeeper-operator is away")
@pytest.mark.parametrize("operator_runs", [True, False], ids=["operator runs", "operator is away"])
@pytest.mark.parametrize(("mode", "last"), [("kraft", "controller"), ("zookeeper", "zookeeper")])
def test_brokers_end_first(stage: Any, wait_for: Any, mode: str, last: str, operator_runs: bool) -> None:
    """A broker's controlled shutdown asks the controller, and needs its address."""
    if mode == "zookeeper":
        stage.cluster().ensemble = ENSEMBLE
    stage.serve(mode=mode)
    replaced = stage.pods()["demo-broker-1"]["metadata"]["uid"]
    stage.api.delete("v1", "Pod", "demo-broker-1", "default")
    wait_for(lambda: stage.pods().get("demo-broker-1", {}).get("metadata", {}).get("uid") not in (None, replaced), "it")
    stage.until_settled()

    def owners() -> set[str]:
        return {one["uid"] for one in stage.set(f"demo-{last}")["metadata"]["ownerReferences"]}

    brokers = [f"demo-broker-{index}" for index in range(3)]
    wait_for(lambda: {stage.pods()[one]["metadata"]["uid"] for one in brokers} <= owners(), "owners of today")
    assert replaced not in owners()
    if not operator_runs:
        stage.stop()
    stage.world.pods.lingers = lambda pod: "-broker-" in pod["metadata"]["name"]
    stage.api.delete("highwater.dev/v1alpha1", "LogCluster", "demo", "default")
    for ended in range(3):
        wait_for(lambda: all("deletionTimestamp" in stage.pods()[one]["metadata"] for one in brokers), "the requests")
        stage.world.settle()
        left = stage.pods()
        for index in range(3):
            assert "deletionTimestamp" not in left[f"demo-{last}-{index}"]["metadata"]
        assert stage.api.get("v1", "Service", f"demo-{last}s", "default") is not None
        stage.world.pods.let_go("default", brokers.pop())
        wait_for(lambda ended=ended: len(stage.pods()) < 6 - ended, "one broker to be gone")
    wait_for(lambda: not stage.pods(), "everything to be gone")


def test_a_cluster_of_the_same_name_waits_for_the_earlier_one(stage: Any, wait_for: Any) -> None:
    stage.serve()
    stage.world.pods.lingers = lambda pod: pod["metadata"]["name"] == "demo-broker-1"
    stage.api.delete("highwater.dev/v1alpha1", "LogCluster", "demo", "default")
    stage.create()
    wait_for(lambda: stage.condition("Progressing")["reason"] == "EarlierClusterEnding", "the reason")
    assert {one: stage.condition(one)["status"] for one in ("Ready", "Degraded")} == {
        "Ready": "False",
        "Degraded": "False",
    }
    stage.world.pods.lingers = lambda pod: False
    stage.world.pods.let_go("default", "demo-broker-1")
    stage.until_settled()
    assert len(stage.pods()) == 6
