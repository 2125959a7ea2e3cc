"""Administration by requests: judged as in KRaft mode, written as nodes, answered when done."""

from __future__ import annotations

from typing import Any

from recording_brokers import Cluster

from highwater_runtime.config import NodeConfig
from highwater_runtime.metadata.znodes import (
    CONFIG_CHANGES,
    DELETE_TOPICS,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    ConfigNode,
    decode_node,
    topic_config_path,
    topic_path,
)
from highwater_runtime.ports.coordination import Children, Create, Get, Set
from highwater_runtime.wire.errors import ErrorCode
from highwater_runtime.wire.messages.alter_partition_reassignments_request import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from highwater_runtime.wire.messages.controlled_shutdown_request import ControlledShutdownRequest
from highwater_runtime.wire.messages.create_partitions_request import CreatePartitionsRequest, CreatePartitionsTopic
from highwater_runtime.wire.messages.create_topics_request import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from highwater_runtime.wire.messages.delete_topics_request import DeleteTopicsRequest, DeleteTopicState
from highwater_runtime.wire.messages.elect_leaders_request import ElectLeadersRequest, TopicPartitions
from highwater_runtime.wire.messages.incremental_alter_configs_request import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from highwater_runtime.wire.messages.list_partition_reassignments_request import ListPartitionReassignmentsRequest
from highwater_runtime.wire.messages.stop_replica_request import StopReplicaRequest


def create(c: Cluster, *topics: CreatableTopic, timeout_ms: int = 10_000, of: int | None = None) -> list[ErrorCode]:
    response = c.ask(CreateTopicsRequest(topics=list(topics), timeout_ms=timeout_ms), 7, of)
    return [ErrorCode(topic.error_code) for topic in response.topics]


def topic(name: str, partitions: int = 3, factor: int = 3, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=factor,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def by_hand(name: str, *replicas: list[int]) -> CreatableTopic:
    assignments = [CreatableReplicaAssignment(partition_index=i, broker_ids=r) for i, r in enumerate(replicas)]
    return CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)


def reassign(c: Cluster, name: str, replicas: list[int] | None, partition: int = 0) -> ErrorCode:
    one = ReassignablePartition(partition_index=partition, replicas=replicas)
    request = AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=name, partitions=[one])])
    return ErrorCode(c.ask(request, 0).responses[0].partitions[0].error_code)


def test_topics_are_created_and_led_when_the_answer_comes() -> None:
    c = Cluster().up()
    assert create(c, topic("orders", retention_ms="1000"), topic("bad", factor=4), topic("a b")) == [
        ErrorCode.NONE,
        ErrorCode.INVALID_REPLICATION_FACTOR,
        ErrorCode.INVALID_TOPIC_EXCEPTION,
    ]
    assert all(c.leader_and_isr("orders", partition)[0] >= 0 for partition in range(3))
    node = c.must(c.told, Get(topic_config_path("orders")))
    assert decode_node(ConfigNode, "", node.data).config == {"retention.ms": "1000"}
    assert create(c, topic("orders")) == [ErrorCode.TOPIC_ALREADY_EXISTS]


def test_only_the_controller_serves() -> None:
    c = Cluster().up()
    other = next(number for number in range(3) if number != c.controllers[0])
    assert create(c, topic("orders"), of=other) == [ErrorCode.NOT_CONTROLLER]


def test_a_controller_that_is_deposed_refuses_what_waits() -> None:
    c = Cluster().up()
    answers: list[Any] = []
    controller = c.controller()
    victim = next(number for number in range(3) if number != controller.node_id)
    assert create(c, by_hand("orders", [victim, controller.node_id])) == [ErrorCode.NONE]
    c.sim.kill(c.brokers[victim])
    c.settle(3000)
    observer = c.client(c.observer)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=60_000)
    from highwater_runtime.ports import Endpoint

    observer.ports.network.send(Endpoint(controller.name, 1), request, 6, answers.append, timeout_ns=10**11)
    c.settle()
    assert not answers, "a dead broker has a replica"
    controller.controller.close()
    c.settle()
    assert [one.error_code for one in answers[0].responses] == [int(ErrorCode.NOT_CONTROLLER)]


