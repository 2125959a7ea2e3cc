"""``/healthz`` tells what is wrong: a thread that died, one that is stuck, a pool in which nothing begins any more."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
import requests
from agent_world import Agent, World
from waiting import until

from highwater_operator.agent import pools
from highwater_operator.agent.background import Background
from highwater_operator.agent.health import Health
from highwater_operator.agent.pools import Pool
from highwater_operator.agent.refusals import RefusalError


def test_a_thread_that_died_or_is_stuck_is_named_with_the_reason() -> None:
    now = [0.0]
    health = Health(lambda: now[0])
    thread = threading.Thread(target=lambda: None)
    thread.start()
    health.watch("faults", lambda: True, within=60)
    health.watch("volumes", lambda: True, within=600)
    assert health.wrong() is None
    now[0] = 61.0
    assert health.wrong() == "thread faults has done nothing for 61 s: it is stuck"
    health.failed("faults", "MachineError: the guardian does not start")
    assert health.wrong() == "thread faults has done nothing for 61 s: MachineError: the guardian does not start"
    health.beat("faults")
    assert health.wrong() is None
    thread.join()
    health.watch("pod-watch", thread.is_alive)
    assert health.wrong() == "thread pod-watch has died"


def run_stuck(check: Callable[[Pool, threading.Event], Awaitable[None]]) -> None:
    """With a pool of two threads."""
    release, pool = threading.Event(), Pool("heals", 2)

    async def run() -> None:
        try:
            await check(pool, release)
        finally:
            release.set()

    asyncio.run(run())


def test_a_pool_in_which_nothing_begins_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_STUCK_AFTER", -1.0)

    async def check(pool: Pool, release: threading.Event) -> None:
        assert await pool.stuck() is None
        calls = [asyncio.create_task(pool.run(pod, release.wait)) for pod in ("a", "b")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        wrong = await pool.stuck()
        assert wrong is not None
        assert wrong.startswith("heals: no call has begun for")
        release.set()
        await asyncio.gather(*calls)
        assert await pool.stuck() is None

    run_stuck(check)


def test_a_pod_has_one_thread_and_others_theirs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pools, "_WAITS_FOR_POD", 0.05)

    async def check(pool: Pool, release: threading.Event) -> None:
        first = asyncio.create_task(pool.run("hostile", release.wait))
        await asyncio.sleep(0)
        with pytest.raises(RefusalError, match="the pod is busy") as refused:
            await pool.run("hostile", release.wait)
        assert refused.value.status == 503
        assert await pool.run("other", lambda: "answered") == "answered"
        release.set()
        assert await first is True
        assert await pool.run("hostile", lambda: "its turn") == "its turn"

    run_stuck(check)


def test_work_for_a_pod_that_is_busy_is_left_out() -> None:
    release, done, background = threading.Event(), threading.Event(), Background()
    assert background.begin("hostile", release.wait)
    assert not background.begin("hostile", done.set)
    assert background.begin("other", done.set)
    assert done.wait(30)
    release.set()


MORTAL = """
import ctypes, signal, sys, threading
from pathlib import Path
from highwater_operator.agent.main import main

def end(*_):
    name = Path(sys.argv[1]).read_text()
    thread = next(one for one in threading.enumerate() if one.name == name)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread.ident), ctypes.py_object(SystemExit))

signal.signal(signal.SIGUSR1, end)
sys.exit(main([]))
"""
"""The agent; on SIGUSR1 one of its threads ends, as by an error that nobody thought of."""


@pytest.mark.thorough
def test_each_thread_of_the_agent_that_dies_is_told(agent: Agent, world: World, tmp_path: Path) -> None:
    """One after the other. The first one that is watched is named, so the last one dies first.

    This agent also asks its callers for a certificate.
    """
    if agent.process.poll() is None:
        assert agent.stop() == 0, agent.log.read_text()
    victim = tmp_path / "victim"
    made = world.authority.issue_cert("operator")
    made.private_key_pem.write_to_path(str(tmp_path / "operator.key"))
    made.cert_chain_pems[0].write_to_path(str(tmp_path / "operator.pem"))
    mortal = Agent(world, ("-c", MORTAL, str(victim)), HIGHWATER_AGENT_TLS_CLIENT_CA=str(world.authority_file))
    try:
        with pytest.raises(requests.exceptions.RequestException):
            mortal.ask("GET", "/v1/faults")
        mortal.certificate = (str(tmp_path / "operator.pem"), str(tmp_path / "operator.key"))
        assert mortal.ask("GET", "/v1/faults").status_code == 200
        assert mortal.ask("GET", "/v1/faults", token="wrong").status_code == 401
        until(lambda: wrong(mortal) == (200, "ok\n"), "the agent is well")
        for name in ("pod-watch", "volumes", "attachments", "faults"):
            victim.write_text(name)
            mortal.process.send_signal(signal.SIGUSR1)
            # A thread that waits ends once it has something to do.
            if name == "pod-watch":
                world.pod("wakes-the-watch")
            until(lambda name=name: wrong(mortal) == (503, f"thread {name} has died\n"), f"{name} is missed")
    finally:
        assert mortal.stop() == 0, mortal.log.read_text()


def wrong(agent: Agent) -> tuple[int, str]:
    answer = agent.ask("GET", "/healthz", token=None)
    return answer.status_code, answer.text
