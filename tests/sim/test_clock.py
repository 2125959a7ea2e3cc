"""What nodes believe about time."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_runtime.ports import MS, SECOND
from highwater_runtime.sim import EPOCH_MS, derive_random


def test_clocks_agree_with_run_time_unless_skewed(toys):
    simulator, cores = toys.cluster("a", "b")
    simulator.set_clock("b", offset_ns=-5 * SECOND)
    simulator.run_for(10 * SECOND)
    a, b = cores["a"].ports.clock, cores["b"].ports.clock
    assert (a.now_ns(), a.wall_ms()) == (10 * SECOND, EPOCH_MS + 10_000)
    assert (b.now_ns(), b.wall_ms()) == (10 * SECOND, EPOCH_MS + 5_000)


def test_a_fast_clock_fires_early(toys):
    simulator, cores = toys.cluster("a")
    simulator.set_clock("a", rate=1.25)
    fired = []
    clock = cores["a"].ports.clock
    clock.call_later(10 * SECOND, lambda: fired.append((simulator.now_ns, clock.now_ns())))
    simulator.run_for(20 * SECOND)
    assert fired == [(8 * SECOND, 10 * SECOND)]
    assert clock.now_ns() == 25 * SECOND


def test_timers_keep_their_node_time_when_the_rate_changes(toys):
    simulator, cores = toys.cluster("a", "b")
    fired = []

    def note(name):
        return lambda: fired.append((name, simulator.now_ns, cores[name].ports.clock.now_ns()))

    for name in "ab":
        for seconds in (10, 12):
            cores[name].ports.clock.call_later(seconds * SECOND, note(name))
    simulator.run_until(4 * SECOND)
    simulator.set_clock("a", rate=0.5)
    simulator.run_until(6 * SECOND)
    simulator.set_clock("a", rate=2.0)
    simulator.run_until(60 * SECOND)
    assert fired == [
        ("a", 8_500_000_000, 10 * SECOND),
        ("a", 9_500_000_000, 12 * SECOND),
        ("b", 10 * SECOND, 10 * SECOND),
        ("b", 12 * SECOND, 12 * SECOND),
    ]


@settings(max_examples=40)
@given(st.floats(0.1, 10), st.lists(st.integers(0, 10 * SECOND), min_size=1, max_size=10))
def test_timers_never_fire_before_their_node_time_and_hardly_after_it(toys, rate, delays):
    simulator, cores = toys.cluster("a")
    simulator.run_until(SECOND // 3)
    simulator.set_clock("a", rate=rate)
    clock = cores["a"].ports.clock
    late = []
    for delay in delays:
        due = clock.now_ns() + delay
        clock.call_later(delay, lambda due=due: late.append(clock.now_ns() - due))
    simulator.run_for(200 * SECOND)
    assert len(late) == len(delays)
    assert all(0 <= ns <= 10 for ns in late)


@pytest.mark.parametrize("seed", range(10))
def test_a_change_of_rate_keeps_all_timers_in_order(toys, seed):
    simulator, cores = toys.cluster("a", "b")
    random = derive_random(seed, "timers")
    fired = []

    def note(name, due):
        return lambda: fired.append((name, simulator.now_ns, cores[name].ports.clock.now_ns() - due))

    for _ in range(40):
        name, delay = random.choice("ab"), random.randrange(10 * SECOND)
        cores[name].ports.clock.call_later(delay, note(name, delay))
    simulator.run_until(SECOND)
    simulator.set_clock("a", rate=random.uniform(0.1, 10))
    simulator.run_until(200 * SECOND)
    assert len(fired) == 40
    assert [time for _, time, _ in fired] == sorted(time for _, time, _ in fired)
    assert all(0 <= late <= 10 for _, _, late in fired)


def test_timers_of_one_instant_fire_in_the_order_of_their_setting(toys):
    simulator, cores = toys.cluster("a", "b")
    order = []
    for index, name in enumerate("abab"):
        cores[name].ports.clock.call_later(MS, lambda index=index: order.append(index))
    simulator.run_for(SECOND)
    assert order == [0, 1, 2, 3]


def test_a_skewed_clock_stays_skewed_through_a_restart(toys):
    simulator, cores = toys.cluster("a")
    simulator.set_clock("a", rate=2.0, offset_ns=SECOND)
    simulator.kill("a")
    simulator.start("a")
    simulator.run_for(SECOND)
    assert cores["a"].ports.clock.now_ns() == 2 * SECOND
    assert cores["a"].ports.clock.wall_ms() == EPOCH_MS + 3000


def test_impossible_times_are_refused(toys):
    simulator, cores = toys.cluster("a")
    with pytest.raises(ValueError, match="must be positive"):
        simulator.set_clock("a", rate=0)
    with pytest.raises(ValueError, match="is negative"):
        cores["a"].ports.clock.call_later(-1, lambda: None)