def test_topics_are_deleted() -> None:
    c = Cluster().up()
    create(c, topic("orders"))
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name="orders"), DeleteTopicState(name="none")], timeout_ms=10_000
    )
    codes = [one.error_code for one in c.ask(request, 6).responses]
    assert codes == [int(ErrorCode.NONE), int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)]
    assert not c.exists(topic_path("orders"))
    assert not c.exists(topic_config_path("orders"))
    assert create(c, topic("orders")) == [ErrorCode.NONE]


def test_a_deletion_that_takes_too_long_goes_on() -> None:
    c = Cluster().up()
    victim = next(number for number in range(3) if number != c.controllers[0])
    create(c, topic("orders"))
    c.sim.kill(c.brokers[victim])
    c.settle(3000)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=500)
    assert [one.error_code for one in c.ask(request, 6).responses] == [int(ErrorCode.REQUEST_TIMED_OUT)]
    assert c.exists(f"{DELETE_TOPICS}/orders")
    assert create(c, topic("orders")) == [ErrorCode.TOPIC_ALREADY_EXISTS]


def test_partitions_are_added() -> None:
    c = Cluster().up()
    create(c, topic("orders", partitions=1, factor=2))
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="orders", count=3, assignments=None)], timeout_ms=10_000
    )
    assert [one.error_code for one in c.ask(request, 3).results] == [0]
    assert sorted(c.assignment("orders").partitions) == [0, 1, 2]
    assert all(c.leader_and_isr("orders", partition)[0] >= 0 for partition in range(3))
    assert [one.error_code for one in c.ask(request, 3).results] == [int(ErrorCode.INVALID_PARTITIONS)]


def test_partitions_are_added_behind_the_last_where_others_were_removed() -> None:
    c = Cluster().up()
    create(c, topic("orders", partitions=3, factor=2))
    c.do(c.told, Create(f"{PARTITIONS_REMOVE}/orders"))
    c.must(c.told, Create(f"{PARTITIONS_REMOVE}/orders/0"))
    c.settle()
    assert sorted(c.assignment("orders").partitions) == [1, 2]
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="orders", count=4, assignments=None)], timeout_ms=10_000
    )
    assert [one.error_code for one in c.ask(request, 3).results] == [0]
    assert {index: len(replicas) for index, replicas in c.assignment("orders").partitions.items()} == {
        1: 2,
        2: 2,
        3: 2,
        4: 2,
    }


def test_a_move_is_asked_for_listed_and_taken_back() -> None:
    c = Cluster().up()
    create(c, by_hand("orders", [0, 1]))
    assert reassign(c, "orders", [1, 9]) is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reassign(c, "orders", None) is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    assert reassign(c, "orders", [1, 2]) is ErrorCode.NONE
    listed = c.ask(ListPartitionReassignmentsRequest(topics=None), 0).topics[0].partitions[0]
    assert (listed.replicas, listed.adding_replicas, listed.removing_replicas) == ([1, 2, 0], [2], [0])
    assert reassign(c, "orders", [2, 0]) is ErrorCode.NONE, "it may be sent elsewhere"
    assert c.assignment("orders").partitions == {0: (2, 0, 1)}
    assert reassign(c, "orders", None) is ErrorCode.NONE
    assert sorted(c.assignment("orders").partitions[0]) == [0, 1]
    assert not c.exists(f"{PARTITIONS_REASSIGNED}/orders/0")
    assert c.ask(ListPartitionReassignmentsRequest(topics=None), 0).topics == []


