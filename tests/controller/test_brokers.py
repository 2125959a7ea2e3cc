"""Brokers: registration, heartbeats, sessions, controlled shutdown, and what each does to the partitions."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest

from highwater_runtime.controller.kraft.quorum_controller import FENCING_SLICE
from highwater_runtime.metadata import NO_LEADER, MetadataVersion
from highwater_runtime.ports import MS
from highwater_runtime.ports.trace import BrokerRegistered, BrokerRegistrationChanged, TransitionTaken
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.broker_heartbeat_request import BrokerHeartbeatRequest
from highwater_runtime.wire.messages.broker_registration_request import Feature, Listener
from highwater_runtime.wire.messages.unregister_broker_request import UnregisterBrokerRequest

NO_NO_OPS = {"metadata.max.idle.interval.ms": 0}
"""For tests that count the records of the metadata log."""

# --- Registration -------------------------------------------------------------------------------------------------


def test_the_broker_epoch_is_the_offset_of_the_registration(cluster: Any) -> None:
    epoch = cluster.register(0)

    broker = cluster.image.brokers[0]
    assert (broker.epoch, broker.fenced) == (epoch, True)
    assert epoch == cluster.image.offset
    event = cluster.trace.of(BrokerRegistered)[-1]
    assert (event.broker, event.broker_epoch, event.metadata_offset) == (0, epoch, epoch)
    assert event.reason == broker.incarnation_id.hex


def test_a_registration_sent_twice_gets_the_same_epoch_and_writes_nothing(cluster: Any) -> None:
    epoch = cluster.register(0)
    cluster.heartbeat(0)
    end = cluster.quorum.log_end_offset

    assert cluster.register(0) == epoch
    assert cluster.quorum.log_end_offset == end
    assert not cluster.image.brokers[0].fenced


def test_the_same_incarnation_may_amend_its_registration_and_keeps_epoch_and_state(cluster: Any) -> None:
    cluster.up(0)
    epoch = cluster.image.brokers[0].epoch
    moved = Listener(name="PLAINTEXT", host="elsewhere", port=9092, security_protocol=0)

    response = cluster.ask(cluster.registration(0, listeners=[moved]))

    broker = cluster.image.brokers[0]
    assert (response.broker_epoch, broker.epoch, broker.endpoint.host) == (epoch, epoch, "elsewhere")
    assert not broker.fenced
    assert len(cluster.trace.of(BrokerRegistered)) == 1


def test_another_incarnation_is_refused_while_the_first_is_alive(cluster: Any) -> None:
    cluster.up(0)

    assert cluster.ask(cluster.registration(0, 2)).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION

    cluster.silence(0)
    assert cluster.register(0, 2) == cluster.image.brokers[0].epoch
    assert cluster.image.brokers[0].fenced


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"cluster_id": "another"}, ErrorCode.INCONSISTENT_CLUSTER_ID),
        ({"listeners": []}, ErrorCode.INVALID_REGISTRATION),
        ({"features": []}, ErrorCode.UNSUPPORTED_VERSION),
        (
            {"features": [Feature(name="metadata.version", min_supported_version=7, max_supported_version=9)]},
            ErrorCode.UNSUPPORTED_VERSION,
        ),
    ],
)
def test_registrations_that_are_refused(cluster: Any, changes: dict[str, Any], error: ErrorCode) -> None:
    assert ErrorCode(cluster.ask(cluster.registration(0, **changes)).error_code) is error
    assert cluster.image.brokers == {}


def test_a_broker_of_before_the_feature_may_join_a_cluster_at_the_lowest_level(
    make_cluster: Callable[..., Any],
) -> None:
    cluster = make_cluster(metadata_version=MetadataVersion.minimum())
    assert cluster.ask(cluster.registration(0, features=[])).error_code == ErrorCode.NONE


def test_a_broker_that_registers_anew_leaves_every_isr_in_the_same_batch(cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1], [1, 0])
    batches = len(cluster.quorum.batches)
    # A new incarnation registers although nobody has noticed the end of the old one: its session is closed by hand.
    cluster.controller._sessions.forget(1)

    epoch = cluster.register(1, incarnation=2)

    assert len(cluster.quorum.batches) == batches + 1
    base_offset, _, records = cluster.quorum.batches[-1]
    assert epoch == base_offset + len(records) - 1, "it has left them before it is registered"
    for index in (0, 1):
        assert (cluster.partition(index=index).isr, cluster.partition(index=index).leader) == ((0,), 0)


def test_the_last_member_stays_in_the_isr_without_leading(cluster: Any) -> None:
    """KIP-903's noted exception: it is the only replica that may have everything."""
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])
    cluster.silence(1)
    assert cluster.partition().isr == (0,)
    cluster.controller._sessions.forget(0)
    before = cluster.partition()

    cluster.register(0, incarnation=2)

    after = cluster.partition()
    assert (after.isr, after.leader) == ((0,), NO_LEADER)
    assert after.leader_epoch == before.leader_epoch + 1

    cluster.heartbeat(0)
    returned = cluster.partition()
    assert (returned.isr, returned.leader) == ((0,), 0)
    assert returned.leader_epoch == after.leader_epoch + 1


