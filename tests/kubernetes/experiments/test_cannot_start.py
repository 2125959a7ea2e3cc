"""What cannot start says so within seconds, with its cause, and is not waited for for ever."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from api_server.world import PENDING, READY
from experiments.conftest import SYSTEM, experiment, until


def events(stage: Any, reason: str) -> list[dict[str, Any]]:
    found = stage.api.objects("v1", "Event", "default")
    return [one for one in found if one["reason"] == reason and one["involvedObject"]["kind"] == "ChaosExperiment"]


def runner_status(stage: Any, status: dict[str, Any]) -> dict[str, Any]:
    (name,) = until(stage.runner_pods, "the runner")
    until(lambda: (SYSTEM, name) in stage.world.pods.started, "the pod to be started")
    stage.api.patch("v1", "Pod", name, SYSTEM, {"status": {"phase": "Pending", **status}}, "status")
    return dict(stage.api.get("v1", "Pod", name, SYSTEM)["metadata"])


def waiting(reason: str, message: str = "") -> dict[str, Any]:
    return container({"waiting": {"reason": reason, "message": message}})


def container(state: dict[str, Any]) -> dict[str, Any]:
    image = "highwater/operator:0.2.0"
    fixed = {"name": "runner", "image": image, "imageID": "", "ready": False, "restartCount": 0}
    return {"containerStatuses": [{**fixed, "state": state}]}


def event(name: str, uid: str, kind: str, reason: str, message: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{name}.told", "namespace": SYSTEM},
        "involvedObject": {"kind": kind, "name": name, "namespace": SYSTEM, "uid": uid},
        "type": "Warning",
        "reason": reason,
        "message": message,
        "lastTimestamp": "2026-01-01T00:00:00Z",
    }


def unschedulable(message: str = "0/2 nodes are available: 2 Insufficient cpu.") -> dict[str, Any]:
    return {"conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}]}


@pytest.mark.parametrize(
    ("status", "reason", "words"),
    [
        (waiting("ImagePullBackOff", "Back-off pulling"), "ImagePullBackOff", "image highwater/operator:0.2.0"),
        (waiting("CreateContainerConfigError", 'secret "x" not found'), "CreateContainerConfigError", 'secret "x" not'),
        (unschedulable(), "Unschedulable", "2 Insufficient cpu"),
    ],
)
def test_a_runner_that_cannot_start_is_told_of_and_given_up(
    stage: Any, status: dict[str, Any], reason: str, words: str
) -> None:
    stage.pace = replace(stage.pace, start_within=2.0)
    stage.start()
    stage.api.create(experiment())
    runner_status(stage, status)
    until(lambda: stage.condition("SteadyState").get("reason") == reason, "the cause", 10.0)
    assert stage.condition("SteadyState")["status"] == "False"
    assert words in stage.condition("SteadyState")["message"]
    until(lambda: events(stage, reason), "the Event", 10.0)
    until(lambda: stage.phase() == "Completed", "the end", 20.0)
    assert stage.status()["verdict"] == "inconclusive"
    assert stage.status()["reason"].startswith(f"not started within 2 s: {reason}: runner: ")
    assert stage.jobs() == []


def test_a_missing_secret_is_told_by_an_event_about_the_pod(stage: Any) -> None:
    stage.start()
    stage.api.create(experiment())
    made = runner_status(stage, waiting("ContainerCreating"))
    message = 'MountVolume.SetUp failed for volume "token" : secret "highwater-agent-token" not found'
    stage.api.create(event(made["name"], made["uid"], "Pod", "FailedMount", message))
    until(lambda: stage.condition("SteadyState").get("reason") == "FailedMount", "the cause", 10.0)
    assert message in stage.condition("SteadyState")["message"]
    stage.api.patch("v1", "Pod", made["name"], SYSTEM, {"status": {"phase": "Running"}}, "status")
    until(lambda: stage.condition("SteadyState").get("reason") == "NotYet", "that it is over", 10.0)
    assert stage.phase() == "SettingUp"


def test_a_runner_that_quota_refuses_is_told_by_an_event_about_the_job(stage: Any) -> None:
    stage.world.refuse_pod = lambda pod: "is forbidden: exceeded quota: compute"
    stage.start()
    stage.api.create(experiment())
    until(lambda: stage.condition("SteadyState").get("reason") == "PodsNotCreated", "the cause", 10.0)
    assert "exceeded quota: compute" in stage.condition("SteadyState")["message"]


def bring_up(stage: Any, name: str) -> None:
    """As the experiment's runner does."""
    uid = stage.get(name)["metadata"]["uid"]
    owner = {"apiVersion": "highwater.dev/v1alpha1", "kind": "ChaosExperiment", "name": name, "uid": uid}
    metadata = {"name": name, "namespace": "default", "ownerReferences": [{**owner, "controller": True}]}
    spec = {"brokers": 1, "controllers": 1, "storage": {"crashable": True}}
    stage.api.create({"apiVersion": "highwater.dev/v1alpha1", "kind": "LogCluster", "metadata": metadata, "spec": spec})


