"""Each line of an agent and of its guardian is of the documented schema, and each fault's life is told."""

from __future__ import annotations

from typing import Any

from agent_world import NODE, Agent, World, await_true, in_seconds
from log_schema import EVENTS, parsed


def test_the_life_of_each_fault_is_in_the_log(agent: Agent, world: World) -> None:
    pod = world.pod("logs-broker-0")
    pod.start_node()
    agent.inject("healed-1", "pause", pod)
    agent.heal("healed-1")
    agent.inject("late-1", "pause", pod, seconds=1)
    await_true(lambda: agent.ask("GET", "/v1/faults/late-1").json()["state"] == "expired", "the deadline")
    agent.inject("killed-1", "kill", pod)
    body = {"kind": "pause", "pod": pod.reference, "deadline": in_seconds(-1)}
    assert agent.ask("PUT", "/v1/faults/refused-1", body).status_code == 422
    lines = parsed(agent.log.read_text().splitlines())
    assert {(one["component"], one["node"]) for one in lines} == {("agent", NODE)}
    life: dict[str, list[Any]] = {}
    for one in lines:
        if "fault" in one:
            assert ("agent", one["event"]) in EVENTS
            assert (one["namespace"], one["kind"], one["name"]) == ("default", "Pod", "logs-broker-0")
            life.setdefault(one["fault"], []).append((one["event"], one["faultKind"], one.get("by")))
    assert life == {
        "healed-1": [("fault injected", "pause", None), ("fault undone", "pause", "request")],
        "late-1": [("fault injected", "pause", None), ("fault undone", "pause", "deadline")],
        "killed-1": [("fault injected", "kill", None)],
        "refused-1": [("fault refused", "pause", None)],
    }
    (guardian,) = world.state.glob("runs/*/guardian.log")
    told = parsed(guardian.read_text().splitlines())
    assert {one["component"] for one in told} <= {"guardian"}
    undone = [one["fault"] for one in told if one["event"] == "fault undone"]
    assert set(undone) <= {"late-1"}, "the agent may have been first"
