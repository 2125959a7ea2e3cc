"""Each line of an agent and of its guardian is of the documented schema, and each fault's life is told."""

from __future__ import annotations

from typing import Any

from agent_world import NODE, Agent, World, await_true, in_seconds
from log_schema import EVENTS, parsed


def test_the_life_of_each_fault_is_in_the_log(agent: Agent, world: World) -> None:
    pod = world.pod("logs-broker-0")
    pod.start_node()
    agent.inject("logged-healed-1", "pause", pod)
    agent.heal("logged-healed-1")
    agent.inject("logged-late-1", "pause", pod, seconds=1)
    await_true(lambda: agent.ask("GET", "/v1/faults/logged-late-1").json()["state"] == "expired", "the deadline")
    agent.inject("logged-killed-1", "kill", pod)
    body = {"kind": "pause", "pod": pod.reference, "deadline": in_seconds(-1)}
    assert agent.ask("PUT", "/v1/faults/logged-refused-1", body).status_code == 422
    lines = parsed(agent.log.read_text().splitlines())
    assert {(one["component"], one["node"]) for one in lines} == {("agent", NODE)}
    life: dict[str, list[Any]] = {}
    for one in lines:
        if one.get("fault", "").startswith("logged-"):
            assert ("agent", one["event"]) in EVENTS
            assert (one["namespace"], one["kind"], one["name"]) == ("default", "Pod", "logs-broker-0")
            life.setdefault(one["fault"], []).append((one["event"], one["faultKind"], one.get("by")))
    assert life == {
        "logged-healed-1": [("fault injected", "pause", None), ("fault undone", "pause", "request")],
        "logged-late-1": [("fault injected", "pause", None), ("fault undone", "pause", "deadline")],
        "logged-killed-1": [("fault injected", "kill", None)],
        "logged-refused-1": [("fault refused", "pause", None)],
    }
    guardians = list(world.state.glob("runs/*/guardian.log"))
    assert guardians
    for told in (parsed(one.read_text().splitlines()) for one in guardians):
        assert {one["component"] for one in told} <= {"guardian"}
