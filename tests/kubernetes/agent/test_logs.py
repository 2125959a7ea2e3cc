"""Each line of an agent and of its guardian is of the documented schema, and each fault's life is told."""

from __future__ import annotations

import logging
from itertools import pairwise
from typing import Any

import pytest
from agent_world import NODE, Agent, World, in_seconds
from log_schema import EVENTS, parsed
from waiting import until

from highwater_operator.agent.fault_log import log_change
from highwater_operator.agent.records import FaultRecord


def test_the_life_of_each_fault_is_in_the_log(agent: Agent, world: World) -> None:
    pod = world.pod("logs-broker-0")
    pod.start_node()
    agent.inject("logged-healed-1", "pause", pod)
    agent.heal("logged-healed-1")
    agent.inject("logged-late-1", "pause", pod, seconds=1)
    until(lambda: agent.ask("GET", "/v1/faults/logged-late-1").json()["state"] == "expired", "the deadline")
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


@pytest.mark.parametrize(
    ("states", "events"),
    [
        (("injecting", "failed: no"), ["fault failed"]),
        (("injecting", "inForce", "inForce: busy", "inForce: busy", "inForce: hangs", "expired", "expired"),
         ["fault injected", "fault not undone", "fault not undone", "fault undone"]),
        (("injecting", "done", "done"), ["fault injected"]),
        (("inForce", "inForce", "healed", "healed"), ["fault undone"]),
    ],
)  # fmt: skip
def test_each_transition_is_one_line(states: tuple[str, ...], events: list[str], caplog: Any) -> None:
    caplog.set_level(logging.INFO)
    request = {"kind": "pause", "pod": {"namespace": "default", "name": "a-broker-0"}}
    records: list[Any] = [None]
    for state, _, error in (one.partition(": ") for one in states):
        records.append(FaultRecord("fault-1", state, request, error=error))  # type: ignore[arg-type]
    for before, after in pairwise(records[1:] if states[0] == "inForce" else records):
        log_change(before, after, "request")
    assert [one.getMessage() for one in caplog.records] == events
    assert {one.fields["fault"] for one in caplog.records} == {"fault-1"}
    errors = [one.fields["error"] for one in caplog.records if "error" in one.fields]
    assert errors == [*dict.fromkeys(error for _, colon, error in (one.partition(": ") for one in states) if colon)]
