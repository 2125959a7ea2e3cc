"""Connections: order, resets, silence, time-outs."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from highwater_runtime.ports import MS, SECOND, Endpoint, RpcFailure
from highwater_runtime.sim import NetworkTiming, SimulationError

SPIKY = NetworkTiming(spike_fraction=0.3)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.permutations(range(20)), st.data())
def test_requests_and_responses_of_one_connection_stay_in_order(toys, seed, answer_order, data):
    simulator, cores = toys.cluster("a", "b", seed=seed, network=SPIKY)
    cores["b"].answers = False
    for value in range(20):
        cores["a"].send("b", value)
        simulator.run_for(data.draw(st.integers(0, MS)))
    simulator.run_for(SECOND)
    assert cores["b"].values_heard == list(range(20))
    for index in answer_order:
        cores["b"].requests[index].reply(toys.EchoAnswer(index + 1000))
        simulator.run_for(data.draw(st.integers(0, MS)))
    simulator.run_for(SECOND)
    assert cores["a"].outcomes == [(value, value + 1000) for value in range(20)]


def test_channels_are_connections_of_their_own(toys):
    def overtaken(seed):
        simulator, cores = toys.cluster("a", "b", seed=seed, network=SPIKY)
        cores["a"].send("b", 1, channel="slow")
        cores["a"].send("b", 2, channel="fast")
        simulator.run_for(SECOND)
        return cores["b"].values_heard == [2, 1]

    assert {overtaken(seed) for seed in range(20)} == {True, False}


def test_a_node_can_talk_to_itself(toys):
    simulator, cores = toys.cluster("a")
    cores["a"].send("a", 7)
    simulator.run_for(SECOND)
    assert cores["a"].outcomes == [(7, 1007)]


@pytest.mark.parametrize("endpoint", [Endpoint("b", 9092), Endpoint("b", 1), Endpoint("nobody", 9092)])
def test_connections_to_where_nobody_listens_are_refused_quickly(toys, endpoint):
    simulator, cores = toys.cluster("a", "b")
    simulator.kill("b")
    results = []
    cores["a"].ports.network.send(endpoint, toys.Echo(1), 0, results.append, timeout_ns=SECOND)
    assert results == []
    simulator.run_for(100 * MS)
    assert results == [RpcFailure.DISCONNECTED]


def test_a_killed_process_resets_its_connections_after_what_it_had_sent(toys):
    simulator, cores = toys.cluster("a", "b")
    cores["b"].answers = False
    cores["a"].send("b", 1)
    cores["a"].send("b", 2)
    simulator.run_for(100 * MS)
    cores["b"].requests[0].reply(toys.EchoAnswer(1001))
    simulator.kill("b")
    simulator.run_for(100 * MS)
    assert cores["a"].outcomes == [(1, 1001), (2, RpcFailure.DISCONNECTED)]


def test_a_killed_client_has_sent_what_it_has_sent(toys):
    simulator, cores = toys.cluster("a", "b")
    cores["a"].send("b", 1)
    simulator.run_for(SECOND)
    cores["a"].send("b", 2)
    simulator.kill("a")
    simulator.run_for(SECOND)
    assert cores["b"].values_heard == [1, 2]
    assert cores["a"].outcomes == [(1, 1001)]


def test_a_host_without_power_is_silent_until_the_time_out(toys):
    simulator, cores = toys.cluster("a", "b")
    cores["b"].answers = False
    cores["a"].send("b", 1, timeout_ns=3 * SECOND)
    simulator.run_for(100 * MS)
    simulator.power_loss("b")
    cores["a"].send("b", 2, timeout_ns=10 * SECOND)
    simulator.run_until(3 * SECOND - 1)
    assert cores["a"].results == []
    simulator.run_until(3 * SECOND)
    assert cores["a"].outcomes == [(1, RpcFailure.TIMED_OUT), (2, RpcFailure.DISCONNECTED)]
    cores["a"].send("b", 3, timeout_ns=2 * SECOND)
    simulator.run_until(5 * SECOND)
    assert cores["a"].outcomes[2:] == [(3, RpcFailure.TIMED_OUT)]


def test_a_rebooted_host_knows_nothing_of_old_connections(toys):
    simulator, cores = toys.cluster("a", "b")
    cores["b"].answers = False
    cores["a"].send("b", 1, timeout_ns=60 * SECOND)
    simulator.run_for(100 * MS)
    simulator.power_loss("b")
    simulator.run_for(3 * SECOND)
    simulator.start("b")
    simulator.run_for(2 * SECOND)
    assert cores["a"].outcomes == [(1, RpcFailure.DISCONNECTED)]
    assert cores["b"].heard == []


def test_an_idle_connection_to_a_rebooted_host_breaks_at_its_next_use(toys):
    simulator, cores = toys.cluster("a", "b")
    cores["a"].send("b", 1)
    simulator.run_for(SECOND)
    simulator.power_loss("b")
    simulator.start("b")
    simulator.run_for(5 * SECOND)
    cores["a"].send("b", 2)
    simulator.run_for(100 * MS)
    assert cores["a"].outcomes == [(1, 1001), (2, RpcFailure.DISCONNECTED)]
    cores["a"].send("b", 3)
    simulator.run_for(100 * MS)
    assert cores["a"].outcomes[2:] == [(3, 1003)]


def test_connecting_waits_for_a_host_that_comes_back_in_time(toys):
    simulator, cores = toys.cluster("a", "b")
    simulator.power_loss("b")
    cores["a"].send("b", 1, timeout_ns=10 * SECOND)
    simulator.run_for(3 * SECOND)
    simulator.start("b")
    simulator.run_for(3 * SECOND)
    assert cores["a"].outcomes == [(1, 1001)]


def test_a_time_out_closes_the_connection_and_the_next_request_opens_another(toys):
    simulator, cores = toys.cluster("a", "b")
    cores["b"].answers = False
    cores["a"].send("b", 1, timeout_ns=SECOND)
    cores["a"].send("b", 2, timeout_ns=SECOND // 2)
    cores["a"].send("b", 3, timeout_ns=30 * SECOND)
    simulator.run_until(SECOND // 2)
    failures = [(1, RpcFailure.DISCONNECTED), (2, RpcFailure.TIMED_OUT), (3, RpcFailure.DISCONNECTED)]
    assert cores["a"].outcomes == failures
    cores["b"].requests[0].reply(toys.EchoAnswer(5))
    cores["b"].answers = True
    cores["a"].send("b", 4)
    simulator.run_for(10 * SECOND)
    assert cores["a"].outcomes == [*failures, (4, 1004)]


def test_deadlines_are_seen_although_earlier_ones_were_met(toys):
    simulator, cores = toys.cluster("a", "b")
    for value in range(5):
        cores["a"].send("b", value, timeout_ns=SECOND)
        simulator.run_for(500 * MS)
    cores["b"].answers = False
    sent_at = simulator.now_ns
    cores["a"].send("b", 99, timeout_ns=2 * SECOND)
    simulator.run_for(3 * SECOND)
    assert cores["a"].results[-1] == (sent_at + 2 * SECOND, 99, RpcFailure.TIMED_OUT)


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 10 * MS))
def test_every_request_has_exactly_one_outcome_whatever_happens_to_the_server(toys, seed, moment):
    simulator, cores = toys.cluster("a", "b", seed=seed, network=SPIKY)
    for value in range(30):
        cores["a"].send("b", value, channel=str(value % 3), timeout_ns=SECOND)
    simulator.run_for(moment)
    if seed % 2:
        simulator.kill("b")
    else:
        simulator.power_loss("b")
    simulator.run_for(10 * SECOND)
    assert sorted(value for value, _ in cores["a"].outcomes) == list(range(30))


def test_a_second_reply_is_a_bug(toys):
    simulator, cores = toys.cluster("a", "b")
    cores["a"].send("b", 1)
    simulator.run_for(SECOND)
    with pytest.raises(AssertionError, match="second reply"):
        cores["b"].requests[0].reply(toys.EchoAnswer(1))


def test_object_mode_hands_over_the_same_object_and_codec_mode_another(toys):
    message = toys.Echo(5)

    def received(**options):
        simulator, cores = toys.cluster("a", "b", **options)
        for _ in range(64):
            cores["a"].ports.network.send(Endpoint("b", 9092), message, 0, lambda _: None, timeout_ns=SECOND)
        simulator.run_for(SECOND)
        assert cores["b"].values_heard == [5] * 64
        return [request.body is message for request in cores["b"].requests]

    assert received(codec="never") == [True] * 64
    assert received(codec="all") == [False] * 64
    some = received(codec="some", codec_fraction=0.5)
    assert {True, False} == set(some)


def test_a_run_is_the_same_whatever_goes_through_the_codec(toys):
    def digest(codec):
        simulator, cores = toys.cluster("a", "b", codec=codec, trace_messages=True)
        for value in range(50):
            cores["a"].send("b", value)
        simulator.run_for(SECOND)
        return simulator.digest()

    assert digest("never") == digest("some") == digest("all")


def test_changing_a_received_message_is_found(toys):
    simulator, cores = toys.cluster("a", "b", check_mutation=True)

    def meddle(request):
        request.body.value += 1
        request.reply(toys.EchoAnswer(0))

    cores["b"].on_request = meddle
    cores["a"].send("b", 1)
    with pytest.raises(SimulationError, match="changed by its receiver"):
        simulator.run_for(SECOND)


def test_changing_a_sent_message_is_found(toys):
    simulator, cores = toys.cluster("a", "b", check_mutation=True)
    message = toys.Echo(5)
    cores["a"].ports.network.send(Endpoint("b", 9092), message, 0, lambda _: None, timeout_ns=SECOND)
    message.value = 6
    with pytest.raises(SimulationError, match="changed by its sender"):
        simulator.run_for(SECOND)
