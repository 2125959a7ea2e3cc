"""The runner's client and a real agent: connections are kept, and one that restarts in the middle is asked again."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest
from agent_world import TOKEN, Agent, World, confirmed, in_seconds

from highwater_chaos.backends.kubernetes import agents
from highwater_chaos.backends.kubernetes.agent_trust import Trust
from highwater_chaos.backends.kubernetes.agents import AgentClient


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


def test_a_connection_that_the_agent_ended_is_made_anew(
    agent: Agent, handshakes: list[None], restart: Callable[[], Agent]
) -> None:
    following = Follows([agent])
    client = following.now()
    client.faults()
    agent.stop()
    following.living[0] = restart()
    object.__setattr__(client, "url", following.now().url)  # a pod's address and port stay the same
    assert client.faults() is not None
    assert len(handshakes) == 2


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