def test_leaders_are_elected_on_request() -> None:
    c = Cluster(config=NodeConfig.of({"auto.leader.rebalance.enable": False})).up()
    create(c, by_hand("orders", [0, 1, 2]))
    assert reassign(c, "orders", [1, 0, 2]) is ErrorCode.NONE
    c.settle()
    assert c.leader_and_isr("orders")[0] == 0
    asked = [TopicPartitions(topic="orders", partitions=[0])]
    for code in (ErrorCode.NONE, ErrorCode.ELECTION_NOT_NEEDED):
        response = c.ask(ElectLeadersRequest(election_type=0, topic_partitions=asked), 2)
        assert response.replica_election_results[0].partition_result[0].error_code == code
    assert c.leader_and_isr("orders")[0] == 1
    c.settle()
    assert c.broker(2).hosted["orders", 0].leader == 1


def test_unclean_elections_on_request() -> None:
    for switch, code in (("off", ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE), ("on", ErrorCode.ELECTION_NOT_NEEDED)):
        c = Cluster(unclean_leader_election=switch).up()
        first, second = (number for number in range(3) if number != c.controllers[0])
        create(c, by_hand("orders", [first, second]))
        c.settle()
        c.write_isr("orders", (first,))
        c.settle()
        c.sim.kill(c.brokers[first])
        c.settle(3000)
        asked = [TopicPartitions(topic="orders", partitions=[0])]
        response = c.ask(ElectLeadersRequest(election_type=1, topic_partitions=asked), 2)
        assert response.replica_election_results[0].partition_result[0].error_code == code
        assert c.leader_and_isr("orders") == ((-1, (first,)) if switch == "off" else (second, (second,)))


def test_a_broker_that_shuts_down_leads_nothing_more() -> None:
    c = Cluster().up()
    victim = next(number for number in range(3) if number != c.controllers[0])
    others = [number for number in range(3) if number != victim]
    create(c, by_hand("orders", [victim, others[0]], [others[0], victim]), by_hand("single", [victim]))
    epoch = c.broker(victim).epoch
    stale = c.ask(ControlledShutdownRequest(broker_id=victim, broker_epoch=epoch - 1), 3)
    assert stale.error_code == ErrorCode.STALE_BROKER_EPOCH
    response = c.ask(ControlledShutdownRequest(broker_id=victim, broker_epoch=epoch), 3)
    assert (response.error_code, response.remaining_partitions) == (0, [])
    assert c.leader_and_isr("orders", 0) == (others[0], (others[0],))
    assert c.leader_and_isr("orders", 1) == (others[0], (others[0],))
    assert c.leader_and_isr("single") == (victim, (victim,)), "there is nobody else"
    c.settle()
    stopped = [request for request in c.broker(victim).received if isinstance(request, StopReplicaRequest)]
    assert [state.delete_partition for r in stopped for t in r.topic_states for state in t.partition_states] == [
        False,
        False,
    ]


def test_a_leader_may_take_in_again_who_shuts_down() -> None:
    """Found by ``campaign random``, seed 3263: the controller took it out at once, without end."""
    c = Cluster().up()
    victim = next(number for number in range(3) if number != c.controllers[0])
    other = next(number for number in range(3) if number != victim)
    create(c, by_hand("orders", [other, victim]))
    c.ask(ControlledShutdownRequest(broker_id=victim), 3)
    assert c.leader_and_isr("orders") == (other, (other,))
    c.write_isr("orders", (other, victim))
    before = c.state("orders")
    c.settle()
    assert c.state("orders") == before
    c.ask(ControlledShutdownRequest(broker_id=victim), 3)
    assert c.leader_and_isr("orders") == (other, (other,)), "it asks once more, as it has not left"


