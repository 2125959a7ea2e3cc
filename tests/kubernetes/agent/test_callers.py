"""The runner's client and a real agent: connections are kept, and one that restarts in the middle is asked again."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from agent_world import TOKEN, Agent, World, confirmed, in_seconds, states
from waiting import until

from highwater_chaos.backends.kubernetes import agents
from highwater_chaos.backends.kubernetes.agent_trust import Trust
from highwater_chaos.backends.kubernetes.agents import AgentClient
from highwater_chaos.base.machine_record import troubles_in


@dataclass
class Follows:
    """The agent that lives now."""

    living: list[Agent]
    silent: bool = False

    def now(self) -> AgentClient:
        trust = Trust(self.living[0].world.authority_file)
        return AgentClient(f"https://127.0.0.1:{self.living[0].port}", TOKEN, trust, patience=10.0)

    def look_again(self) -> None:
        """It is looked up each time."""


@pytest.fixture
def handshakes(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """One for each."""
    made: list[None] = []
    secured = Trust.secured

    def count(self: Trust, plain: Any) -> Any:
        made.append(None)
        return secured(self, plain)

    monkeypatch.setattr(Trust, "secured", count)
    return made


def test_connections_are_kept(agent: Agent, handshakes: list[None], monkeypatch: pytest.MonkeyPatch) -> None:
    client = Follows([agent]).now()
    with ThreadPoolExecutor(3) as threads:
        assert all(isinstance(one, list) for one in threads.map(lambda _: client.faults(), range(60)))
    assert 1 <= len(handshakes) <= 3
    assert client.fault("never-asked") is None, "an answer that is an error ends none"
    assert 1 <= len(handshakes) <= 3
    monkeypatch.setattr(agents, "_KEPT_FOR", 0.0)
    client.faults()
    assert len(handshakes) <= 4, "one that was idle for long is not used again"


def test_sigterm_ends_the_agent_and_its_successor_goes_on(
    agent: Agent, world: World, handshakes: list[None], restart: Callable[[], Agent]
) -> None:
    """Faults are as they were, callers make their connections anew, and the record of the machine has no gap."""

    def rows(of: Agent, since: int = 0) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = of.ask("GET", f"/v1/machine?since={since}").json()["items"]
        return found

    def starts(of: Agent) -> int:
        return sum("started" in row for row in rows(of))

    pod = world.pod("term-broker-0")
    node = pod.start_node()
    agent.inject("term-1", "pause", pod)
    until(lambda: "load" in rows(agent)[-1], "a sample")
    before, latest = starts(agent), int(rows(agent)[-1]["at"]) + 1
    assert all(row.get("at", 0) >= latest for row in rows(agent, latest)), "and nothing older"
    following = Follows([agent])
    client = following.now()
    client.faults()
    assert agent.stop() == 0
    assert states(node.pid) == ["stopped"]
    again = following.living[0] = restart()
    object.__setattr__(client, "url", following.now().url)  # a pod's address and port stay the same
    assert client.faults() is not None
    assert len(handshakes) == 2
    assert again.state("term-1") == "inForce"
    again.heal("term-1")
    assert states(node.pid) == ["running"]
    until(lambda: "load" in rows(again)[-1], "a sample after it")
    assert starts(again) == before + 1
    assert any("load" in row for row in rows(again)[:-2]), "what the one before had noted is there"
    assert "agent of machine node-1 started" in troubles_in(rows(again))[-1]
    sample = rows(again)[-1]
    assert sample["processors"] == os.cpu_count()
    assert sample["freeBytes"] > 0
    with (world.state / "machine.jsonl").open("a") as file:
        file.write('{"node": "cut o')
    assert starts(again) == before + 1
    assert again.ask("GET", "/v1/machine?since=now").status_code == 400


@pytest.mark.thorough
def test_an_agent_that_restarts_during_an_injection_is_asked_again(
    agent: Agent, world: World, restart: Callable[[], Agent]
) -> None:
    pod = world.pod("stubborn-broker-0")
    script = "trap 'echo term' TERM; echo up; while :; do sleep 0.1; done"
    node = pod.start_container("bash", "-c", script, executable="highwater-node")
    assert node.stdout is not None
    assert node.stdout.readline() == "up\n"
    following = Follows([agent])
    client = AgentClient("https://127.0.0.1:1", TOKEN, patience=10.0, followed=following)
    answers: list[Any] = []
    body = {"kind": "stop", "pod": pod.reference, "deadline": in_seconds(60)}
    asking = threading.Thread(target=lambda: answers.append(client.put_fault("again-1", body)))
    asking.start()
    path = world.state / "faults" / "again-1.json"

    def state() -> str:
        return str(json.loads(path.read_text())["state"]) if path.exists() else ""

    assert node.stdout.readline() == "term\n"
    assert state() == "injecting", "it is under way"
    agent.kill()
    following.living[0] = restart()
    assert node.stdout.readline() == "term\n", "it is asked for again"
    node.kill()
    asking.join(60)
    (record,) = answers
    assert record["state"] == "done"
    assert confirmed(record, "inject")
