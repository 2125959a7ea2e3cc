"""``/healthz`` tells what is wrong: a thread that died, one that is stuck, a pool in which nothing begins any more."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest

from highwater_operator.agent import pools
from highwater_operator.agent.background import Background
from highwater_operator.agent.health import Health
from highwater_operator.agent.pools import Pool
from highwater_operator.agent.refusals import Refusal


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
        with pytest.raises(Refusal, match="the pod is busy") as refused:
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