def test_what_nobody_can_take_over_is_left_to_the_broker() -> None:
    c = Cluster().up()
    victim, other = (number for number in range(3) if number != c.controllers[0])
    create(c, by_hand("orders", [victim, other]))
    c.write_isr("orders", (victim,))
    c.settle()
    response = c.ask(ControlledShutdownRequest(broker_id=victim), 3)
    assert [(one.topic_name, one.partition_index) for one in response.remaining_partitions] == [("orders", 0)]
    assert c.leader_and_isr("orders") == (victim, (victim,))


def test_a_topic_that_is_being_deleted_keeps_no_broker_from_shutting_down() -> None:
    """Nor is its replica only stopped: the two commands travel together while a request gets no response."""
    c = Cluster().up()
    victim, dead = (number for number in range(3) if number != c.controllers[0])
    create(c, by_hand("orders", [victim, dead]))
    c.sim.kill(c.brokers[dead])
    c.await_state(victim, (victim,), "orders")
    c.settle()
    c.broker(victim).silent = True
    create(c, by_hand("others", [c.controllers[0]]))
    c.settle()
    c.must(c.told, Create(f"{DELETE_TOPICS}/orders"))
    c.settle()
    assert c.ask(ControlledShutdownRequest(broker_id=victim), 3).remaining_partitions == []
    c.broker(victim).silent = False
    c.settle(35_000)  # the request that got no response is sent again
    assert ("orders", 0) not in c.broker(victim).hosted
    c.sim.start(c.brokers[dead])
    c.settle(5000)
    assert not c.exists(topic_path("orders"))


def test_configurations_are_altered_and_told() -> None:
    c = Cluster().up()
    create(c, topic("orders", retention_ms="1000"))

    def alter(kind: int, name: str, *values: AlterableConfig) -> int:
        resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=list(values))
        code: int = c.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0].error_code
        return code

    assert alter(2, "orders", AlterableConfig(name="min.insync.replicas", value="2")) == 0
    assert alter(2, "orders", AlterableConfig(name="retention.ms", config_operation=1, value=None)) == 0
    node = c.must(c.told, Get(topic_config_path("orders")))
    assert decode_node(ConfigNode, "", node.data).config == {"min.insync.replicas": "2"}
    assert len(c.must(c.told, Children(CONFIG_CHANGES)).names) == 2
    assert alter(2, "orders", AlterableConfig(name="retention.ms", config_operation=1, value=None)) == 0
    assert len(c.must(c.told, Children(CONFIG_CHANGES)).names) == 3, "as in Apache Kafka, also what changes nothing"
    assert alter(2, "none", AlterableConfig(name="retention.ms", value="1")) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert alter(2, "orders", AlterableConfig(name="retention.ms", value="x")) == ErrorCode.INVALID_CONFIG
    assert len(c.must(c.told, Children(CONFIG_CHANGES)).names) == 3, "what is refused is not told"
    assert alter(4, "", AlterableConfig(name="log.retention.ms", value="5000")) == 0
    node = c.must(c.told, Get("/config/brokers/<default>"))
    assert decode_node(ConfigNode, "", node.data).config == {"log.retention.ms": "5000"}


def test_a_configuration_that_cannot_be_read_counts_as_none() -> None:
    """Another client of ZooKeeper has written it. As in Kafka, no controller ends by that."""
    c = Cluster().up()
    create(c, topic("orders", retention_ms="1000"))
    c.must(c.told, Set(topic_config_path("orders"), b"no JSON", 0))
    c.sim.kill(c.brokers[c.controllers[0]])
    c.until(lambda: c.controllers != [], within_ms=10_000)
    assert create(c, topic("payments", factor=2)) == [ErrorCode.NONE]
    value = AlterableConfig(name="min.insync.replicas", value="2")
    resource = AlterConfigsResource(resource_type=2, resource_name="orders", configs=[value])
    assert c.ask(IncrementalAlterConfigsRequest(resources=[resource]), 1).responses[0].error_code == 0
    node = c.must(c.told, Get(topic_config_path("orders")))
    assert decode_node(ConfigNode, "", node.data).config == {"min.insync.replicas": "2"}
