"""Elections on request, the return to preferred leaders, reassignments; the rules of the partition change itself."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from msgspec import structs

from highwater_runtime.controller.partition_change import (
    Election,
    PartitionTarget,
    change_partition,
    reassign,
    revert_reassignment,
)
from highwater_runtime.metadata import NO_LEADER, MetadataVersion, PartitionRegistration
from highwater_runtime.metadata.image import merge_partition_change
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.list_partition_reassignments_request import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)

# --- The partition change -----------------------------------------------------------------------------------------

P = PartitionRegistration(replicas=(0, 1, 2), isr=(0, 1, 2), leader=0, leader_epoch=4, partition_epoch=9)


def changed(
    partition: PartitionRegistration,
    target: PartitionTarget | None = None,
    *,
    alive: tuple[int, ...] = (0, 1, 2, 3),
    version: MetadataVersion = MetadataVersion.IBP_3_6_IV0,
    election: Election = Election.ONLINE,
) -> PartitionRegistration:
    record = change_partition(
        partition,
        PartitionTarget.keep(partition) if target is None else target,
        topic_id=UUID(int=1),
        index=0,
        may_lead=lambda replica: replica in alive,
        metadata_version=version,
        election=election,
    )
    return partition if record is None else merge_partition_change(partition, record)


def test_nothing_to_do_is_no_record() -> None:
    assert changed(P) is P


def test_the_leader_stays_while_it_may_and_is_in_the_isr() -> None:
    shrunk = changed(P, replace(PartitionTarget.keep(P), isr=(0,)))
    assert (shrunk.leader, shrunk.leader_epoch, shrunk.partition_epoch) == (0, 4, 10)


def test_the_next_in_assignment_order_that_is_alive_and_in_the_isr_leads() -> None:
    elected = changed(structs.replace(P, isr=(0, 2, 1)), alive=(1, 2))
    assert (elected.leader, elected.leader_epoch) == (1, 5)
    assert changed(structs.replace(P, isr=(0, 2)), alive=(1, 2)).leader == 2


def test_without_a_live_member_of_the_isr_there_is_no_leader() -> None:
    orphan = changed(structs.replace(P, isr=(0,)), alive=(1, 2))
    assert (orphan.leader, orphan.isr, orphan.leader_epoch) == (NO_LEADER, (0,), 5)
    assert changed(orphan, alive=(1, 2)) is orphan


def test_the_last_member_never_leaves_the_isr() -> None:
    last = structs.replace(P, isr=(0,))
    emptied = changed(last, replace(PartitionTarget.keep(last), isr=()))
    assert (emptied.isr, emptied.leader) == ((0,), NO_LEADER)
    for version in (MetadataVersion.IBP_3_5_IV2, MetadataVersion.IBP_3_6_IV0):
        assert changed(emptied, replace(PartitionTarget.keep(emptied), isr=()), version=version) is emptied


def test_a_preferred_election_goes_to_the_first_replica_if_it_is_fit() -> None:
    led_by_2 = structs.replace(P, leader=2)
    assert changed(led_by_2, election=Election.PREFERRED).leader == 0
    assert changed(led_by_2, alive=(1, 2), election=Election.PREFERRED) is led_by_2
    assert changed(led_by_2) is led_by_2


def test_the_leader_epoch_is_bumped_when_a_replica_leaves_the_assignment() -> None:
    moving = structs.replace(P, replicas=(0, 1, 2), removing_replicas=(2,))
    done = changed(moving)
    assert (done.replicas, done.isr, done.leader, done.leader_epoch) == ((0, 1), (0, 1), 0, 5)


def test_below_3_6_the_leader_epoch_is_bumped_when_a_replica_leaves_the_isr() -> None:
    target = replace(PartitionTarget.keep(P), isr=(0, 1))
    assert changed(P, target, version=MetadataVersion.IBP_3_5_IV2).leader_epoch == 5
    grown = structs.replace(P, isr=(0,))
    assert (
        changed(grown, replace(PartitionTarget.keep(grown), isr=(0, 1)), version=MetadataVersion(7)).leader_epoch == 4
    )


def test_a_reassignment_needs_all_that_it_adds_in_the_isr() -> None:
    begun = changed(P, reassign(P, (3, 1)))
    assert (begun.replicas, begun.adding_replicas, begun.removing_replicas) == ((3, 1, 0, 2), (3,), (0, 2))
    assert begun.leader_epoch == P.leader_epoch

    done = changed(begun, replace(PartitionTarget.keep(begun), isr=(0, 1, 2, 3)))
    assert (done.replicas, done.isr, done.leader, done.reassigning) == ((3, 1), (1, 3), 3, False)


def test_a_reassignment_needs_the_replicas_that_stay_in_the_isr_too() -> None:
    """KAFKA-15665. Those that leave may hold what was committed before; nobody else may have it."""
    shrunk = structs.replace(P, isr=(0,))
    begun = changed(shrunk, reassign(shrunk, (1, 2, 3)))
    joined = changed(begun, replace(PartitionTarget.keep(begun), isr=(0, 3)))
    assert (joined.replicas, joined.isr, joined.leader) == ((1, 2, 3, 0), (0, 3), 0)
    assert joined.reassigning

    done = changed(joined, replace(PartitionTarget.keep(joined), isr=(0, 3, 1, 2)))
    assert (done.replicas, done.isr, done.leader, done.reassigning) == ((1, 2, 3), (3, 1, 2), 1, False)


def test_a_reassignment_that_only_removes_needs_those_that_stay_in_the_isr() -> None:
    shrunk = structs.replace(P, isr=(0, 1))
    assert changed(shrunk, reassign(shrunk, (0, 2))).reassigning, "2 is not in sync"
    done = changed(shrunk, reassign(shrunk, (0, 1)))
    assert (done.replicas, done.isr, done.reassigning) == ((0, 1), (0, 1), False)


def test_a_redirected_reassignment_still_adds_what_it_was_adding() -> None:
    begun = changed(P, reassign(P, (0, 3)))
    redirected = changed(begun, reassign(begun, (3, 0, 1)))
    assert redirected.replicas == (3, 0, 1, 2)
    assert (redirected.adding_replicas, redirected.removing_replicas) == ((3,), (2,))


def test_a_redirected_reassignment_is_taken_back_without_all_that_was_added() -> None:
    begun = changed(P, reassign(P, (0, 1, 3)))
    redirected = changed(begun, reassign(begun, (4, 1)))
    target = revert_reassignment(redirected)
    assert target is not None
    assert sorted(changed(redirected, target).replicas) == [0, 1, 2]


def test_a_replica_that_is_named_again_after_a_redirection_must_still_join_the_isr() -> None:
    begun = changed(P, reassign(P, (0, 1, 3)))
    redirected = changed(begun, reassign(begun, (4, 1)))
    assert (redirected.replicas, redirected.adding_replicas) == ((4, 1, 0, 3, 2), (4, 3))

    named_again = changed(redirected, reassign(redirected, (1, 3)))
    assert named_again.reassigning, "3 has not been in sync yet"
    in_sync = replace(PartitionTarget.keep(named_again), isr=(0, 1, 2, 3))
    assert changed(named_again, in_sync).replicas == (1, 3)


def test_a_reassignment_that_is_redirected_to_where_it_began_is_over() -> None:
    begun = changed(P, reassign(P, (0, 1, 3)))
    back = changed(begun, reassign(begun, P.replicas))
    assert (back.replicas, back.isr, back.reassigning) == (P.replicas, P.isr, False)


def test_a_reassignment_is_taken_back_without_what_it_had_added() -> None:
    begun = structs.replace(changed(P, reassign(P, (3, 1))), isr=(3, 1))
    target = revert_reassignment(begun)
    assert target is not None
    back = changed(begun, target)
    assert (back.replicas, back.isr, back.reassigning) == ((1, 0, 2), (1,), False)
    assert revert_reassignment(structs.replace(begun, isr=(3,))) is None


# --- Requests -----------------------------------------------------------------------------------------------------


@pytest.fixture
def orders(cluster: Any) -> Any:
    """orders-0 on 0, 1, 2; broker 0 was away, so 1 leads; all are in the ISR again."""
    cluster.up(0, 1, 2, 3)
    cluster.create_topic("orders", [0, 1, 2])
    cluster.silence(0)
    assert cluster.partition().leader == 1
    cluster.up(0, incarnation=2)
    cluster.propose([1, 2, 0])
    return cluster


def elect(cluster: Any, *partitions: int, topic: str = "orders", election_type: int = 0) -> Any:
    asked = [TopicPartitions(topic=topic, partitions=list(partitions))]
    return cluster.ask(ElectLeadersRequest(election_type=election_type, topic_partitions=asked))


def errors(response: Any) -> list[ErrorCode]:
    return [ErrorCode(p.error_code) for r in response.replica_election_results for p in r.partition_result]


def test_a_preferred_election_on_request(orders: Any) -> None:
    before = orders.partition()
    assert errors(elect(orders, 0)) == [ErrorCode.NONE]
    assert (orders.partition().leader, orders.partition().leader_epoch) == (0, before.leader_epoch + 1)
    assert errors(elect(orders, 0)) == [ErrorCode.ELECTION_NOT_NEEDED]


def test_elections_that_cannot_be(orders: Any) -> None:
    orders.propose([1, 2])
    assert errors(elect(orders, 0, 5)) == [
        ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert errors(elect(orders, 0, topic="unknown")) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert errors(elect(orders, 0, 5, election_type=1)) == [
        ErrorCode.ELECTION_NOT_NEEDED,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]
    assert elect(orders, 0, election_type=2).error_code == ErrorCode.INVALID_REQUEST
    assert orders.partition().leader == 1


def test_nobody_from_outside_the_isr_is_elected_even_where_nobody_leads(cluster: Any) -> None:
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])
    cluster.propose([0])
    cluster.silence(0)
    assert cluster.partition().leader == -1
    assert errors(elect(cluster, 0, election_type=1)) == [ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE]
    assert cluster.partition().leader == -1


def test_electing_for_all_partitions_reports_only_those_that_needed_it(orders: Any) -> None:
    orders.create_topic("fine", [1, 2])
    response = orders.ask(ElectLeadersRequest(election_type=0, topic_partitions=None))
    assert [(r.topic, len(r.partition_result)) for r in response.replica_election_results] == [("orders", 1)]
    assert orders.partition().leader == 0


def test_leaders_return_to_the_preferred_replica_by_themselves(make_cluster: Callable[..., Any]) -> None:
    cluster = make_cluster(properties={"leader.imbalance.check.interval.ms": 60_000})
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])
    cluster.silence(0)
    cluster.up(0, incarnation=2)
    cluster.propose([1, 0])
    assert cluster.partition().leader == 1

    for _ in range(20):
        cluster.pass_ms(3000)
        for broker in (0, 1):
            cluster.heartbeat(broker)
    assert cluster.partition().leader == 0


def test_the_return_can_be_switched_off(make_cluster: Callable[..., Any]) -> None:
    cluster = make_cluster(
        properties={
            "leader.imbalance.check.interval.ms": 1000,
            "auto.leader.rebalance.enable": False,
            "broker.session.timeout.ms": 9000,
        }
    )
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])
    cluster.silence(0)
    cluster.up(0, incarnation=2)
    cluster.propose([1, 0])
    cluster.pass_ms(5000)
    assert cluster.partition().leader == 1


def test_a_topic_that_comes_to_allow_an_unclean_election_gets_a_leader(make_cluster: Callable[..., Any]) -> None:
    cluster = make_cluster(
        properties={"leader.imbalance.check.interval.ms": 60_000, "auto.leader.rebalance.enable": False}
    )
    cluster.up(0, 1)
    cluster.create_topic("orders", [0, 1])
    cluster.propose([0])
    cluster.silence(0)
    setting = AlterableConfig(name="unclean.leader.election.enable", config_operation=0, value="true")
    resource = AlterConfigsResource(resource_type=2, resource_name="orders", configs=[setting])
    assert cluster.ask(IncrementalAlterConfigsRequest(resources=[resource])).responses[0].error_code == 0
    assert cluster.partition().leader == -1
    for _ in range(20):
        cluster.pass_ms(3000)
        cluster.heartbeat(1)
    assert (cluster.partition().leader, cluster.partition().isr) == (1, (1,))


def reassignment(cluster: Any, replicas: list[int] | None, *, name: str = "orders") -> ErrorCode:
    asked = ReassignableTopic(name=name, partitions=[ReassignablePartition(partition_index=0, replicas=replicas)])
    response = cluster.ask(AlterPartitionReassignmentsRequest(topics=[asked]))
    return ErrorCode(response.responses[0].partitions[0].error_code)


def test_a_reassignment_from_beginning_to_end(orders: Any) -> None:
    assert reassignment(orders, [3, 1]) is ErrorCode.NONE
    listed = orders.ask(ListPartitionReassignmentsRequest(topics=None)).topics
    assert [(t.name, p.replicas, p.adding_replicas, p.removing_replicas) for t in listed for p in t.partitions] == [
        ("orders", [3, 1, 0, 2], [3], [0, 2])
    ]

    assert orders.propose([1, 2, 0, 3]).error_code == ErrorCode.NONE

    done = orders.partition()
    assert (done.replicas, done.isr, done.leader, done.reassigning) == ((3, 1), (1, 3), 1, False)
    named = [ListPartitionReassignmentsTopics(name="orders", partition_indexes=[0])]
    assert orders.ask(ListPartitionReassignmentsRequest(topics=named)).topics == []


def test_a_reassignment_taken_back(orders: Any) -> None:
    before = orders.partition()
    assert reassignment(orders, None) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    reassignment(orders, [1, 2, 3])
    assert reassignment(orders, None) is ErrorCode.NONE
    after = orders.partition()
    assert (set(after.replicas), after.isr, after.reassigning) == (set(before.replicas), before.isr, False)


def test_reassignments_that_are_refused(orders: Any) -> None:
    assert reassignment(orders, [0, 9]) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassignment(orders, []) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassignment(orders, [0, 0]) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassignment(orders, [0], name="unknown") is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    twice = [
        ReassignableTopic(name="orders", partitions=[ReassignablePartition(partition_index=0, replicas=[1, 2])] * 2)
    ]
    response = orders.ask(AlterPartitionReassignmentsRequest(topics=twice))
    assert [p.error_code for p in response.responses[0].partitions] == [ErrorCode.NONE, ErrorCode.INVALID_REQUEST]
