"""Nothing that waits is forgotten, and nothing completes twice."""

from __future__ import annotations

from uuid import UUID

import pytest
from hand_ports import HandClock
from hypothesis import given
from hypothesis import strategies as st

from highwater_runtime.broker.purgatory import Purgatory, WakeUps

TOPIC = UUID(int=1)
A, B = (TOPIC, 0), (TOPIC, 1)


class Waiter:
    """Completes once every one of its conditions holds."""

    def __init__(self, world: dict, *keys) -> None:
        self.world = world
        self.keys = keys
        self.outcomes: list[str] = []

    def try_complete(self) -> bool:
        if all(self.world.get(key) for key in self.keys):
            self.outcomes.append("completed")
            return True
        return False

    def expire(self) -> None:
        self.outcomes.append("expired")


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


def test_what_can_complete_at_once_never_waits(clock):
    purgatory = Purgatory(clock)
    waiter = Waiter({A: True}, A)
    purgatory.park(waiter, [A], 10)
    assert waiter.outcomes == ["completed"]
    assert len(purgatory) == 0
    clock.advance_to(100)
    assert waiter.outcomes == ["completed"]


def test_a_change_between_request_and_parking_is_seen(clock):
    # A change that the attempt itself makes is marked, and checked after the event: it is not lost either.
    purgatory = Purgatory(clock)
    wake_ups = WakeUps((purgatory,))
    world: dict = {}

    class ChangesTheWorld(Waiter):
        def try_complete(self) -> bool:
            done = super().try_complete()
            self.world[A] = True
            wake_ups.mark(A)
            return done

    waiter = ChangesTheWorld(world, A)
    purgatory.park(waiter, [A], 10)
    assert waiter.outcomes == []
    wake_ups.drain()
    assert waiter.outcomes == ["completed"]


def test_it_completes_with_the_last_of_its_keys_and_leaves_all_lists(clock):
    purgatory = Purgatory(clock)
    world: dict = {}
    waiter = Waiter(world, A, B)
    purgatory.park(waiter, [A, B, A], 10)
    world[A] = True
    assert purgatory.check(A) == 0
    world[B] = True
    assert purgatory.check(B) == 1
    assert purgatory.check(A) == 0
    assert waiter.outcomes == ["completed"]
    assert len(purgatory) == 0


def test_time_is_the_only_other_way_out(clock):
    purgatory = Purgatory(clock)
    waiter = Waiter({}, A)
    purgatory.park(waiter, [A], 10)
    clock.advance_to(9)
    assert waiter.outcomes == []
    clock.advance_to(10)
    assert waiter.outcomes == ["expired"]
    assert purgatory.check(A) == 0


def test_those_who_came_first_are_tried_first(clock):
    purgatory = Purgatory(clock)
    order: list[int] = []

    class Numbered:
        def __init__(self, number: int) -> None:
            self.number = number
            self.ready = False

        def try_complete(self) -> bool:
            if self.ready:
                order.append(self.number)
            return self.ready

        def expire(self) -> None: ...

    waiting = [Numbered(n) for n in range(5)]
    for one in waiting:
        purgatory.park(one, [A], 10)
    for one in waiting:
        one.ready = True
    purgatory.check(A)
    assert order == [0, 1, 2, 3, 4]


def test_completing_one_may_wake_another(clock):
    purgatory = Purgatory(clock)
    wake_ups = WakeUps((purgatory,))
    world: dict = {}

    class Chain(Waiter):
        def try_complete(self) -> bool:
            done = super().try_complete()
            if done:
                world[B] = True
                wake_ups.mark(B)
            return done

    first, second = Chain(world, A), Waiter(world, B)
    purgatory.park(second, [B], 10)
    purgatory.park(first, [A], 10)
    world[A] = True
    wake_ups.mark(A)
    wake_ups.drain()
    assert (first.outcomes, second.outcomes) == (["completed"], ["completed"])


@given(
    st.lists(
        st.one_of(
            st.tuples(st.just("park"), st.sets(st.sampled_from([A, B]), min_size=1), st.integers(1, 20)),
            st.tuples(st.just("change"), st.sampled_from([A, B]), st.booleans()),
            st.tuples(st.just("time"), st.integers(1, 10), st.none()),
        ),
        max_size=40,
    )
)
def test_whatever_happens_nobody_waits_who_need_not_and_nobody_is_answered_twice(steps):
    clock, world = HandClock(), {A: False, B: False}
    purgatory = Purgatory(clock)
    wake_ups = WakeUps((purgatory,))
    waiters: list[tuple[Waiter, int]] = []
    for what, first, second in steps:
        if what == "park":
            waiter = Waiter(world, *sorted(first))
            waiters.append((waiter, clock.now + second))
            purgatory.park(waiter, sorted(first), second)
        elif what == "change":
            world[first] = second
            wake_ups.mark(first)
        else:
            clock.advance_to(clock.now + first)
        wake_ups.drain()
        for waiter, due in waiters:
            holds = all(world[key] for key in waiter.keys)
            assert len(waiter.outcomes) <= 1
            assert waiter.outcomes or (not holds and clock.now < due)
    assert len(purgatory) == sum(not waiter.outcomes for waiter, _ in waiters)


def test_growth_of_a_log_wakes_only_those_who_may_wait_for_data(clock):
    produces, fetches = Purgatory(clock), Purgatory(clock)
    wake_ups = WakeUps((produces, fetches), on_append=(fetches,))
    world: dict = {}
    produce, fetch = Waiter(world, A), Waiter(world, A)
    produces.park(produce, [A], 10)
    fetches.park(fetch, [A], 10)
    world[A] = True
    wake_ups.mark_appended(A)
    wake_ups.drain()
    assert (produce.outcomes, fetch.outcomes) == ([], ["completed"])
    wake_ups.mark(A)
    wake_ups.mark_appended(A)
    wake_ups.drain()
    assert produce.outcomes == ["completed"]


def test_each_expires_in_its_own_time_whatever_was_answered_before(clock):
    # One timer serves them all: it must not be lost with an operation that was answered, nor come late for one with
    # an earlier deadline than those before it.
    purgatory = Purgatory(clock)
    world: dict = {}
    late, early, answered = Waiter(world, B), Waiter(world, B), Waiter(world, A)
    purgatory.park(answered, [A], 5)
    purgatory.park(late, [B], 30)
    purgatory.park(early, [B], 10)
    world[A] = True
    assert purgatory.check(A) == 1
    clock.advance_to(9)
    assert early.outcomes == []
    clock.advance_to(10)
    assert (early.outcomes, late.outcomes) == (["expired"], [])
    clock.advance_to(30)
    assert late.outcomes == ["expired"]
    assert answered.outcomes == ["completed"]
    assert len(purgatory) == 0


def test_thousands_of_answered_operations_are_not_kept_until_their_deadlines(clock):
    purgatory = Purgatory(clock)
    world: dict = {}
    waiting = Waiter(world, B)
    purgatory.park(waiting, [B], 50)
    for _ in range(5000):
        world[A] = False
        purgatory.park(Waiter(world, A), [A], 100)
        world[A] = True
        assert purgatory.check(A) == 1
    assert len(purgatory._deadlines) < 3000
    clock.advance_to(50)
    assert waiting.outcomes == ["expired"]
