from __future__ import annotations

import pytest

from highwater_chaos.base.process import Scheduler, Sleep, Until
from highwater_runtime.ports import MS, SECOND


class Clock:
    def __init__(self):
        self.now = 0

    def advance(self, until):
        assert until > self.now
        self.now = until


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def scheduler(clock):
    return Scheduler(lambda: clock.now, clock.advance)


def test_sleep_wakes_at_its_instant(scheduler, clock):
    woken = []

    def process():
        yield Sleep(3 * SECOND)
        woken.append(clock.now)

    task = scheduler.spawn("p", process())
    assert scheduler.run(lambda: task.done, 10 * SECOND)
    assert woken == [3 * SECOND]


def test_a_process_that_sleeps_for_less_than_looking_takes_does_not_hold_up_the_deadline(clock):
    woken = []

    def look():
        clock.now += 2 * SECOND

    def process():
        while True:
            yield Sleep(SECOND)
            woken.append(clock.now)

    scheduler = Scheduler(lambda: clock.now, clock.advance, on_turn=look)
    scheduler.spawn("p", process())
    assert not scheduler.run(lambda: False, 20 * SECOND)
    assert 20 * SECOND <= clock.now <= 26 * SECOND
    assert len(woken) > 3


def test_until_tells_whether_the_condition_came_true_in_time(scheduler, clock):
    results = []

    def process():
        results.append((yield Until(lambda: clock.now >= SECOND, 2 * SECOND, "early")))
        results.append((yield Until(lambda: False, SECOND, "never")))

    task = scheduler.spawn("p", process())
    assert scheduler.run(lambda: task.done, 10 * SECOND)
    assert results == [True, False]
    assert SECOND * 2 <= clock.now <= SECOND * 2 + 10 * MS


def test_processes_due_together_run_in_the_order_of_spawning(scheduler):
    order = []

    def process(name):
        yield Sleep(SECOND)
        order.append(name)

    for name in "cab":
        scheduler.spawn(name, process(name))
    scheduler.run(lambda: len(order) == 3, 2 * SECOND)
    assert order == ["c", "a", "b"]


def test_a_cancelled_process_cleans_up_and_does_nothing_more(scheduler):
    seen = []

    def process():
        try:
            yield Sleep(SECOND)
            seen.append("went on")
        finally:
            seen.append("cleaned up")

    task = scheduler.spawn("p", process())
    scheduler.run(lambda: False, SECOND // 2)
    task.cancel()
    scheduler.run(lambda: False, 3 * SECOND)
    assert seen == ["cleaned up"]


def test_run_stops_at_its_deadline(scheduler, clock):
    assert not scheduler.run(lambda: False, 5 * SECOND)
    assert clock.now == 5 * SECOND


def test_a_process_that_raises_ends_the_run(scheduler):
    def process():
        yield Sleep(1)
        raise RuntimeError("harness bug")

    scheduler.spawn("p", process())
    with pytest.raises(RuntimeError, match="harness bug"):
        scheduler.run(lambda: False, SECOND)