def half_scheduled(stage: Any, name: str) -> None:
    """The controller's pod runs, and no node has room for the broker's."""
    pod = f"{name}-broker-0"
    until(lambda: ("default", pod) in stage.world.pods.started, f"{pod} to be started")
    stage.api.patch("v1", "Pod", pod, "default", {"status": {"phase": "Pending", **unschedulable()}}, "status")


def test_the_cause_why_a_cluster_does_not_come_up_is_the_experiments(stage: Any) -> None:
    stage.world.pods.decide = lambda pod: READY if "controller" in pod["metadata"]["name"] else PENDING
    stage.pace = replace(stage.pace, start_within=3.0)
    stage.begin()
    bring_up(stage, "demo")
    half_scheduled(stage, "demo")
    until(lambda: stage.condition("SteadyState").get("reason") == "PodsFailing", "the cause", 15.0)
    assert "demo-broker-0: Unschedulable: 0/2 nodes" in stage.condition("SteadyState")["message"]
    until(lambda: stage.phase() == "Completed", "the end", 20.0)
    assert "Insufficient cpu" in stage.status()["reason"]


def test_of_two_that_do_not_fit_together_the_later_gives_way(stage: Any) -> None:
    stage.world.pods.decide = lambda pod: READY if "controller" in pod["metadata"]["name"] else PENDING
    stage.pace = replace(stage.pace, give_way_after=1.0)
    stage.start()
    for name in ("first", "second"):
        stage.api.create(experiment(name))
        until(lambda name=name: stage.phase(name) == "SettingUp", f"{name} to begin")
        bring_up(stage, name)
        half_scheduled(stage, name)
    started = {
        name: (stage.status(name)["startedAt"], stage.get(name)["metadata"]["uid"]) for name in ("first", "second")
    }
    earlier, later = sorted(started, key=started.__getitem__)
    until(lambda: stage.phase(later) == "Pending", "the later one to give way", 30.0)
    assert stage.condition("SteadyState", later)["reason"] == "GivesWay"
    assert f"default/{earlier}" in stage.condition("SteadyState", later)["message"]
    assert stage.api.get("highwater.dev/v1alpha1", "LogCluster", later, "default") is None
    assert events(stage, "GivesWay")
    assert stage.phase(earlier) == "SettingUp", "the earlier one keeps what it holds"
    stage.api.delete("highwater.dev/v1alpha1", "ChaosExperiment", earlier, "default")
    until(lambda: stage.phase(later) == "SettingUp", "the later one to begin again", 30.0)
    until(lambda: len(stage.runner_pods()) == 1, "its runner", 30.0)
    assert stage.condition("SteadyState", later)["reason"] in ("NotYet", "PodsFailing")


def test_without_agents_nothing_is_begun(stage: Any) -> None:
    stage.has_agents = False
    stage.start()
    stage.api.create(experiment())
    spec = {"storage": {"crashable": True}}
    metadata = {"name": "crashable", "namespace": "default"}
    stage.api.create({"apiVersion": "highwater.dev/v1alpha1", "kind": "LogCluster", "metadata": metadata, "spec": spec})
    until(lambda: stage.phase() == "Refused", "the refusal", 10.0)
    assert stage.condition("Accepted")["reason"] == "NoAgents"
    assert "agent.enabled=true" in stage.status()["reason"]

    def degraded() -> str:
        found = stage.api.get("highwater.dev/v1alpha1", "LogCluster", "crashable", "default")
        conditions = found.get("status", {}).get("conditions", [])
        return next((one["reason"] for one in conditions if one["type"] == "Degraded"), "")

    until(lambda: degraded() == "NoAgents", "the refusal of the cluster", 10.0)
    assert stage.api.objects("apps/v1", "StatefulSet", "default") == []


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        ({"exitCode": 137, "reason": "OOMKilled"}, "OOMKilled, exit status 137"),
        ({"exitCode": 1, "reason": "Error", "message": "a\nKubeError: 403\n"}, "Error, exit status 1: KubeError: 403"),
    ],
)
def test_a_runner_that_ended_badly_says_how(stage: Any, ended: dict[str, Any], words: str) -> None:
    stage.start()
    stage.api.create(experiment())
    (name,) = until(stage.runner_pods, "the runner")
    until(lambda: (SYSTEM, name) in stage.world.pods.started, "the pod to be started")
    status = {"status": {"phase": "Failed", **container({"terminated": ended})}}
    stage.api.patch("v1", "Pod", name, SYSTEM, status, "status")
    until(lambda: stage.phase() == "Completed", "the end")
    assert words in stage.status()["reason"]
