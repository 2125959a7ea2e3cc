"""More brokers, fewer brokers: nothing that lives is left behind."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from highwater_operator.admin import BrokerView, ClusterView, PartitionView, TopicView
from highwater_operator.reconcile.scaling import Scaling, scale, to_unregister
from highwater_runtime.ports import Endpoint


def view(brokers: dict[int, bool], **replicas: tuple[int, ...]) -> ClusterView:
    """``brokers``: id to fenced; ``replicas`` of partition 0 by topic."""
    return ClusterView(
        cluster_id="id",
        brokers={one: BrokerView(one, Endpoint("h", 1), fenced) for one, fenced in brokers.items()},
        topics={
            name: TopicView(name, False, (PartitionView(name, 0, ids[0], 0, ids, ids),))
            for name, ids in replicas.items()
        },
        quorum=None,
        under_replicated=(),
    )


FOUR = dict.fromkeys(range(4), False)


def test_up_is_never_refused() -> None:
    assert scale(4, 3, None, "away") == Scaling(4)
    assert scale(3, None, None, "away") == Scaling(3)


def test_down_waits_for_a_cluster_that_answers() -> None:
    found = scale(3, 4, None, "no broker answered")
    assert found.brokers == 4
    assert found.waiting == "cannot see what lives on brokers 3: no broker answered"


def test_down_is_refused_while_replicas_live_there() -> None:
    found = scale(2, 4, view(FOUR, orders=(0, 3), other=(1, 2)), "")
    assert found.brokers == 4
    assert found.refused is not None
    assert "broker 2 holds replicas of other-0; broker 3 holds replicas of orders-0" in found.refused


def test_down_goes_as_far_as_asked_and_no_further() -> None:
    assert scale(3, 4, view(FOUR, orders=(0, 1, 2)), "") == Scaling(3)


def test_a_topic_placed_at_the_last_moment_brings_its_broker_back() -> None:
    assert scale(3, 3, view(FOUR, orders=(0, 3)), "").brokers == 4


def test_only_brokers_that_are_gone_and_empty_are_unregistered() -> None:
    seen = view({0: False, 3: False, 4: True, 5: True, 6: True}, orders=(0, 5))
    assert to_unregister(3, frozenset({0, 6}), seen) == [4]  # 3 lives, 5 holds a replica, 6 has a pod


def test_scaling_up(stage: Any, wait_for: Any) -> None:
    stage.serve()
    before = {name: pod["metadata"]["uid"] for name, pod in stage.pods().items()}
    unready = len(stage.events("PodsNotReady"))
    stage.patch("demo", brokers=5)
    stage.until_settled()
    assert len(stage.events("PodsNotReady")) == unready, "clients are served all the time"
    after = {name: pod["metadata"]["uid"] for name, pod in stage.pods().items()}
    assert sorted(set(after) - set(before)) == ["demo-broker-3", "demo-broker-4"]
    assert {name: after[name] for name in before} == before, "new brokers must not restart the others"
    assert "demo-broker-4.properties" in stage.api.get("v1", "ConfigMap", "demo-broker", "default")["data"]
    (event,) = stage.events("ScaledUp")
    assert "kafka-reassign-partitions" in event["message"]


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl here")
def test_kubectl_scales(stage: Any, kubeconfig: Path, wait_for: Any) -> None:
    def kubectl(*words: str) -> str:
        command = ["kubectl", "--kubeconfig", str(kubeconfig), "--namespace", "default", *words]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, done.stderr
        return done.stdout

    stage.serve()
    assert "scaled" in kubectl("scale", "lc/demo", "--replicas", "4")
    wait_for(lambda: "demo-broker-3" in stage.pods(), "the new broker")
    stage.until_settled()
    scale = json.loads(
        kubectl("get", "--raw", "/apis/highwater.dev/v1alpha1/namespaces/default/logclusters/demo/scale")
    )
    assert (scale["spec"]["replicas"], scale["status"]["replicas"]) == (4, 4)
    brokers = {name for name in stage.pods() if "-broker-" in name}
    chosen = kubectl("get", "pods", "--selector", scale["status"]["selector"], "--output", "name")
    assert {one.removeprefix("pod/") for one in chosen.split()} == brokers
    stage.cluster().place("orders", (0, 3))
    kubectl("scale", "lc/demo", "--replicas", "3")
    wait_for(lambda: stage.condition("Degraded")["reason"] == "ScaleDownRefused", "the rule of every change of brokers")


def test_scaling_down_waits_until_nothing_lives_there(stage: Any, wait_for: Any) -> None:
    stage.start()
    stage.create(brokers=4)
    live = stage.cluster()
    live.place("orders", (0, 1), (2, 3))
    stage.until_settled()
    stage.patch("demo", brokers=3)
    wait_for(lambda: stage.condition("Degraded")["reason"] == "ScaleDownRefused", "the refusal")
    assert "broker 3 holds replicas of orders-1" in stage.condition("Degraded")["message"]
    assert stage.set("demo-broker")["spec"]["replicas"] == 4
    assert "demo-broker-3.properties" in stage.api.get("v1", "ConfigMap", "demo-broker", "default")["data"]
    assert wait_for(lambda: stage.events("ScaleDownRefused"), "the Event")[0]["type"] == "Warning"
    live.place("orders", (0, 1), (2, 0))
    wait_for(lambda: live.unregistered == [3], "broker 3 to be unregistered")
    stage.until_settled()
    assert stage.set("demo-broker")["spec"]["replicas"] == 3
    assert "demo-broker-3" not in stage.pods()
    claims = [one["metadata"]["name"] for one in stage.api.objects("v1", "PersistentVolumeClaim", "default")]
    assert "data-demo-broker-3" in claims, "storage is kept"
    assert stage.condition("Degraded")["status"] == "False"


def test_scaling_down_is_not_done_blindly(stage: Any, wait_for: Any) -> None:
    stage.serve(brokers=4)
    stage.cluster().silent = True
    stage.patch("demo", brokers=3)
    wait_for(lambda: stage.condition("Progressing")["reason"] == "ScaleDownWaits", "the wait")
    assert stage.set("demo-broker")["spec"]["replicas"] == 4
    stage.cluster().silent = False
    stage.until_settled()
    assert stage.set("demo-broker")["spec"]["replicas"] == 3
