"""AlterPartition and KIP-903: what a leader may make of its ISR, judged by the controller."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

import pytest
from msgspec import structs

from highwater_runtime.metadata import MetadataVersion
from highwater_runtime.ports.trace import AlterPartitionHandled
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from highwater_runtime.wire.messages.alter_partition_request import AlterPartitionRequest, PartitionData, TopicData


@pytest.fixture
def orders(cluster: Any) -> Any:
    """orders-0 on brokers 0 (leader) and 1, all alive, ISR {0}."""
    return with_isr_of_leader(cluster)


def with_isr_of_leader(cluster: Any) -> Any:
    cluster.up(0, 1, 2)
    cluster.create_topic("orders", [0, 1])
    assert cluster.propose([0]).error_code == ErrorCode.NONE
    assert cluster.partition().isr == (0,)
    return cluster


def handled(cluster: Any) -> AlterPartitionHandled:
    event: AlterPartitionHandled = cluster.trace.of(AlterPartitionHandled)[-1]
    return event


def test_a_caught_up_follower_joins_the_isr(orders: Any) -> None:
    before = orders.partition()

    result = orders.propose([0, 1])

    after = orders.partition()
    assert result.error_code == ErrorCode.NONE
    assert (result.isr, result.leader_id) == ([0, 1], 0)
    assert (result.leader_epoch, result.partition_epoch) == (after.leader_epoch, after.partition_epoch)
    assert (after.isr, after.leader_epoch) == ((0, 1), before.leader_epoch)
    assert after.partition_epoch == before.partition_epoch + 1
    event = handled(orders)
    assert (event.reason, event.isr, event.isr_epochs) == ("NONE", [0, 1], event.registered_epochs)
    assert event.metadata_offset == orders.image.offset


# --- KIP-903: the epochs ------------------------------------------------------------------------------------------


def test_kafka_14139_a_held_back_proposal_names_a_life_that_is_over(orders: Any) -> None:
    held = orders.proposal([0, 1])
    orders.silence(1)
    orders.up(1, incarnation=2)

    response = orders.ask(held)

    assert response.topics[0].partitions[0].error_code == ErrorCode.INELIGIBLE_REPLICA
    assert orders.partition().isr == (0,)
    event = handled(orders)
    assert event.isr_epochs[1] < event.registered_epochs[1]
    assert (event.reason, event.metadata_offset) == ("INELIGIBLE_REPLICA", -1)


def test_a_proposal_that_was_refused_is_over_whatever_comes_of_its_copies(orders: Any) -> None:
    """An earlier try was slow. It arrives when the replica, fenced when the retry was refused, is eligible again."""
    slow = orders.proposal([0, 1])
    orders.silence(1)
    before = orders.partition()
    assert orders.ask(orders.proposal([0, 1])).topics[0].partitions[0].error_code == ErrorCode.INELIGIBLE_REPLICA
    assert orders.partition() == structs.replace(before, partition_epoch=before.partition_epoch + 1)
    orders.heartbeat(1)
    assert not orders.image.brokers[1].fenced

    assert orders.ask(slow).topics[0].partitions[0].error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert orders.partition().isr == (0,)


def test_kafka_14139_without_the_check_the_empty_replica_joins(make_cluster: Callable[..., Any]) -> None:
    orders = with_isr_of_leader(make_cluster(replica_epoch_check="off"))
    held = orders.proposal([0, 1])
    orders.silence(1)
    orders.up(1, incarnation=2)

    response = orders.ask(held)

    assert response.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert orders.partition().isr == (0, 1)
    assert handled(orders).isr_epochs[1] < handled(orders).registered_epochs[1]


def test_an_unknown_epoch_skips_the_check(orders: Any) -> None:
    assert orders.propose([0, 1], [-1, -1]).error_code == ErrorCode.NONE
    assert orders.partition().isr == (0, 1)


def test_a_proposal_of_version_2_has_no_epochs_to_check(orders: Any) -> None:
    held = orders.proposal([0, 1])
    data = held.topics[0].partitions[0]
    data.new_isr, data.new_isr_with_epochs = [0, 1], []
    orders.silence(1)
    orders.up(1, incarnation=2)

    response = orders.ask(held, version=2)

    assert response.topics[0].partitions[0].error_code == ErrorCode.NONE
    assert orders.partition().isr == (0, 1)
    assert handled(orders).isr_epochs == [-1, -1]


@pytest.mark.parametrize("check", ["on", "off"])
def test_a_registered_but_fenced_replica_is_ineligible_even_under_its_own_epoch(
    make_cluster: Callable[..., Any], check: str
) -> None:
    orders = with_isr_of_leader(make_cluster(replica_epoch_check=check))
    orders.silence(1)
    orders.register(1, incarnation=2)

    assert orders.propose([0, 1]).error_code == ErrorCode.INELIGIBLE_REPLICA
    assert orders.partition().isr == (0,)


def test_a_replica_that_is_shutting_down_is_ineligible(orders: Any) -> None:
    orders.create_topic("led-by-1", [1, 0])
    orders.heartbeat(1, shut_down=True)
    assert orders.image.brokers[1].in_controlled_shutdown

    assert orders.propose([0, 1]).error_code == ErrorCode.INELIGIBLE_REPLICA


def test_an_unregistered_replica_is_ineligible(cluster: Any) -> None:
    from highwater_runtime.wire.messages.unregister_broker_request import UnregisterBrokerRequest

    orders = with_isr_of_leader(cluster)
    assert orders.ask(UnregisterBrokerRequest(broker_id=1)).error_code == ErrorCode.NONE

    assert orders.propose([0, 1], [orders.image.brokers[0].epoch, 5]).error_code == ErrorCode.INELIGIBLE_REPLICA
    assert handled(orders).registered_epochs[1] == -1


def test_members_that_stay_are_checked_as_well(orders: Any) -> None:
    orders.propose([0, 1])
    assert orders.propose([0, 1], [orders.image.brokers[0].epoch, 1]).error_code == ErrorCode.INELIGIBLE_REPLICA


# --- Order and kinds of refusals ----------------------------------------------------------------------------------


def test_a_leader_of_an_earlier_life_is_refused_as_a_whole(orders: Any) -> None:
    request = orders.proposal([0, 1])
    request.broker_epoch -= 1

    response = orders.ask(request)

    assert response.error_code == ErrorCode.STALE_BROKER_EPOCH
    assert response.topics == []
    assert handled(orders).reason == "STALE_BROKER_EPOCH"


def test_a_leader_that_is_not_registered_is_refused_as_a_whole(orders: Any) -> None:
    assert orders.ask(orders.proposal([0, 1], sender=9)).error_code == ErrorCode.STALE_BROKER_EPOCH


def test_an_unknown_topic_and_an_unknown_partition(orders: Any) -> None:
    request = orders.proposal([0, 1], partition_index=7)
    request.topics.append(TopicData(topic_id=UUID(int=99), partitions=[PartitionData(partition_index=0)]))

    response = orders.ask(request)

    assert response.topics[0].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert response.topics[1].partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"leader_epoch": 5}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 5}, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"sender": 1}, ErrorCode.INVALID_REQUEST),
        ({"partition_epoch": 0}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"isr": []}, ErrorCode.INVALID_REQUEST),
        ({"isr": [0, 1, 1]}, ErrorCode.INVALID_REQUEST),
        ({"isr": [0, 2]}, ErrorCode.INVALID_REQUEST),
        ({"isr": [1]}, ErrorCode.INVALID_REQUEST),
        ({"leader_recovery_state": 1}, ErrorCode.INVALID_REQUEST),
        ({"leader_recovery_state": 7}, ErrorCode.INVALID_REQUEST),
        # The first rule that is broken is the answer: a fenced leader epoch before an impossible ISR, and so on.
        ({"leader_epoch": -1, "isr": []}, ErrorCode.FENCED_LEADER_EPOCH),
        ({"leader_epoch": 5, "partition_epoch": 0}, ErrorCode.NOT_CONTROLLER),
        ({"partition_epoch": 0, "isr": [1]}, ErrorCode.INVALID_UPDATE_VERSION),
        ({"isr": [0, 2], "epochs": [-1, 1]}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_refusals(orders: Any, changes: dict[str, Any], error: ErrorCode) -> None:
    before = orders.partition()
    isr = changes.pop("isr", [0, 1])

    result = orders.propose(isr, changes.pop("epochs", None), **changes)

    assert ErrorCode(result.error_code) is error
    assert orders.partition() == before
    assert handled(orders).reason == error.name


def test_one_partition_twice_in_a_request_changes_once(orders: Any) -> None:
    request = orders.proposal([0, 1])
    request.topics[0].partitions.append(orders.proposal([0]).topics[0].partitions[0])

    response = orders.ask(request)

    errors = [partition.error_code for partition in response.topics[0].partitions]
    assert errors == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
    assert orders.partition().isr == (0, 1)


# --- Retries ------------------------------------------------------------------------------------------------------


def test_a_retry_is_answered_with_the_current_state_and_changes_nothing(orders: Any) -> None:
    request = orders.proposal([0, 1])
    first = orders.ask(request).topics[0].partitions[0]
    after = orders.partition()

    again = orders.ask(request).topics[0].partitions[0]

    assert again == first
    assert orders.partition() == after
    assert handled(orders).metadata_offset == -1


def test_a_retry_that_is_not_the_present_state_is_too_late(orders: Any) -> None:
    request = orders.proposal([0, 1])
    orders.ask(request)
    orders.propose([0])

    result = orders.ask(request).topics[0].partitions[0]

    assert result.error_code == ErrorCode.INVALID_UPDATE_VERSION
    assert orders.partition().isr == (0,)


# --- Epochs and reassignment --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "bump"), [(MetadataVersion.IBP_3_5_IV2, 1), (MetadataVersion.IBP_3_6_IV0, 0)])
def test_a_shrink_bumps_the_leader_epoch_only_below_3_6(
    make_cluster: Callable[..., Any], level: MetadataVersion, bump: int
) -> None:
    cluster = make_cluster(metadata_version=level)
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])
    before = cluster.partition()

    result = cluster.propose([0])

    assert result.leader_epoch == before.leader_epoch + bump
    assert result.partition_epoch == before.partition_epoch + 1


def test_the_isr_that_completes_a_reassignment_may_end_the_leadership(orders: Any) -> None:
    orders.ask(
        AlterPartitionReassignmentsRequest(
            topics=[
                ReassignableTopic(name="orders", partitions=[ReassignablePartition(partition_index=0, replicas=[1, 2])])
            ]
        )
    )
    assert orders.partition().replicas == (1, 2, 0)

    assert orders.propose([0, 1]).error_code == ErrorCode.NONE
    assert orders.partition().reassigning

    result = orders.propose([0, 1, 2])

    assert result.error_code == ErrorCode.NEW_LEADER_ELECTED
    after = orders.partition()
    assert (after.replicas, after.isr, after.leader, after.reassigning) == ((1, 2), (1, 2), 1, False)
    assert handled(orders).metadata_offset == orders.image.offset


def test_a_request_without_topics_is_answered(orders: Any) -> None:
    broker = orders.image.brokers[0]
    response = orders.ask(AlterPartitionRequest(broker_id=0, broker_epoch=broker.epoch, topics=[]))
    assert (response.error_code, response.topics) == (ErrorCode.NONE, [])
