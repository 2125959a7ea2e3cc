"""Topics: creation, deletion, more partitions, with Kafka's refusals."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from highwater_runtime.ports.trace import PartitionChanged
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.create_partitions_request import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState


@pytest.fixture
def three(cluster: Any) -> Any:
    """Brokers 0, 1 and 2, alive."""
    cluster.up(0, 1, 2)
    return cluster


def topic(name: str, **fields: Any) -> CreatableTopic:
    return CreatableTopic(name=name, **{"num_partitions": 1, "replication_factor": 1, **fields})


def by_hand(name: str, *assignment: tuple[int, list[int]]) -> CreatableTopic:
    return topic(
        name,
        num_partitions=-1,
        replication_factor=-1,
        assignments=[CreatableReplicaAssignment(partition_index=i, broker_ids=r) for i, r in assignment],
    )


def create(cluster: Any, *topics: CreatableTopic, validate_only: bool = False) -> Any:
    return cluster.ask(CreateTopicsRequest(topics=list(topics), validate_only=validate_only)).topics


def test_a_topic_by_hand_has_the_first_live_replica_as_leader(three: Any) -> None:
    three.silence(0)

    result = create(three, by_hand("orders", (0, [0, 1]), (1, [2, 0])))[0]

    assert (result.error_code, result.num_partitions, result.replication_factor) == (ErrorCode.NONE, 2, 2)
    assert three.image.topics_by_name["orders"].id == result.topic_id
    first, second = three.partition(), three.partition(index=1)
    assert (first.replicas, first.isr, first.leader) == ((0, 1), (1,), 1)
    assert (second.replicas, second.isr, second.leader) == ((2, 0), (2,), 2)
    assert (first.leader_epoch, first.partition_epoch) == (0, 0)
    events = three.trace.of(PartitionChanged)
    assert [(e.partition, e.reason, e.topic_id) for e in events] == [
        ("orders-0", "created", result.topic_id.hex),
        ("orders-1", "created", result.topic_id.hex),
    ]


def test_placement_stripes_leaders_and_followers_over_the_live_brokers(three: Any) -> None:
    create(three, topic("orders", num_partitions=6, replication_factor=2))

    replicas = [three.partition(index=i).replicas for i in range(6)]
    assert replicas == [(0, 1), (1, 2), (2, 0), (0, 2), (1, 0), (2, 1)]
    assert all(three.partition(index=i).isr == replicas[i] for i in range(6))


def test_the_next_topic_begins_where_the_last_one_ended(three: Any) -> None:
    create(three, topic("a"), topic("b"))
    create(three, topic("c"))
    assert [three.partition(name).leader for name in "abc"] == [0, 1, 2]


def test_fenced_brokers_are_placed_last_and_stay_out_of_the_isr(three: Any) -> None:
    three.silence(0)
    create(three, topic("orders", num_partitions=2, replication_factor=3))
    assert [three.partition(index=i).replicas for i in range(2)] == [(1, 2, 0), (2, 1, 0)]
    assert three.partition().isr == (1, 2)


def test_defaults_come_from_the_configuration(three: Any) -> None:
    result = create(three, topic("orders", num_partitions=-1, replication_factor=-1))[0]
    assert (result.num_partitions, result.replication_factor) == (1, 1)


def test_topic_properties_are_kept(three: Any) -> None:
    create(three, topic("orders", configs=[CreatableTopicConfig(name="min.insync.replicas", value="2")]))
    assert three.image.topic_config("orders") == {"min.insync.replicas": "2"}


def test_validate_only_changes_nothing(three: Any) -> None:
    end = three.quorum.log_end_offset
    result = create(three, topic("orders"), validate_only=True)[0]
    assert (result.error_code, result.num_partitions) == (ErrorCode.NONE, 1)
    assert three.quorum.log_end_offset == end


@pytest.mark.parametrize(
    ("asked", "error"),
    [
        (topic("orders", num_partitions=0), ErrorCode.INVALID_PARTITIONS),
        (topic("orders", replication_factor=0), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic("orders", replication_factor=4), ErrorCode.INVALID_REPLICATION_FACTOR),
        (topic(""), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic(".."), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("a b"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("x" * 250), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("__cluster_metadata"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (topic("there"), ErrorCode.TOPIC_ALREADY_EXISTS),
        (topic("has_dots"), ErrorCode.INVALID_TOPIC_EXCEPTION),
        (by_hand("orders", (0, [])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand("orders", (0, [0, 0])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand("orders", (0, [0, 9])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand("orders", (0, [0]), (1, [0, 1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand("orders", (0, [0]), (0, [1])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (by_hand("orders", (1, [0])), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (
            topic("orders", assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[0])]),
            ErrorCode.INVALID_REQUEST,
        ),
        (topic("orders", num_partitions=2**31 - 1), ErrorCode.POLICY_VIOLATION),
        (topic("orders", configs=[CreatableTopicConfig(name="colour", value="red")]), ErrorCode.INVALID_CONFIG),
        (topic("orders", configs=[CreatableTopicConfig(name="retention.ms", value=None)]), ErrorCode.INVALID_CONFIG),
    ],
)
def test_topics_that_are_refused(three: Any, asked: CreatableTopic, error: ErrorCode) -> None:
    create(three, topic("there"), topic("has.dots"))
    end = three.quorum.log_end_offset

    result = create(three, asked)[0]

    assert ErrorCode(result.error_code) is error
    assert result.error_message
    assert three.quorum.log_end_offset == end


def test_without_a_live_broker_nothing_is_placed(cluster: Any) -> None:
    cluster.register(0)
    assert create(cluster, topic("orders"))[0].error_code == ErrorCode.INVALID_REPLICATION_FACTOR
    assert create(cluster, by_hand("orders", (0, [0])))[0].error_code == ErrorCode.INVALID_REPLICA_ASSIGNMENT


def test_one_refused_topic_does_not_hinder_the_others(three: Any) -> None:
    results = create(three, topic("good"), topic("bad", num_partitions=0), topic("twice"), topic("twice"))
    assert [(r.name, ErrorCode(r.error_code)) for r in results] == [
        ("good", ErrorCode.NONE),
        ("bad", ErrorCode.INVALID_PARTITIONS),
        ("twice", ErrorCode.INVALID_REQUEST),
    ]
    assert list(three.image.topics_by_name) == ["good"]


# --- Deletion -----------------------------------------------------------------------------------------------------


def test_a_topic_is_deleted_by_name_or_by_id(three: Any) -> None:
    create(three, topic("a"), topic("b"))
    topic_id = three.image.topics_by_name["b"].id

    results = three.ask(
        DeleteTopicsRequest(topics=[DeleteTopicState(name="a"), DeleteTopicState(name=None, topic_id=topic_id)])
    ).responses

    assert [(r.name, r.error_code) for r in results] == [("a", 0), ("b", 0)]
    assert three.image.topics_by_name == {}
    assert [(e.partition, e.reason) for e in three.trace.of(PartitionChanged)[-2:]] == [
        ("a-0", "deleted"),
        ("b-0", "deleted"),
    ]


def test_old_clients_delete_by_name(three: Any) -> None:
    create(three, topic("a"))
    results = three.ask(DeleteTopicsRequest(topic_names=["a", "b"]), version=5).responses
    assert [r.error_code for r in results] == [ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_deletions_that_are_refused(three: Any) -> None:
    create(three, topic("a"))
    topic_id = three.image.topics_by_name["a"].id
    states = [
        DeleteTopicState(name="unknown"),
        DeleteTopicState(name=None, topic_id=UUID(int=5)),
        DeleteTopicState(name=None),
        DeleteTopicState(name="a", topic_id=topic_id),
        DeleteTopicState(name="a"),
        DeleteTopicState(name=None, topic_id=topic_id),
    ]
    results = three.ask(DeleteTopicsRequest(topics=states)).responses
    assert [ErrorCode(r.error_code) for r in results] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]


# --- More partitions ----------------------------------------------------------------------------------------------


def more(cluster: Any, name: str, count: int, assignments: list[list[int]] | None = None, **fields: Any) -> Any:
    by_hand = None if assignments is None else [CreatePartitionsAssignment(broker_ids=r) for r in assignments]
    asked = CreatePartitionsTopic(name=name, count=count, assignments=by_hand)
    return cluster.ask(CreatePartitionsRequest(topics=[asked], **fields)).results[0]


def test_partitions_are_added_with_the_same_replication_factor(three: Any) -> None:
    create(three, topic("orders", replication_factor=2))

    assert more(three, "orders", 3).error_code == ErrorCode.NONE
    assert more(three, "orders", 4, [[2, 1]]).error_code == ErrorCode.NONE

    partitions = three.image.topics_by_name["orders"].partitions
    assert sorted(partitions) == [0, 1, 2, 3]
    assert all(len(partition.replicas) == 2 for partition in partitions.values())
    assert partitions[3].replicas == (2, 1)


@pytest.mark.parametrize(
    ("name", "count", "assignments", "error"),
    [
        ("orders", 1, None, ErrorCode.INVALID_PARTITIONS),
        ("orders", 0, None, ErrorCode.INVALID_PARTITIONS),
        ("unknown", 2, None, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 3, [[0]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("orders", 2, [[0, 1]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("orders", 2, [[9]], ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        ("orders", 2**31 - 1, None, ErrorCode.POLICY_VIOLATION),
    ],
)
def test_partitions_that_are_refused(
    three: Any, name: str, count: int, assignments: list[list[int]] | None, error: ErrorCode
) -> None:
    create(three, topic("orders"))
    assert ErrorCode(more(three, name, count, assignments).error_code) is error
    assert sorted(three.image.topics_by_name["orders"].partitions) == [0]


def test_the_topics_of_one_request_have_at_most_so_many_partitions_together(three: Any) -> None:
    results = create(three, topic("a", num_partitions=6000), topic("b", num_partitions=6000), topic("c"))
    assert [ErrorCode(r.error_code) for r in results] == [ErrorCode.NONE, ErrorCode.POLICY_VIOLATION, ErrorCode.NONE]
    assert more(three, "a", 16_001).error_code == ErrorCode.POLICY_VIOLATION


def test_adding_partitions_can_be_tried_out(three: Any) -> None:
    create(three, topic("orders"))
    assert more(three, "orders", 2, validate_only=True).error_code == ErrorCode.NONE
    assert sorted(three.image.topics_by_name["orders"].partitions) == [0]
