"""The agent tells its machine's clock, by which events of several machines are put on one."""

from __future__ import annotations

import time
from pathlib import Path

from agent_world import TOKEN, Agent

from highwater_chaos.backends.kubernetes.agent_trust import Trust
from highwater_chaos.backends.kubernetes.agents import AgentClient


def test_the_clock_is_that_of_this_kernel(agent: Agent) -> None:
    client = AgentClient(f"https://127.0.0.1:{agent.port}", TOKEN, Trust(Path(agent.verify)))
    found = client.clock()
    assert found.boot == Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    assert abs(found.ahead_ns) <= found.error_ns < 500_000_000
    assert abs(found.wall_ahead_ns - (time.time_ns() - time.monotonic_ns())) < 10**9


def test_it_asks_who_wants_to_know(agent: Agent) -> None:
    assert agent.ask("GET", "/v1/clock", token="wrong").status_code == 401
