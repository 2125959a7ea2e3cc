"""Virtual time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.ports import MS, SECOND
from highwater_runtime.sim import Simulator
from highwater_runtime.sim.loop import EventLoop


@given(st.lists(st.integers(0, 5), max_size=60))
def test_events_run_by_time_and_equal_times_in_the_order_they_were_pushed(delays):
    loop, ran = EventLoop(), []
    for index, delay in enumerate(delays):
        loop.push(delay, ran.append, (delay, index))
    loop.run(10)
    assert ran == sorted(ran)
    assert len(ran) == len(delays)


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=80))
def test_cancelled_timers_never_run_and_the_others_all_do(timers):
    loop, ran = EventLoop(), []
    handles = [loop.call_at(when, lambda index=index: ran.append(index)) for index, (when, _) in enumerate(timers)]
    for handle, (_, cancelled) in zip(handles, timers, strict=True):
        if cancelled:
            handle.cancel()
            handle.cancel()
    loop.run(100)
    expected = sorted((when, index) for index, (when, cancelled) in enumerate(timers) if not cancelled)
    assert ran == [index for _, index in expected]


def test_cancelled_timers_do_not_pile_up_in_the_heap():
    loop = EventLoop()
    kept = loop.call_at(2 * SECOND, lambda: None)
    for _ in range(20_000):
        loop.call_at(SECOND, lambda: None).cancel()
    assert len(loop.heap) < 3000
    assert any(event[3] is kept for event in loop.heap)


def test_cancelling_after_the_call_changes_nothing():
    loop, ran = EventLoop(), []
    timer = loop.call_at(1, lambda: ran.append(1))
    loop.run(1)
    timer.cancel()
    assert ran == [1]
    assert loop.cancelled == 0


def test_a_run_ends_at_its_time_and_includes_it():
    simulator, ran = Simulator(1), []
    for when in (5, 10, 11):
        simulator.call_at(when, lambda when=when: ran.append(when))
    assert simulator.run_until(10)
    assert ran == [5, 10]
    assert simulator.now_ns == 10
    assert simulator.run_for(100)
    assert simulator.now_ns == 110


def test_a_run_ends_at_its_predicate_before_the_next_event():
    simulator, ran = Simulator(1), []
    for when in range(10):
        simulator.call_at(when, lambda when=when: ran.append(when))
    assert simulator.run_until(100, predicate=lambda: len(ran) == 4)
    assert ran == [0, 1, 2, 3]
    assert not simulator.run_until(100, predicate=lambda: len(ran) == 99)
    assert simulator.now_ns == 100


def test_a_run_ends_after_so_many_events():
    simulator, ran = Simulator(1), []
    for when in range(10):
        simulator.call_at(when, lambda when=when: ran.append(when))
    assert not simulator.run_until(max_events=3)
    assert ran == [0, 1, 2]


def test_a_run_without_an_end_is_refused():
    with pytest.raises(ValueError, match="needs an end"):
        Simulator(1).run_until()


def test_hooks_run_after_every_event():
    simulator, seen = Simulator(1), []
    simulator.call_later(MS, lambda: seen.append("event"))
    simulator.call_later(2 * MS, lambda: seen.append("event"))
    simulator.after_event.append(lambda: seen.append("hook"))
    simulator.run_until(SECOND)
    assert seen == ["event", "hook", "event", "hook"]


def test_what_a_hook_raises_comes_out_as_it_is():
    simulator = Simulator(1)

    def broken():
        raise LookupError("invariant")

    simulator.after_event.append(broken)
    simulator.call_later(1, lambda: None)
    with pytest.raises(LookupError, match="invariant"):
        simulator.run_until(10)