# --- Heartbeats ---------------------------------------------------------------------------------------------------


def test_a_broker_is_unfenced_once_it_has_followed_the_log_to_its_own_registration(cluster: Any) -> None:
    epoch = cluster.register(0)

    behind = cluster.heartbeat(0, offset=epoch - 1)
    assert (behind.is_caught_up, behind.is_fenced) == (False, True)
    assert cluster.image.brokers[0].fenced

    wants_to_stay = cluster.heartbeat(0, fence=True)
    assert (wants_to_stay.is_caught_up, wants_to_stay.is_fenced) == (True, True)

    there = cluster.heartbeat(0, offset=epoch)
    assert (there.is_caught_up, there.is_fenced) == (True, False)
    assert not cluster.image.brokers[0].fenced
    assert cluster.trace.of(BrokerRegistrationChanged)[-1].reason == "unfenced"


def test_a_heartbeat_of_an_earlier_life_is_refused(cluster: Any) -> None:
    epoch = cluster.register(0)
    cluster.register(0, incarnation=2)
    stale = BrokerHeartbeatRequest(broker_id=0, broker_epoch=epoch, current_metadata_offset=epoch)

    assert cluster.ask(stale).error_code == ErrorCode.STALE_BROKER_EPOCH
    assert cluster.image.brokers[0].fenced


def test_a_heartbeat_of_a_stranger_is_refused(cluster: Any) -> None:
    stranger = BrokerHeartbeatRequest(broker_id=5, broker_epoch=1, current_metadata_offset=1)
    assert cluster.ask(stranger).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_a_broker_may_ask_to_be_fenced(cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])

    assert cluster.heartbeat(0, fence=True).is_fenced

    assert (cluster.partition().isr, cluster.partition().leader) == ((1,), 1)


# --- Sessions -----------------------------------------------------------------------------------------------------


def test_silence_for_the_session_timeout_fences(cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])

    cluster.pass_ms(8999)
    assert not cluster.image.brokers[0].fenced
    cluster.heartbeat(1)
    cluster.pass_ms(1)

    assert cluster.image.brokers[0].fenced
    assert not cluster.image.brokers[1].fenced
    partition = cluster.partition()
    assert (partition.isr, partition.leader, partition.leader_epoch) == ((1,), 1, 1)
    assert cluster.trace.of(BrokerRegistrationChanged)[-1].reason == "fenced"


def test_a_broker_of_many_partitions_is_fenced_in_slices_between_which_others_are_heard(
    make_cluster: Callable[..., Any],
) -> None:
    partitions = 2 * FENCING_SLICE + 7
    cluster = make_cluster(properties=NO_NO_OPS)
    cluster.up(0, 1, 2)
    cluster.create_topic("many", *[[0, 1, 2]] * partitions)
    cluster.clock.advance(8_000 * MS)
    cluster.heartbeat(1)
    cluster.heartbeat(2)
    begin = cluster.quorum.log_end_offset
    # Events that are due at once run in the order in which they were asked for, so this looks between two slices.
    seen: list[tuple[int, bool]] = []

    def look() -> None:
        seen.append((cluster.quorum.log_end_offset - begin, cluster.heartbeat(1).is_fenced))
        if len(seen) < 4:
            cluster.clock.call_later(0, look)

    cluster.clock.call_later(1_000 * MS, look)
    cluster.clock.advance(1_000 * MS)

    assert seen[-1] == (partitions + 1, False)
    written = [0, *(count for count, _ in seen)]
    assert max(after - before for before, after in pairwise(written)) <= FENCING_SLICE
    state = [cluster.partition("many", index) for index in range(partitions)]
    assert {(one.leader, one.isr, one.leader_epoch) for one in state} == {(1, (1, 2), 1)}
    assert cluster.image.brokers[0].fenced
    assert cluster.trace.of(TransitionTaken) == [TransitionTaken(reason="session-expired")]


