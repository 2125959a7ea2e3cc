"""The agent dies and comes back. What is in force stays in force; what is overdue is undone; a fault that was being
injected is undone and never called done."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest
from agent_world import Agent, World, confirmed, guardians, in_seconds, states
from waiting import until

from highwater_chaos.machine.network.link_probes import answering


def test_the_guardian_heals_at_the_deadline_though_the_agent_was_killed(
    agent: Agent, world: World, restart: Callable[[], Agent]
) -> None:
    pod, peer = world.pod("guarded-broker-0"), world.pod("guarded-broker-1")
    node, _ = pod.start_node(), peer.start_node()
    target = (peer.address, 9404)
    agent.inject("guarded-cut", "partition", peer, seconds=12, peer=pod.address, probePort=9404)
    agent.inject("guarded-pause", "pause", pod, seconds=8)
    agent.inject("guarded-long", "pause", peer, seconds=600)
    agent.kill()
    assert states(node.pid) == ["stopped"]
    assert answering(peer.namespace, [(pod.address, 9404)], 0.5) == set()
    until(lambda: states(node.pid) == ["running"], "the guardian lets it go on")
    until(lambda: answering(peer.namespace, [(pod.address, 9404)], 0.5), "the guardian joins them again")
    again = restart()
    until(lambda: again.state("guarded-pause") == "expired", "the new agent notices")
    until(lambda: again.state("guarded-cut") == "expired", "the new agent notices")
    found = again.ask("GET", "/v1/faults/guarded-pause").json()
    assert "nothing of it is left; undone by guardian" in confirmed(found, "heal")
    # What has time left is still in force, and the new agent can heal it.
    assert again.state("guarded-long") == "inForce"
    confirmed(again.heal("guarded-long"), "heal")
    assert answering(pod.namespace, [target], 10) == {target}


def test_an_agent_that_comes_back_heals_what_is_overdue_and_undoes_what_was_being_injected(
    agent: Agent, world: World, restart: Callable[[], Agent]
) -> None:
    """Where nobody else did; and of what may have happened it never says that it was done."""
    pods = {kind: world.pod(f"{kind}-broker-0") for kind in ("overdue", "half-pause", "half-kill")}
    nodes = {kind: pod.start_node().pid for kind, pod in pods.items()}
    agent.inject("half-pause", "pause", pods["half-pause"])
    agent.inject("half-kill", "kill", pods["half-kill"])
    record = agent.inject("overdue", "pause", pods["overdue"], seconds=4)
    agent.kill()
    # As a container runtime does that ends all processes of the agent's container.
    for guardian in guardians(world):
        guardian.send(signal.SIGKILL)
        assert guardian.wait_gone(10)
    # The journal of an agent that was killed before it could write what it had seen.
    for fault in ("half-pause", "half-kill"):
        path = world.state / "faults" / f"{fault}.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"state": "injecting", "evidence": []}))
    deadline = record["request"]["deadline"]
    until(lambda: in_seconds(-0.5) > deadline.replace("Z", "+00:00"), "the deadline has passed")
    assert states(*nodes.values()) == ["stopped", "stopped", "gone"]
    again = restart()
    assert states(*nodes.values()) == ["running", "running", "gone"], "healed before it listens"
    until(lambda: again.state("overdue") == "expired", "and it is noted")
    for fault in ("half-pause", "half-kill"):
        found = again.ask("GET", f"/v1/faults/{fault}").json()
        assert found["state"] == "failed"
        assert "may have happened" in found["error"]
    assert guardians(world), "a new guardian is at work"


def test_faults_end_at_their_deadline_though_the_agents_container_does_not_start_again(
    agent: Agent, world: World, restart: Callable[[], Agent]
) -> None:
    """The kubelet may wait for minutes: another container guards them meanwhile."""
    pod, other = world.pod("backing-off-broker-0"), world.pod("backing-off-broker-1")
    node, _ = pod.start_node(), other.start_node()
    guard = subprocess.Popen(
        [sys.executable, "-m", "highwater_operator.agent.guard"],
        env={**os.environ, "HIGHWATER_AGENT_STATE": str(world.state)},
        stderr=subprocess.PIPE,
    )
    try:
        agent.inject("backing-off", "pause", pod, seconds=8)
        agent.inject("long-off", "pause", other)
        by_agent = guardians(world)
        agent.kill()
        for guardian in by_agent:
            guardian.send(signal.SIGKILL)
            assert guardian.wait_gone(10)
        assert states(node.pid) == ["stopped"]
        until(lambda: states(node.pid) == ["running"], "a guardian of the other container lets it go on")
        (second,) = guardians(world)
        # The agent comes back, and works with the guardian that there is.
        again = restart()
        assert guardians(world) == [second]
        confirmed(again.heal("long-off"), "heal")
    finally:
        guard.terminate()
        assert guard.communicate(timeout=20) == (None, b"")
    assert guard.returncode == 0


@pytest.mark.thorough
def test_a_guardian_that_dies_is_replaced(agent: Agent, world: World) -> None:
    pod = world.pod("orphan-broker-0")
    pod.start_node()
    agent.inject("orphan-1", "pause", pod)
    before = guardians(world)
    for guardian in before:
        guardian.send(signal.SIGKILL)
    until(lambda: set(guardians(world)) - set(before), "a new one")
    agent.heal("orphan-1")


@pytest.mark.thorough
def test_what_an_agent_of_another_version_was_asked_for_can_be_undone(agent: Agent, world: World) -> None:
    pod, peer = world.pod("older-broker-0"), world.pod("older-broker-1")
    pod.start_node()
    peer.start_node()
    agent.inject("older-1", "partition", pod, peer=peer.address, probePort=9404)
    path = world.state / "faults" / "older-1.json"
    record = json.loads(path.read_text())
    record["request"] = {name: record["request"][name] for name in ("kind", "pod", "deadline")} | {"cuts": []}
    path.write_text(json.dumps(record))
    assert agent.ask("GET", "/v1/faults/older-1").json()["state"] == "inForce"
    healed = agent.heal("older-1")
    assert healed["state"] == "healed"
    assert confirmed(healed, "heal") == ["nothing of it is left; undone by run"]
    assert answering(pod.namespace, [(peer.address, 9404)], 10) == {(peer.address, 9404)}
