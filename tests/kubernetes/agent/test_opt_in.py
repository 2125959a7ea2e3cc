"""Pods of no LogCluster: touched only while their namespace allows it, whatever a pod says about itself."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from agent_world import Agent, Pod, World, confirmed, in_seconds, states
from log_schema import parsed
from waiting import until

from highwater_chaos.machine.kernel.linux import boot_time_ns
from highwater_operator.agent.http_api import PROBES

CLUSTER = {"highwater.dev/cluster": "demo"}
LABEL = "highwater.dev/chaos"
Label = Callable[[str | None], None]


@pytest.fixture
def label(world: World) -> Iterator[Label]:
    """Sets or removes the label of the pods' namespace."""

    def patch(value: str | None) -> None:
        world.api.patch("v1", "Namespace", "default", "", {"metadata": {"labels": {LABEL: value}}})

    yield patch
    patch(None)


def owner(world: World, **other: Any) -> dict[str, Any]:
    """The StatefulSet of a LogCluster that exists, or one that differs in something."""
    found = world.owner_of("liar-broker-0", CLUSTER)
    assert found is not None
    return {**found, **other}


def running(world: World, pod: Pod, ids: dict[str, str]) -> None:
    """What the API server says of a pod's containers."""
    ready: dict[str, Any] = {"image": "", "imageID": "", "ready": True, "restartCount": 0}
    status = [{**ready, "name": name, "containerID": f"containerd://{one}"} for name, one in ids.items()]
    world.api.patch("v1", "Pod", pod.name, "default", {"status": {"containerStatuses": status}}, "status")


