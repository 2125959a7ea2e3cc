"""Agents that go away while they are needed: others take their places elsewhere, or connections lead nowhere."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from experiments.agents import TRUST, FakeAgent
from experiments.conftest import KIND, SYSTEM, ExperimentStage, experiment, until
from experiments.real_world import ActingAgent
from experiments.test_real_run import CONFIG, LONG

from highwater_chaos.backends.kubernetes import agents as agents_module
from highwater_chaos.backends.kubernetes import directory, observing
from highwater_chaos.backends.kubernetes.agents import AgentClient, AgentError, AgentSettings
from highwater_chaos.backends.kubernetes.directory import directory_of
from highwater_chaos.faults.base import Fault, FaultContext
from highwater_chaos.kube.client import Kube
from highwater_chaos.liveness import recovery
from highwater_runtime.ports import SECOND

Json = dict[str, Any]


def replace(stage: Any, agent: FakeAgent, port: int | None = None) -> None:
    """The agent's pod on the node, in the place of the one that was there."""
    where = ("v1", "Pod", "highwater-agent-node-0", SYSTEM)
    stage.api.delete(*where)
    until(lambda: stage.api.get(*where) is None, "the old agent's pod to go")
    stage.place(agent, "node-0", port)


def follow(stage: ExperimentStage, patience: float) -> AgentClient:
    settings = AgentSettings(SYSTEM, token_file=stage._token_file, trust=TRUST, patience=patience)
    found = directory_of(Kube(stage.api.configuration(), patience=2.0), settings).agent("node-0")
    assert found is not None
    return found


@pytest.fixture
def swallowing() -> Iterator[int]:
    """A port that takes connections (the kernel does) at which nobody answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener.getsockname()[1]


@pytest.fixture
def full() -> Iterator[int]:
    """A port whose backlog is full: connections to it are never made."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        port = listener.getsockname()[1]
        waiting = [socket.socket() for _ in range(4)]
        for one in waiting:
            one.setblocking(False)
            one.connect_ex(("127.0.0.1", port))
        yield port
        for one in waiting:
            one.close()


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every attempt to ask an agent anything, in order."""
    attempts: list[str] = []
    once = AgentClient._once

    def attempt(self: AgentClient, method: str, path: str, *more: Any) -> bytes:
        attempts.append(f"{method} {path}")
        return once(self, method, path, *more)

    monkeypatch.setattr(AgentClient, "_once", attempt)
    return attempts


def test_its_successor_is_found_elsewhere(stage: ExperimentStage, asked: list[str]) -> None:
    client = follow(stage, patience=120.0)
    first, second = stage.agents
    body = {"kind": "pause", "pod": {}, "deadline": "2099-01-01T00:00:00Z"}
    client.put_fault("a-1", body)
    first.close()
    second.records = first.records
    answers: list[Json] = []
    asking = threading.Thread(target=lambda: answers.append(client.heal_fault("a-1")))
    asking.start()
    replace(stage, second)
    asking.join(120.0)
    assert [one["state"] for one in answers] == ["healed"]
    assert (first.undone, second.undone) == ([], ["a-1"])
    # What comes after goes there straight away.
    asked.clear()
    client.put_fault("a-2", body)
    assert asked == ["PUT /v1/faults/a-2"]
    assert second.injected == ["a-2"]


@pytest.mark.parametrize("hole", ["swallowing", "full"])
def test_one_that_leads_nowhere_is_not_waited_for_twice(
    stage: ExperimentStage,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    asked: list[str],
    hole: str,
) -> None:
    monkeypatch.setattr(directory, "_LOOK_EVERY", 0.0)
    for name in ("_CONNECT_WITHIN", "_KNOCK_WITHIN", "_ACT_WITHIN"):
        monkeypatch.setattr(agents_module, name, 0.5 if name != "_ACT_WITHIN" else 2.0)
    first, second = stage.agents
    replace(stage, first, port=request.getfixturevalue(hole))
    client = follow(stage, patience=2.0)
    began = time.monotonic()
    with pytest.raises(AgentError, match="no answer") as caught:
        client.heal_fault("a-1")
    assert caught.value.status == 0
    assert time.monotonic() - began > 1.9
    assert set(asked) == {"DELETE /v1/faults/a-1"}
    asked.clear()
    with pytest.raises(AgentError, match=r"GET /healthz: no answer"):
        client.heal_fault("a-1")
    assert asked == ["GET /healthz"]
    replace(stage, second)

    def state() -> str:
        try:
            return str(client.heal_fault("a-1")["state"])
        except AgentError:
            return ""

    assert until(state, "the successor to be found") == "healed"


def _run(real: Any, timeout: str, lasts: str, wait: str | None = None, **spec: Any) -> str:
    schedule = [{"inject": {"pause": {"target": {"broker": 1}}, "for": lasts}}, {"wait": wait or lasts}]
    cluster = {"brokers": 2, "controllers": 1, "config": CONFIG, "topics": [{"name": "orders", "replicationFactor": 2}]}
    workload = {"producers": 1, "rate": "50/s", "consumers": 1}
    real.api.create(experiment(cluster=cluster, workload=workload, schedule=schedule, timeout=timeout, **spec))
    (fault,) = until(real.agents[0].in_force, "the fault", LONG)
    until(lambda: real.journal().get(fault) == "done", "the fault to be written down", LONG)
    return str(fault)


@pytest.mark.thorough
def test_a_run_goes_on_with_the_agent_that_took_its_place(real: Any) -> None:
    real.start()
    fault = _run(real, "2m", "8s")
    old = real.agents[0]
    old.close()
    with ActingAgent(lambda: real.nodes) as new:
        new.records = old.records  # files of the node
        replace(real, new)
        until(lambda: real.phase() == "Completed", "the verdict", LONG)
        status = real.status()
        assert status["verdict"] == "pass", json.dumps(status, indent=1)
        assert status["faults"] == {"planned": 1, "injected": 1, "confirmed": 1, "healed": 1}
        assert real.journal() == {fault: "undone"}
        assert (old.undone, new.undone) == ([], [fault])
        assert real.api.delete(*KIND, "demo", "default") in (True, False)
        until(lambda: real.get() is None, "the experiment to go", LONG)


@pytest.mark.thorough
def test_a_run_whose_agent_never_answers_ends_at_its_timeout(real: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    real.start()
    fault = _run(real, "40s", "10m", wait="39s")
    agent = real.agents[0]
    agent.answering.clear()
    # Only while it is silent: before and after, a busy machine may take its time.
    with monkeypatch.context() as silence:
        for name in ("_ACT_WITHIN", "_ANSWER_WITHIN", "_DUMP_WITHIN", "_KNOCK_WITHIN"):
            silence.setattr(agents_module, name, 0.5)
        silence.setattr(observing, "_SILENT_NS", 5 * SECOND)
        silence.setattr(recovery, "CATCH_UP_NS", 2 * SECOND)
        silence.setattr(FaultContext.confirm, "__defaults__", (5 * SECOND,))
        silence.setattr(Fault, "healed_within_ns", 5 * SECOND)
        status = until(lambda: real.status() if real.status().get("verdict") else None, "the verdict", 4 * LONG)
    assert status["verdict"] == "inconclusive"
    assert re.search("the run's timeout of 40s (was over|came)", status["reason"])
    assert "could not be read for 5 s" in status["reason"]
    assert real.journal() == {fault: "done"}
    agent.answering.set()
    until(lambda: real.phase() == "Completed", "the operator to heal what the runner could not", LONG)
    assert real.journal() == {fault: "undone"}
    assert agent.undone == [fault]
    assert real.status()["verdict"] == "inconclusive"
