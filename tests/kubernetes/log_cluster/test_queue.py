"""When things are reconciled."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from highwater_chaos.kube.client import UnavailableError
from highwater_operator.reconcile.log_cluster import Outcome
from highwater_operator.reconcile.queue import Key, Queue

A, B = Key("ns", "a"), Key("ns", "b")


def play(story: Callable[..., Any]) -> None:
    asyncio.run(asyncio.wait_for(story(), 20))


async def until(condition: Callable[[], object]) -> None:
    while not condition():
        await asyncio.sleep(0.005)


def test_events_that_come_together_mean_one_time() -> None:
    async def story() -> None:
        done: Counter[Key] = Counter()

        async def work(key: Key) -> Outcome:
            done[key] += 1
            return Outcome(60.0)

        queue = Queue(work, settle=0.05)
        queue.start()
        for _ in range(100):
            queue.add(A)
        queue.add(B)
        await until(lambda: done[A] and done[B])
        assert done == {A: 1, B: 1}
        queue.add(A)
        await until(lambda: done[A] == 2)
        await queue.stop()

    play(story)


def test_one_worker_at_a_time_and_one_more_time_after() -> None:
    async def story() -> None:
        at_once, most, runs = 0, 0, 0
        go_on = asyncio.Event()

        async def work(key: Key) -> Outcome:
            nonlocal at_once, most, runs
            at_once += 1
            runs += 1
            most = max(most, at_once)
            await go_on.wait()
            at_once -= 1
            return Outcome(60.0)

        queue = Queue(work, settle=0.0, workers=4)
        queue.start()
        queue.add(A)
        await until(lambda: at_once == 1)
        for _ in range(10):
            queue.add(A)
        await asyncio.sleep(0.05)  # time in which a second worker would have begun
        go_on.set()
        await until(lambda: runs == 2)
        await asyncio.sleep(0.05)
        assert (most, runs) == (1, 2)
        await queue.stop()

    play(story)


def test_failures_delay_longer_and_longer_and_success_forgets_them() -> None:
    async def story() -> None:
        times: list[float] = []

        async def work(key: Key) -> Outcome:
            times.append(time.monotonic())
            if len(times) == 1:
                raise UnavailableError("get x", 503, "away")
            if len(times) == 2:
                raise ValueError("a bug")
            return Outcome(0.01) if len(times) < 4 else Outcome(None)

        queue = Queue(work, settle=0.0)
        queue.start()
        queue.add(A)
        await until(lambda: len(times) == 4)
        assert times[1] - times[0] >= 0.5
        assert times[2] - times[1] >= 1.0
        assert times[3] - times[2] < 0.5
        await queue.stop()

    play(story)


def test_what_is_gone_is_forgotten_and_may_come_back() -> None:
    async def story() -> None:
        runs = 0

        async def work(key: Key) -> Outcome:
            nonlocal runs
            runs += 1
            return Outcome(None)

        queue = Queue(work, settle=0.0)
        queue.start()
        queue.add(A)
        await until(lambda: runs == 1)
        await asyncio.sleep(0.02)
        assert queue._entries == {}
        queue.add(A)
        await until(lambda: runs == 2)
        await queue.stop()

    play(story)


def test_it_ends_though_something_changes_at_that_moment() -> None:
    """A worker that is woken up and cancelled in the same moment must not go on: the operator would never end."""

    async def story(turns: int) -> None:
        async def work(key: Key) -> Outcome:
            return Outcome(60.0)

        queue = Queue(work, settle=100)
        queue.add(A)
        queue.start()
        await asyncio.sleep(0.01)
        queue.add(B)
        for _ in range(turns):
            await asyncio.sleep(0)
        ending = asyncio.create_task(queue.stop())
        done, _ = await asyncio.wait([ending], timeout=10)
        assert done, f"it ends, {turns} turns after the change"

    for turns in range(6):
        asyncio.run(story(turns))