def test_a_broker_that_is_the_last_member_of_many_isrs_is_fenced_before_3_6_too(
    make_cluster: Callable[..., Any],
) -> None:
    """Each slice began with the same partitions, whose leader epochs it bumped: the broker never got its turn."""
    partitions = FENCING_SLICE + 1
    cluster = make_cluster(metadata_version=MetadataVersion.IBP_3_5_IV2, properties=NO_NO_OPS)
    cluster.up(0)
    cluster.create_topic("many", *[[0]] * partitions)
    begin, looks = cluster.quorum.log_end_offset, 0

    def look() -> None:
        nonlocal looks
        looks += 1
        assert looks < 10, "a slice follows the other without end"
        if not cluster.trace.of(TransitionTaken):
            cluster.clock.call_later(0, look)

    cluster.clock.call_later(9_000 * MS, look)
    cluster.clock.advance(9_000 * MS)
    assert cluster.quorum.log_end_offset - begin == partitions + 1
    cluster.quorum.commit()
    assert cluster.image.brokers[0].fenced
    state = [cluster.partition("many", index) for index in range(partitions)]
    assert {(one.leader, one.isr, one.leader_epoch) for one in state} == {(NO_LEADER, (0,), 1)}


def test_a_broker_that_is_heard_between_two_slices_is_not_fenced(cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("many", *[[0, 1]] * (FENCING_SLICE + 1))
    cluster.clock.advance(8_000 * MS)
    cluster.heartbeat(1)
    cluster.clock.call_later(1_000 * MS, lambda: cluster.heartbeat(0))
    cluster.clock.advance(1_000 * MS)
    cluster.quorum.commit()

    assert not cluster.image.brokers[0].fenced
    assert cluster.partition("many", 0).isr == (1,), "its leader takes it back when it has caught up"
    assert cluster.partition("many", FENCING_SLICE).isr == (0, 1)


def test_when_all_are_silent_the_last_member_stays_and_leads_again_when_it_is_back(cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])
    cluster.silence(0)
    cluster.silence(1)
    assert (cluster.partition().isr, cluster.partition().leader) == ((1,), NO_LEADER)

    cluster.up(0, incarnation=2)
    assert cluster.partition().leader == NO_LEADER, "a replica outside the ISR never leads"

    cluster.up(1, incarnation=2)
    assert (cluster.partition().isr, cluster.partition().leader) == ((1,), 1)


def test_of_brokers_that_fall_silent_the_one_heard_last_stays_in_the_isr(cluster: Any) -> None:
    """The controller hangs while broker 1 is down, and then no session is left. Broker 0 may be alive: its heartbeats
    were late. Broker 1 may come back without its disk."""
    cluster.up(0, 1, 2)
    cluster.create_topic("orders", [0, 1, 2])
    cluster.pass_ms(1_000)
    cluster.heartbeat(2)
    cluster.pass_ms(1_000)
    cluster.heartbeat(0)

    def hang() -> None:
        cluster.clock.now += 20_000 * MS

    cluster.clock.call_later(1_000 * MS, hang)
    cluster.pass_ms(10_000)
    assert all(cluster.image.brokers[broker].fenced for broker in (0, 1, 2))
    assert (cluster.partition().isr, cluster.partition().leader) == ((0,), NO_LEADER)
    cluster.up(1, incarnation=2)
    assert cluster.partition().leader == NO_LEADER
    cluster.heartbeat(0)
    assert (cluster.partition().isr, cluster.partition().leader) == ((0,), 0)


