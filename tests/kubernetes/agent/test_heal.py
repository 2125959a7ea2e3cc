"""``highwater heal --namespace`` with the real agent, as root, and nobody else: no operator, no runner."""

from __future__ import annotations

import base64
from typing import Any

import pytest
from agent_world import NODE, TOKEN, Agent, World, in_seconds, stopped
from waiting import until

from highwater_chaos.cli import execute

SYSTEM = "highwater-system"
KIND = ("highwater.dev/v1alpha1", "ChaosExperiment")


@pytest.fixture(scope="module")
def installation(world: World) -> None:
    """The Secret that agents share, and the agent as a pod that the API server knows."""
    api = world.api
    api.create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": SYSTEM}})
    token = base64.b64encode(TOKEN.encode()).decode()
    meta = {"name": "agents-own", "namespace": SYSTEM}
    api.create({"apiVersion": "v1", "kind": "Secret", "metadata": meta, "data": {"token": token}})
    data = {"ca.crt": world.authority_file.read_text()}
    meta = {"name": "agents-tls", "namespace": SYSTEM}
    api.create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data})
    labels = {"app.kubernetes.io/name": "highwater", "app.kubernetes.io/component": "agent"}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "highwater-agent-x", "namespace": SYSTEM, "labels": labels},
        "spec": {
            "nodeName": NODE,
            "containers": [{"name": "agent", "image": "highwater/agent:test"}],
            "volumes": [
                {"name": "token", "secret": {"secretName": "agents-own"}},
                {"name": "tls", "secret": {"secretName": "agents-tls"}},
            ],
        },
    }
    api.create(pod)
    address = {"podIP": "127.0.0.1", "podIPs": [{"ip": "127.0.0.1"}]}
    api.patch("v1", "Pod", "highwater-agent-x", SYSTEM, {"status": address}, "status")


def listens(world: World, agent: Agent) -> None:
    port = {"metadata": {"annotations": {"highwater.dev/agent-port": str(agent.port)}}}
    world.api.patch("v1", "Pod", "highwater-agent-x", SYSTEM, port)


@pytest.fixture
def installed(world: World, agent: Agent, installation: None, monkeypatch: pytest.MonkeyPatch) -> Agent:
    """The agent that lives now; of pods there are only its own: other tests have pods on nodes that nobody serves."""
    del installation
    for found in world.api.objects("v1", "Pod", "default"):
        if found["spec"]["nodeName"] != NODE:
            world.api.delete("v1", "Pod", found["metadata"]["name"], "default")
    listens(world, agent)
    monkeypatch.setenv("KUBECONFIG", str(world.kubeconfig))
    return agent


def begin(world: World, faults: list[str]) -> Any:
    """An experiment that a runner was in the middle of when everything went away."""
    spec = {"timeout": "2m", "cluster": {"topics": [{"name": "orders"}]}}
    meta = {"name": "left", "namespace": "default", "finalizers": ["highwater.dev/heal"]}
    world.api.create({"apiVersion": KIND[0], "kind": KIND[1], "metadata": meta, "spec": spec})
    journal = [
        {
            "id": fault,
            "step": f"pause {fault}",
            "state": "done",
            "at": in_seconds(0),
            "targets": ["left-broker-0"],
            "deadline": in_seconds(3600),
            "evidence": "",
        }
        for fault in faults
    ]
    world.api.patch(*KIND, "left", "default", {"status": {"phase": "Injecting", "journal": journal}}, "status")


def test_a_pause_and_a_cut_are_undone(world: World, installed: Agent, capsys: Any) -> None:
    pod, peer = world.pod("left-broker-0"), world.pod("left-broker-1")
    pod.start_node()
    peer.start_node()
    begin(world, ["left-1", "left-2"])
    installed.inject("left-1", "pause", pod, 3600)
    installed.inject("left-2", "partition", peer, 3600, peer=pod.address, probePort=9404)
    assert stopped(pod)
    world.api.delete(*KIND, "left", "default")

    assert execute(("heal", "--namespace", "default")) == 0, capsys.readouterr()
    said = capsys.readouterr().out
    assert "undone: left: pause left-1 (left-1): healed at node node-1: " in said
    assert "nothing of it is left" in said
    assert not stopped(pod)
    assert (installed.state("left-1"), installed.state("left-2")) == ("healed", "healed")
    assert world.api.get(*KIND, "left", "default") is None


def test_an_agent_that_is_dead_is_said(world: World, installed: Agent, restart: Any, capsys: Any) -> None:
    pod = world.pod("dead-broker-0")
    pod.start_node()
    begin(world, ["left-3"])
    installed.inject("left-3", "pause", pod, 3600)
    installed.kill()
    assert execute(("heal", "--namespace", "default", "--timeout", "1")) == 1
    said = capsys.readouterr().out
    assert "LEFT: left: left-3 (pause left-3): node node-1: agent highwater-system/highwater-agent-x" in said
    assert stopped(pod)
    listens(world, restart())
    assert execute(("heal", "--namespace", "default")) == 0, capsys.readouterr()
    until(lambda: not stopped(pod), "the pod runs on")
    assert world.api.get(*KIND, "left", "default")["status"]["phase"] == "Completed"