@pytest.mark.parametrize(
    ("name", "labels", "lie"),
    [
        ("postgres-0", {"app": "postgres"}, None),
        ("liar-broker-7", CLUSTER, {"uid": "00000000-0000-4000-8000-000000000000"}),
        ("other-name-0", CLUSTER, {}),
        ("liar-broker-x", CLUSTER, {}),
        ("liar-broker-8", CLUSTER, {"controller": False}),
        ("liar-broker-9", CLUSTER, {"kind": "ReplicaSet"}),
        ("liar-broker-100", CLUSTER, {}),
        ("liar-broker-01", CLUSTER, {}),
        ("nobodys-0", CLUSTER, {"name": "nobodys"}),
        ("forged-0", CLUSTER, {"name": "forged"}),
    ],
    ids=[
        "none",
        "uid",
        "name",
        "no ordinal",
        "no controller",
        "kind",
        "beyond the replicas",
        "another ordinal",
        "StatefulSet of nobody",
        "StatefulSet that the operator did not make",
    ],
)
def test_what_a_pod_says_about_itself_opts_nobody_in(
    agent: Agent, world: World, name: str, labels: dict[str, str], lie: dict[str, Any] | None
) -> None:
    if lie is not None and "name" in lie:
        meta = {"name": lie["name"], "namespace": "default", "labels": CLUSTER}
        real = world.api.get("apps/v1", "StatefulSet", owner(world)["name"], "default")
        assert real is not None
        spec = real["spec"]
        if lie["name"] == "forged":
            meta["ownerReferences"] = real["metadata"]["ownerReferences"]
        made = world.api.create({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": meta, "spec": spec})
        lie["uid"] = made["metadata"]["uid"]
    pod = world.pod(name, labels=labels, owner=None if lie is None else owner(world, **lie))
    if lie is not None and "controller" in lie:
        assert "ownerReferences" in world.api.get("v1", "Pod", name, "default")["metadata"]  # type: ignore[index]
    node = pod.start_node()
    answer = agent.put(f"refused-{name}", "kill", pod)
    assert answer.status_code == 403
    assert answer.json() == {
        "error": f"pod default/{name} is of no LogCluster, and its namespace does not allow faults",
        "expected": f"kubectl label namespace default {LABEL}=allowed",
        "found": "no such label",
    }
    looks = ["events", "dump", "metrics", *PROBES]
    for what in looks:
        assert agent.ask("GET", f"/v1/pods/default/{name}/{what}").status_code == 403
    assert node.poll() is None
    lines = [one for one in parsed(agent.log.read_text().splitlines()) if one.get("name") == name]
    assert [one["event"] for one in lines] == ["fault refused", *["request refused"] * len(looks)]


def test_a_pod_of_a_namespace_that_has_opted_in_is_touched_until_it_opts_out(
    agent: Agent, world: World, label: Label
) -> None:
    pod = world.pod("kafka-0", labels={}, containers=("kafka", "sidecar"))
    containers = {one: pod.start_container("/bin/sleep", "100000") for one in ("kafka", "sidecar")}
    ids = [group.name.removeprefix("cri-containerd-").removesuffix(".scope") for group in pod.groups[1:]]
    running(world, pod, dict(zip(containers, ids, strict=True)))
    reference = {**pod.reference, "container": "kafka"}

    def put(fault: str, seconds: float = 600, **more: Any) -> Any:
        body = {"kind": "pause", "pod": {**reference, **more}, "deadline": in_seconds(seconds)}
        return agent.ask("PUT", f"/v1/faults/{fault}", body)

    for other in (None, "denied", "Allowed", ""):
        label(other)
        assert put("opt-in-1").status_code == 403
    label("allowed")
    assert put("opt-in-1").json()["state"] == "inForce"
    assert [*states(containers["kafka"].pid, containers["sidecar"].pid)] == ["stopped", "running"]
    state = "/v1/pods/default/kafka-0/process_state"
    assert agent.ask("GET", f"{state}?container=kafka").json() == {"result": "stopped"}
    assert agent.ask("GET", f"{state}?container=sidecar").json() == {"result": "running"}
    nothing = put("opt-in-2", container="postgres")
    assert (nothing.status_code, nothing.json()["found"]) == (422, "kafka, sidecar")
    assert put("opt-in-3", seconds=2).json()["state"] == "inForce"
    # The namespace opts out: nothing more is done to it, and all that was done is undone.
    label(None)
    assert put("opt-in-4").status_code == 403
    assert agent.ask("GET", f"{state}?container=kafka").status_code == 403
    assert confirmed(agent.heal("opt-in-1"), "heal")
    until(lambda: agent.state("opt-in-3") == "expired", "the deadline is noticed")
    assert states(containers["kafka"].pid) == ["running"]
    assert agent.ask("GET", "/v1/faults/opt-in-1").json()["request"]["pod"] == reference


def test_a_container_that_is_not_known_is_not_guessed(agent: Agent, world: World, label: Label) -> None:
    """Both have just started again, and the API server has the ids of those before."""
    label("allowed")
    pod = world.pod("behind-0", labels={}, containers=("kafka", "sidecar"))
    sidecar = pod.start_container("/bin/sleep", "100000", executable="java")
    running(world, pod, {"kafka": "a" * 64, "sidecar": "b" * 64})
    body = {"kind": "kill", "pod": {**pod.reference, "container": "kafka"}, "deadline": in_seconds(60)}
    answer = agent.ask("PUT", "/v1/faults/behind-1", body)
    assert answer.status_code == 409
    assert "none of them is known" in answer.json()["error"]
    assert states(sidecar.pid) == ["running"]


def test_a_node_of_other_software_is_kept_down_by_its_control_group(
    agent: Agent, world: World, label: Label, restart: Callable[[], Agent]
) -> None:
    """It reads no hold file, whatever volumes its pod has."""
    label("allowed")
    pod = world.pod("down-0", labels={}, containers=("kafka",))
    node = pod.start_container("/bin/sleep", "100000")
    record = agent.inject("frozen-1", "kill", pod, restartAfter="1h")
    assert node.wait(10) == -9
    assert record["state"] == "inForce"
    assert any("what the kubelet starts in pod default/down-0 waits" in saw for saw in confirmed(record, "inject"))
    assert list(pod.control.iterdir()) == []
    replacement = pod.start_container("/bin/echo", "up")
    refused = agent.put("frozen-2", "kill", pod, restartAfter="1h")
    assert refused.status_code == 409, "its end would thaw it for both"
    assert refused.json()["error"] == "the node of pod default/down-0 is kept down by another fault"
    assert agent.state("frozen-2") == "failed"
    talks = agent.put("frozen-3", "clockSkew", pod, offset="1s")
    assert (talks.status_code, talks.json()["found"]) == (422, "a pod of other software")
    # The namespace opts out, the agent dies: the next one heals.
    label(None)
    agent.kill()
    agent = restart()
    assert replacement.poll() is None
    assert confirmed(agent.heal("frozen-1"), "heal")
    assert replacement.stdout is not None
    assert replacement.stdout.readline() == "up\n"
    label("allowed")
    node = pod.start_container("/bin/sleep", "100000")
    assert agent.inject("frozen-4", "kill", pod, seconds=3, restartAfter="1h")["state"] == "inForce"
    replacement = pod.start_container("/bin/echo", "up")
    assert replacement.stdout is not None
    assert replacement.stdout.readline() == "up\n", "the guardian thaws it at the deadline"


def test_a_machine_is_cordoned_until_the_deadline_and_only_if_nobody_else_did(
    agent: Agent, world: World, label: Label
) -> None:
    label("allowed")
    world.api.create({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "node-1"}, "spec": {}})

    def unschedulable() -> bool:
        node = world.api.get("v1", "Node", "node-1")
        assert node is not None
        return bool(node["spec"].get("unschedulable"))

    pod = world.pod("cordon-0", labels={}, containers=("kafka",))
    record = agent.inject("cordon-1", "cordon", pod)
    assert confirmed(record, "inject") == ["cordon of node node-1: new pods are kept off"]
    assert unschedulable()
    second = agent.put("cordon-2", "cordon", pod)
    assert (second.status_code, "cordoned already, by fault cordon-1" in second.json()["error"]) == (500, True)
    assert unschedulable(), "what the first one did is not undone"
    label(None)
    assert "new pods are let onto it" in confirmed(agent.heal("cordon-1"), "heal")[0]
    assert not unschedulable()
    label("allowed")
    agent.inject("cordon-3", "cordon", pod, seconds=4)
    until(lambda: agent.state("cordon-3") == "expired", "the deadline is noticed")
    assert not unschedulable()
    world.api.patch("v1", "Node", "node-1", "", {"spec": {"unschedulable": True}})
    assert "by somebody else" in agent.put("cordon-4", "cordon", pod).json()["error"]
    assert unschedulable(), "what an administrator did stays so"


def test_a_stop_that_does_not_end_a_node_kills_nobody(shared_agent: list[Agent], world: World, label: Label) -> None:
    """A node that takes longer than the agent waits lives on, and the record says so."""
    shared_agent[0].stop()
    patient = "from highwater_operator.agent import faults, main; faults.processes._STOPS_WITHIN = 0.3; main.main()"
    shared_agent[0] = Agent(world, ("-c", f"import highwater_operator.agent.faults.processes; {patient}"))
    label("allowed")
    pod = world.pod("stubborn-0", labels={}, containers=("kafka",))
    node = pod.start_container("bash", "-c", "trap '' TERM; echo up; exec sleep 100000")
    assert node.stdout is not None
    assert node.stdout.readline() == "up\n"
    record = shared_agent[0].inject("stubborn-1", "stop", pod, restartAfter="1h")
    assert [(one["confirmed"], "still live" in one["saw"]) for one in record["evidence"]] == [(False, True)]
    assert states(node.pid) == ["running"]
    shared_agent[0].heal("stubborn-1")
    shared_agent[0].stop()


def test_a_node_that_is_long_in_ending_is_kept_down_until_the_deadline_and_not_beyond(
    agent: Agent, world: World, label: Label
) -> None:
    label("allowed")
    pod = world.pod("slow-0", labels={}, containers=("kafka",))
    node = pod.start_container("bash", "-c", "trap 'sleep 2; exit' TERM; echo up; while :; do sleep 0.1; done")
    assert node.stdout is not None
    assert node.stdout.readline() == "up\n"
    latest_ns = boot_time_ns() + 4 * 10**9
    assert confirmed(agent.inject("slow-1", "stop", pod, seconds=4, restartAfter="1h"), "inject")
    (run,) = (world.state / "runs").iterdir()
    made = [json.loads(line) for line in (run / "journal.jsonl").read_text().splitlines()]
    deadlines = [one["deadlineNs"] for one in made if one.get("tag") == "slow-1:down"]
    assert deadlines
    assert max(deadlines) <= latest_ns + 10**9
    agent.heal("slow-1")