def test_fencing_a_broker_outside_the_isr_leaves_the_partition_epoch(cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])
    cluster.propose([0])
    before = cluster.partition()

    cluster.silence(1)

    assert cluster.image.brokers[1].fenced
    assert cluster.partition() == before


# --- Leaving ------------------------------------------------------------------------------------------------------


def test_a_controlled_shutdown_moves_leaders_first_and_waits_until_all_know(cluster: Any) -> None:
    cluster.up(0, 1, 2)
    cluster.create_topic("orders", [0, 1], [2, 0])

    response = cluster.heartbeat(0, shut_down=True)
    shutdown_offset = cluster.image.offset

    assert (response.should_shut_down, response.is_fenced) == (False, False)
    assert cluster.image.brokers[0].in_controlled_shutdown
    assert (cluster.partition().isr, cluster.partition().leader) == ((1,), 1)
    assert cluster.partition(index=1).isr == (2,)
    assert cluster.trace.of(BrokerRegistrationChanged)[-1].reason == "controlled-shutdown"

    cluster.heartbeat(1, offset=shutdown_offset)
    cluster.heartbeat(2, offset=shutdown_offset - 1)
    assert not cluster.heartbeat(0, shut_down=True).should_shut_down

    cluster.heartbeat(2, offset=shutdown_offset)
    leave = cluster.heartbeat(0, shut_down=True)
    assert (leave.should_shut_down, leave.is_fenced) == (True, True)
    assert cluster.image.brokers[0].fenced


def test_a_broker_that_leads_nothing_may_go_at_once(cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])

    assert cluster.heartbeat(1, shut_down=True).should_shut_down

    assert cluster.image.brokers[1].fenced
    assert cluster.partition().isr == (0,)


def test_the_last_member_may_shut_down_and_leaves_the_partition_without_leader(cluster: Any) -> None:
    cluster.up(0)
    cluster.create_topic("orders", [0])

    assert not cluster.heartbeat(0, shut_down=True).should_shut_down
    assert cluster.heartbeat(0, shut_down=True).should_shut_down

    assert (cluster.partition().isr, cluster.partition().leader) == ((0,), NO_LEADER)


def test_a_new_active_controller_lets_a_leaving_broker_go_only_when_all_know_what_it_knows(cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])
    cluster.heartbeat(0, shut_down=True)
    cluster.quorum.lose(1001)
    cluster.quorum.lead()

    assert not cluster.heartbeat(0, shut_down=True).should_shut_down
    cluster.heartbeat(1)
    assert cluster.heartbeat(0, shut_down=True).should_shut_down


def test_unregistering_takes_a_broker_out_of_the_cluster(cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])

    assert cluster.ask(UnregisterBrokerRequest(broker_id=0)).error_code == ErrorCode.NONE

    assert 0 not in cluster.image.brokers
    assert (cluster.partition().isr, cluster.partition().leader) == ((1,), 1)
    assert cluster.trace.of(BrokerRegistrationChanged)[-1].reason == "unregistered"
    assert cluster.ask(UnregisterBrokerRequest(broker_id=0)).error_code == ErrorCode.BROKER_ID_NOT_REGISTERED
    cluster.pass_ms(20_000)
    assert 0 not in cluster.image.brokers


def test_the_active_controller_appends_a_no_op_every_half_second_and_no_other_does(
    make_cluster: Callable[..., Any],
) -> None:
    """Kafka 3.3 and later (KIP-835): so a quorum that cannot commit is noticed though nobody asks for anything."""
    cluster = make_cluster()
    begin = cluster.quorum.log_end_offset
    cluster.clock.advance(5_000 * MS)
    assert cluster.quorum.log_end_offset == begin + 10
    cluster.quorum.commit()
    assert cluster.image.offset == begin + 9

    cluster.quorum.lose(2)
    cluster.clock.advance(5_000 * MS)
    assert cluster.quorum.log_end_offset == begin + 10

    silent = make_cluster(properties=NO_NO_OPS)
    begin = silent.quorum.log_end_offset
    silent.clock.advance(5_000 * MS)
    assert silent.quorum.log_end_offset == begin
