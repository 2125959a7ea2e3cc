"""Timers in the order in which they were set, at the pace of a clock that may be wrong."""

from __future__ import annotations

import asyncio
import time

import pytest

from highwater_runtime.host.clock import HostClock
from highwater_runtime.ports import MS, SECOND


@pytest.fixture
def with_clock():
    def run(story):
        async def whole():
            clock = HostClock(asyncio.get_running_loop(), lambda callback: callback())
            try:
                await asyncio.wait_for(story(clock), 60)
            finally:
                clock.close()

        asyncio.run(whole())

    return run


async def until(condition):
    async with asyncio.timeout(30):
        while not condition():
            await asyncio.sleep(0.001)


def test_order_is_by_time_then_as_set(with_clock):
    async def story(clock):
        ran = []
        for name, delay in (("c", 30 * MS), ("a", 0), ("b1", 10 * MS), ("b2", 10 * MS), ("a2", 0)):
            clock.call_later(delay, lambda name=name: ran.append(name))
        assert ran == [], "never within the event that sets it"
        await until(lambda: len(ran) == 5)
        assert ran == ["a", "a2", "b1", "b2", "c"]

    with_clock(story)


def test_no_timer_is_early(with_clock):
    async def story(clock):
        ran = []
        for delay in (1 * MS, 3 * MS, 7 * MS, 20 * MS):
            due = clock.now_ns() + delay
            clock.call_later(delay, lambda due=due: ran.append(clock.now_ns() - due))
        await until(lambda: len(ran) == 4)
        assert min(ran) >= 0

    with_clock(story)


def test_cancelled_timers_do_not_run_and_do_not_pile_up(with_clock):
    async def story(clock):
        ran = []
        timers = [clock.call_later(SECOND * 3600, lambda: ran.append("no")) for _ in range(10_000)]
        keep = clock.call_later(MS, lambda: ran.append("yes"))
        for timer in timers:
            timer.cancel()
            timer.cancel()
        assert len(clock._heap) < 200
        await until(lambda: ran)
        assert ran == ["yes"]
        keep.cancel()

    with_clock(story)


def test_a_timer_set_by_a_timer_for_now_lets_others_go_first(with_clock):
    async def story(clock):
        ran = []
        loop = asyncio.get_running_loop()

        def again():
            ran.append("timer")
            if len(ran) < 20:
                clock.call_later(0, again)

        clock.call_later(0, again)
        loop.call_soon(ran.append, "other")
        await until(lambda: len(ran) >= 20)
        assert "other" in ran[:3]

    with_clock(story)


def test_a_fast_clock_shortens_timers_already_set(with_clock):
    async def story(clock):
        ran = []
        clock.call_later(1000 * SECOND, lambda: ran.append("far"))
        before = clock.now_ns()
        clock.set_skew(0, 100_000.0)
        await until(lambda: ran)
        assert clock.now_ns() - before >= 1000 * SECOND

    with_clock(story)


def test_a_slow_clock_and_back(with_clock):
    async def story(clock):
        ran = []
        clock.set_skew(0, 0.001)
        before = clock.now_ns()
        clock.call_later(10 * SECOND, lambda: ran.append("slow"))
        await asyncio.sleep(0.05)
        assert clock.now_ns() - before < SECOND
        assert clock.wall_error_ns() < -40 * MS
        clock.set_skew(0, 1.0)
        assert clock.now_ns() >= before
        assert abs(clock.wall_ns() - time.time_ns()) < SECOND
        assert ran == []

    with_clock(story)


def test_offset_of_the_wall_clock(with_clock):
    async def story(clock):
        clock.set_skew(-3600 * SECOND, 1.0)
        assert clock.wall_error_ns() == -3600 * SECOND
        assert abs(clock.wall_ms() + 3_600_000 - time.time() * 1000) < 10_000
        clock.set_skew(0, 1.0)
        assert clock.wall_error_ns() == 0

    with_clock(story)


def test_what_cannot_be(with_clock):
    async def story(clock):
        with pytest.raises(ValueError, match="negative"):
            clock.call_later(-1, lambda: None)
        with pytest.raises(ValueError, match="must be positive"):
            clock.set_skew(0, 0.0)

    with_clock(story)
