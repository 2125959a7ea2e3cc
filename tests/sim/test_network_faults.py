"""Cuts, slow links and rules about RPCs, with their evidence."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_runtime.ports import MS, SECOND, RpcFailure
from highwater_runtime.sim import NetworkTiming


def warmed_up(toys, **options):
    """Two nodes with an open connection from a to b."""
    simulator, cores = toys.cluster("a", "b", **options)
    cores["a"].send("b", 0)
    simulator.run_for(100 * MS)
    assert cores["a"].outcomes == [(0, 1000)]
    for core in cores.values():
        core.heard.clear()
        core.results.clear()
    return simulator, cores


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.lists(st.integers(0, MS), min_size=12, max_size=12), st.integers(0, 11))
def test_after_a_cut_everything_arrives_once_and_in_order(toys, seed, pauses, cut_at):
    simulator, cores = warmed_up(toys, seed=seed, network=NetworkTiming(spike_fraction=0.3))
    for value, pause in enumerate(pauses):
        if value == cut_at:
            cut = simulator.faults.cut("a", "b")
            heard_before, results_before = len(cores["b"].heard), len(cores["a"].results)
        cores["a"].send("b", value, timeout_ns=30 * SECOND)
        simulator.run_for(pause)
    simulator.run_for(3 * SECOND)
    assert len(cores["b"].heard) == heard_before
    assert len(cores["a"].results) == results_before
    assert cut.caught > 0
    simulator.faults.heal(cut)
    for value in range(12, 15):
        cores["a"].send("b", value, timeout_ns=30 * SECOND)
    simulator.run_for(3 * SECOND)
    assert cores["b"].values_heard == list(range(15))
    assert cores["a"].outcomes == [(value, value + 1000) for value in range(15)]


def test_nothing_passes_a_cut_and_healing_is_idempotent(toys):
    simulator, cores = warmed_up(toys)
    cut = simulator.faults.cut("a", "b")
    cores["a"].send("b", 1)
    cores["b"].send("a", 2)
    simulator.run_for(SECOND)
    assert cores["a"].heard == cores["b"].heard == cores["a"].results == cores["b"].results == []
    simulator.faults.heal(cut)
    simulator.faults.heal(cut)
    simulator.faults.heal_all()
    simulator.run_for(3 * SECOND)
    assert cores["a"].outcomes == [(1, 1001)]
    assert cores["b"].outcomes == [(2, 1002)]


def test_overlapping_cuts_heal_one_by_one(toys):
    simulator, cores = warmed_up(toys)
    first = simulator.faults.cut("a", "b")
    second = simulator.faults.isolate("b")
    cores["a"].send("b", 1, timeout_ns=60 * SECOND)
    simulator.run_for(SECOND)
    simulator.faults.heal(first)
    simulator.run_for(3 * SECOND)
    assert cores["b"].heard == []
    simulator.faults.heal(second)
    simulator.run_for(3 * SECOND)
    assert cores["b"].values_heard == [1]


def test_a_one_way_cut_lets_requests_pass_and_keeps_responses(toys):
    simulator, cores = warmed_up(toys)
    simulator.faults.cut("a", "b", "bToA")
    cores["a"].send("b", 1, timeout_ns=SECOND)
    simulator.run_for(2 * SECOND)
    assert cores["b"].values_heard == [1]
    assert cores["a"].outcomes == [(1, RpcFailure.TIMED_OUT)]


def test_what_timed_out_behind_a_cut_is_lost(toys):
    simulator, cores = warmed_up(toys)
    cut = simulator.faults.cut("a", "b")
    cores["a"].send("b", 1, timeout_ns=SECOND)
    cores["a"].send("b", 2, timeout_ns=20 * SECOND)
    simulator.run_for(2 * SECOND)
    simulator.faults.heal(cut)
    simulator.run_for(20 * SECOND)
    assert cores["b"].heard == []
    assert cores["a"].outcomes == [(1, RpcFailure.TIMED_OUT), (2, RpcFailure.DISCONNECTED)]


def test_a_response_behind_a_cut_is_lost_when_its_host_loses_power(toys):
    simulator, cores = warmed_up(toys)
    cut = simulator.faults.cut("a", "b", "bToA")
    cores["a"].send("b", 1, timeout_ns=60 * SECOND)
    simulator.run_for(SECOND)
    assert cores["b"].values_heard == [1]
    simulator.power_loss("b")
    simulator.faults.heal(cut)
    simulator.run_for(10 * SECOND)
    assert cores["a"].results == []


def test_what_was_in_flight_when_its_connection_closed_arrives_unless_a_cut_comes_first(toys):
    for cut in (False, True):
        simulator, cores = warmed_up(toys)
        cores["a"].send("b", 1, timeout_ns=50_000)
        simulator.run_for(60_000)
        assert cores["a"].outcomes == [(1, RpcFailure.TIMED_OUT)]
        if cut:
            simulator.faults.cut("a", "b")
            simulator.run_for(SECOND)
            simulator.faults.heal_all()
        simulator.run_for(5 * SECOND)
        assert cores["b"].values_heard == ([] if cut else [1])


def test_a_connection_cannot_open_across_a_one_way_cut(toys):
    for direction in ("aToB", "bToA"):
        simulator, cores = toys.cluster("a", "b")
        cut = simulator.faults.cut("a", "b", direction)
        cores["a"].send("b", 1, timeout_ns=20 * SECOND)
        simulator.run_for(3 * SECOND)
        assert cores["b"].heard == []
        assert cut.caught == 1
        simulator.faults.heal_all()
        simulator.run_for(3 * SECOND)
        assert cores["a"].outcomes == [(1, 1001)]


def test_a_cut_hides_a_kill(toys):
    simulator, cores = warmed_up(toys)
    cores["b"].answers = False
    cores["a"].send("b", 1, timeout_ns=60 * SECOND)
    simulator.run_for(100 * MS)
    simulator.faults.cut("a", "b")
    simulator.kill("b")
    simulator.run_for(10 * SECOND)
    assert cores["a"].results == []
    simulator.faults.heal_all()
    simulator.run_for(3 * SECOND)
    assert cores["a"].outcomes == [(1, RpcFailure.DISCONNECTED)]


def test_a_slow_link_adds_its_time(toys):
    simulator, cores = warmed_up(toys)
    slow = simulator.faults.slow("a", "b", 300 * MS, "aToB")
    before = simulator.now_ns
    cores["a"].send("b", 1)
    simulator.run_for(SECOND)
    assert 300 * MS <= cores["b"].heard[0][0] - before < 340 * MS
    assert cores["a"].results[0][0] - before < 380 * MS
    assert slow.caught == 1
    simulator.faults.heal(slow)
    before = simulator.now_ns
    cores["a"].send("b", 2)
    simulator.run_for(SECOND)
    assert cores["a"].results[1][0] - before < 100 * MS


def test_held_requests_wait_while_others_pass_and_go_on_in_order(toys):
    simulator, cores = warmed_up(toys)
    rule = simulator.faults.hold("Echo", from_nodes="a", to_nodes="b")
    cores["a"].send("b", 1)
    cores["a"].send("b", 2, message=toys.Other)
    cores["a"].send("b", 3)
    simulator.run_for(SECOND)
    assert cores["b"].values_heard == [2]
    assert cores["a"].outcomes == [(2, 1002)]
    assert (rule.caught, rule.released, rule.lost) == (2, 0, 0)
    simulator.faults.heal(rule)
    simulator.run_for(SECOND)
    assert cores["b"].values_heard == [2, 1, 3]
    assert cores["a"].outcomes == [(2, 1002), (1, 1001), (3, 1003)]
    assert (rule.caught, rule.released, rule.lost) == (2, 2, 0)


def test_a_held_request_arrives_even_when_its_sender_gave_up_or_died(toys):
    for end in ("time-out", "kill", "power-loss"):
        simulator, cores = warmed_up(toys)
        rule = simulator.faults.hold("Echo")
        cores["a"].send("b", 1, timeout_ns=SECOND if end == "time-out" else 60 * SECOND)
        simulator.run_for(2 * SECOND)
        if end == "kill":
            simulator.kill("a")
        elif end == "power-loss":
            simulator.power_loss("a")
        simulator.faults.heal(rule)
        simulator.run_for(SECOND)
        assert cores["b"].values_heard == [1]
        assert cores["a"].outcomes == ([(1, RpcFailure.TIMED_OUT)] if end == "time-out" else [])


def test_a_held_request_is_lost_with_the_incarnation_it_was_sent_to(toys):
    simulator, cores = warmed_up(toys)
    rule = simulator.faults.hold("Echo")
    cores["a"].send("b", 1)
    simulator.run_for(SECOND)
    simulator.kill("b")
    simulator.start("b")
    simulator.run_for(SECOND)
    simulator.faults.heal(rule)
    simulator.run_for(SECOND)
    assert cores["b"].heard == []
    assert (rule.caught, rule.released, rule.lost) == (1, 0, 1)


def test_a_held_response_holds_those_behind_it(toys):
    simulator, cores = warmed_up(toys)
    rule = simulator.faults.hold("Echo", direction="response")
    cores["a"].send("b", 1)
    cores["a"].send("b", 2, message=toys.Other)
    simulator.run_for(SECOND)
    assert cores["b"].values_heard == [1, 2]
    assert cores["a"].results == []
    assert rule.caught == 1
    simulator.faults.heal(rule)
    cores["a"].send("b", 3)
    simulator.run_for(SECOND)
    assert cores["a"].outcomes == [(1, 1001), (2, 1002), (3, 1003)]


def test_a_held_response_dies_with_its_server(toys):
    for death in ("kill", "power-loss"):
        simulator, cores = warmed_up(toys)
        rule = simulator.faults.hold("EchoResponse", direction="response")
        cores["a"].send("b", 1, timeout_ns=60 * SECOND)
        simulator.run_for(SECOND)
        if death == "kill":
            simulator.kill("b")
        else:
            simulator.power_loss("b")
        simulator.run_for(SECOND)
        simulator.faults.heal(rule)
        simulator.run_for(SECOND)
        assert cores["a"].outcomes == ([(1, RpcFailure.DISCONNECTED)] if death == "kill" else [])
        assert (rule.caught, rule.released, rule.lost) == (1, 0, 1)


def test_dropped_messages_end_in_a_time_out(toys):
    for direction in ("request", "response"):
        simulator, cores = warmed_up(toys)
        rule = simulator.faults.drop("Echo", direction=direction, limit=1)
        cores["a"].send("b", 1, timeout_ns=SECOND)
        simulator.run_for(2 * SECOND)
        assert cores["a"].outcomes == [(1, RpcFailure.TIMED_OUT)]
        assert cores["b"].values_heard == ([1] if direction == "response" else [])
        cores["a"].send("b", 2, timeout_ns=SECOND)
        simulator.run_for(2 * SECOND)
        assert cores["a"].outcomes[1:] == [(2, 1002)]
        assert rule.caught == 1


def test_delayed_messages_come_late(toys):
    for direction in ("request", "response"):
        simulator, cores = warmed_up(toys)
        rule = simulator.faults.delay(700 * MS, "Echo", direction=direction)
        before = simulator.now_ns
        cores["a"].send("b", 1)
        simulator.run_for(2 * SECOND)
        assert 700 * MS <= cores["a"].results[0][0] - before < 760 * MS
        assert (cores["b"].heard[0][0] - before >= 700 * MS) == (direction == "request")
        assert rule.caught == 1


def test_a_message_behind_a_delayed_response_does_not_bring_it_forward(toys):
    simulator, cores = warmed_up(toys)
    simulator.faults.delay(700 * MS, "Echo", direction="response")
    before = simulator.now_ns
    cores["a"].send("b", 1)
    cores["a"].send("b", 2, message=toys.Other)
    simulator.run_for(2 * SECOND)
    assert cores["a"].outcomes == [(1, 1001), (2, 1002)]
    assert all(time - before >= 700 * MS for time, _, _ in cores["a"].results)


def test_a_duplicated_request_is_heard_twice_and_answered_once(toys):
    simulator, cores = warmed_up(toys)
    rule = simulator.faults.duplicate("Echo")
    cores["a"].send("b", 1)
    simulator.run_for(SECOND)
    assert cores["b"].values_heard == [1, 1]
    assert cores["a"].outcomes == [(1, 1001)]
    assert rule.caught == 1


def test_rules_catch_only_what_they_name(toys):
    simulator, cores = toys.cluster("a", "b", "c")
    rules = [
        simulator.faults.drop("Other"),
        simulator.faults.drop("Echo", from_nodes="c"),
        simulator.faults.drop("Echo", to_nodes=["a", "c"]),
        simulator.faults.drop("Echo", probability=0.0),
        simulator.faults.drop("Echo", limit=0),
    ]
    cores["a"].send("b", 1)
    simulator.run_for(SECOND)
    assert cores["a"].outcomes == [(1, 1001)]
    assert [rule.caught for rule in rules] == [0] * 5


def test_wrong_directions_are_refused(toys):
    simulator, _ = toys.cluster("a", "b")
    with pytest.raises(ValueError, match="direction must be one of"):
        simulator.faults.cut("a", "b", "sideways")
