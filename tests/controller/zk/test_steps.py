"""The steps of Detailed Replication Design V3, each against the simulated ensemble."""

from __future__ import annotations

from uuid import UUID

import pytest
from recording_brokers import Cluster

from highwater_runtime.config import NodeConfig
from highwater_runtime.metadata.znodes import (
    DELETE_TOPICS,
    PARTITIONS_ADD,
    PARTITIONS_REASSIGNED,
    PARTITIONS_REMOVE,
    TOPICS,
    ReplicasNode,
    encode_node,
    leader_and_isr_path,
    topic_path,
)
from highwater_runtime.ports.coordination import Children, Create, Delete
from highwater_runtime.wire.messages.leader_and_isr_request import LeaderAndIsrRequest
from highwater_runtime.wire.messages.stop_replica_request import StopReplicaRequest
from highwater_runtime.wire.messages.update_metadata_request import UpdateMetadataRequest

ORDERS = {0: (0, 1, 2), 1: (1, 2, 0), 2: (2, 0, 1)}


def other_than(c: Cluster, *numbers: int) -> int:
    return next(number for number in range(len(c.brokers)) if number not in numbers)


def ask_for(c: Cluster, root: str, topic: str, partition: int, replicas: tuple[int, ...] | None) -> None:
    c.do(c.told, Create(f"{root}/{topic}"))
    data = b"" if replicas is None else encode_node(ReplicasNode(replicas=replicas))
    c.must(c.told, Create(f"{root}/{topic}/{partition}", data))


def test_a_new_topic_gets_leaders_and_everyone_hears_of_it() -> None:
    """B 1."""
    c = Cluster().up()
    c.create("orders", ORDERS)
    for partition, replicas in ORDERS.items():
        c.await_state(replicas[0], replicas, "orders", partition)
    c.settle()
    assert c.assignment("orders").topic_id is not None, "a topic without an id gets one"
    for broker in c.alive:
        assert broker.leaders == {("orders", partition): replicas[0] for partition, replicas in ORDERS.items()}
        assert sorted(broker.hosted) == sorted(broker.leaders)
        assert [request.type for request in broker.lists()] == [2, 1]


def test_without_topic_ids() -> None:
    c = Cluster(topic_ids=False).up()
    c.create("orders", ORDERS)
    c.settle()
    assert c.assignment("orders").topic_id is None
    request = c.broker(0).lists()[-1]
    assert [topic.topic_id for topic in request.topic_states] == [UUID(int=0)]


def test_dead_replicas_are_not_in_the_first_isr() -> None:
    """B, init_leaders 1.1."""
    c = Cluster().up(without=(1,))
    c.create("orders", {0: (1, 0, 2), 1: (1,)})
    c.await_state(0, (0, 2), "orders")
    assert c.state("orders", 1) is None, "no replica lives"
    c.sim.start(c.brokers[1])
    c.await_state(1, (1,), "orders", 1)


def test_a_dead_leader_is_replaced_from_the_isr() -> None:
    """A 3."""
    c = Cluster().up()
    victim = other_than(c, c.controllers[0])
    others = tuple(number for number in (2, 1, 0) if number != victim)
    c.create("orders", {0: (victim, *others)})
    c.await_state(victim, (victim, *others), "orders")
    c.write_isr("orders", (victim, others[1]))
    c.sim.kill(c.brokers[victim])
    c.await_state(others[1], (others[1],), "orders")
    state = c.state("orders")
    assert state is not None
    assert state[0].leader_epoch == 1
    c.settle()
    assert all(broker.leaders["orders", 0] == others[1] for broker in c.alive)
    assert c.broker(others[0]).hosted["orders", 0].leader == others[1], "those that follow hear of it too"


def test_the_last_of_the_isr_stays_in_it_and_returns() -> None:
    c = Cluster().up()
    first, second = (number for number in range(3) if number != c.controllers[0])
    c.create("orders", {0: (first, second)})
    c.await_state(first, (first, second), "orders")
    c.sim.kill(c.brokers[second])
    c.await_state(first, (first,), "orders")
    c.sim.kill(c.brokers[first])
    c.await_state(-1, (first,), "orders")
    c.sim.start(c.brokers[second])
    c.settle(3000)
    assert c.leader_and_isr("orders") == (-1, (first,)), "it may lack committed records"
    c.sim.start(c.brokers[first])
    c.await_state(first, (first,), "orders")


def test_a_broker_that_starts_gets_every_replica_first_and_in_one_list() -> None:
    """Broker startup, and the flag INIT of C 3."""
    c = Cluster().up()
    victim = other_than(c, c.controllers[0])
    c.create("orders", {**ORDERS, 3: tuple(n for n in range(3) if n != victim)})
    c.settle()
    c.sim.kill(c.brokers[victim])
    c.settle(3000)
    c.sim.start(c.brokers[victim])
    c.settle(3000)
    broker = c.broker(victim)
    assert isinstance(broker.received[0], UpdateMetadataRequest)
    assert broker.lists()[0].type == 2
    assert all(request.type == 1 for request in broker.lists()[1:])
    assert sorted(broker.hosted) == [("orders", 0), ("orders", 1), ("orders", 2)]
    assert broker.epoch in {request.broker_epoch for request in broker.received}


def test_a_broker_with_nothing_gets_an_empty_full_list() -> None:
    c = Cluster().up()
    assert [(request.type, request.topic_states) for request in c.broker(0).lists()] == [(2, [])]


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_new_controller_tells_everything(seed: int) -> None:
    """D 3, 4: all that its predecessor may not have said."""
    c = Cluster(seed).up()
    c.create("orders", ORDERS)
    c.settle()
    old = c.controllers[0]
    c.sim.kill(c.brokers[old])
    c.until(lambda: bool(c.controllers))
    c.settle(3000)
    for broker in c.alive:
        assert broker.controller_epoch == 2
        lists = [request for request in broker.lists() if request.controller_epoch == 2]
        assert lists[0].type == 2
        assert len(broker.hosted) == 3
        assert all(leader not in (-1, old) for leader in broker.leaders.values())


def test_a_topic_is_deleted_when_all_replicas_are() -> None:
    """B 2, with /admin/delete_topics."""
    c = Cluster().up()
    c.create("orders", ORDERS)
    c.settle()
    victim = other_than(c, c.controllers[0])
    c.sim.kill(c.brokers[victim])
    c.settle(3000)
    c.must(c.told, Create(f"{DELETE_TOPICS}/orders"))
    c.settle(3000)
    assert c.exists(topic_path("orders")), "a dead broker still has a replica"
    assert all(not broker.hosted and set(broker.leaders.values()) == {-2} for broker in c.alive)
    c.sim.start(c.brokers[victim])
    c.settle(3000)
    assert not c.exists(topic_path("orders"))
    assert not c.exists(f"{DELETE_TOPICS}/orders")
    stopped = [request for request in c.broker(victim).received if isinstance(request, StopReplicaRequest)]
    assert stopped
    assert not c.broker(victim).hosted


def test_a_replica_whose_deletion_is_confirmed_is_not_made_again() -> None:
    """The broker restarts while the topic still waits for another one. Nobody would delete its log a second time."""
    c = Cluster().up()
    c.create("orders", ORDERS)
    c.settle()
    victim = other_than(c, c.controllers[0])
    confirmed = other_than(c, c.controllers[0], victim)
    c.sim.kill(c.brokers[victim])
    c.settle(3000)
    c.must(c.told, Create(f"{DELETE_TOPICS}/orders"))
    c.settle(3000)
    for restarted in (confirmed, victim):
        c.sim.kill(c.brokers[restarted])
        c.settle(3000)
        c.sim.start(c.brokers[restarted])
        c.settle(3000)
    assert not c.exists(topic_path("orders"))
    assert [request.topic_states for request in c.broker(confirmed).lists()] == [[]], "the full list"
    assert not any(broker.hosted for broker in c.alive)


def test_deletion_may_be_forbidden() -> None:
    c = Cluster(config=NodeConfig.of({"delete.topic.enable": False})).up()
    c.create("orders", ORDERS)
    c.settle()
    c.must(c.told, Create(f"{DELETE_TOPICS}/orders"))
    c.settle()
    assert c.exists(topic_path("orders"))
    assert not c.exists(f"{DELETE_TOPICS}/orders")


def test_a_topic_that_somebody_deletes_is_stopped() -> None:
    """B 2 as the document has it: its node vanishes."""
    c = Cluster().up()
    c.create("orders", {0: (0, 1)})
    c.settle()
    for path in (leader_and_isr_path("orders", 0), f"{TOPICS}/orders/0", topic_path("orders")):
        c.must(c.told, Delete(path))
    c.settle()
    assert all(not broker.hosted for broker in c.alive)


def test_partitions_are_added() -> None:
    c = Cluster().up()
    c.create("orders", {0: (0, 1)})
    c.settle()
    ask_for(c, PARTITIONS_ADD, "orders", 1, (1, 2))
    ask_for(c, PARTITIONS_ADD, "orders", 2, (2, 0))
    c.await_state(1, (1, 2), "orders", 1)
    c.await_state(2, (2, 0), "orders", 2)
    c.settle()
    assert c.assignment("orders").partitions == {0: (0, 1), 1: (1, 2), 2: (2, 0)}
    assert c.must(c.told, Children(PARTITIONS_ADD)).names == ()
    assert ("orders", 1) in c.broker(2).hosted


def test_partitions_are_removed() -> None:
    c = Cluster().up()
    c.create("orders", ORDERS)
    c.settle()
    ask_for(c, PARTITIONS_REMOVE, "orders", 1, None)
    c.settle()
    assert sorted(c.assignment("orders").partitions) == [0, 2]
    assert c.state("orders", 1) is None
    assert c.must(c.told, Children(PARTITIONS_REMOVE)).names == ()
    assert all(sorted(broker.hosted) == [("orders", 0), ("orders", 2)] for broker in c.alive)
    assert all(broker.leaders["orders", 1] == -2 for broker in c.alive)


def test_a_partition_is_moved() -> None:
    """F: the new replica is told, joins the ISR, and only then the old one goes."""
    c = Cluster().up()
    c.create("orders", {0: (0, 1)})
    c.await_state(0, (0, 1), "orders")
    ask_for(c, PARTITIONS_REASSIGNED, "orders", 0, (1, 2))
    c.settle()
    node = c.assignment("orders")
    assert (node.partitions[0], node.adding_replicas[0], node.removing_replicas[0]) == ((1, 2, 0), (2,), (0,))
    assert c.broker(2).hosted["orders", 0].adding_replicas == [2]
    c.write_isr("orders", (0, 1, 2))
    c.settle()
    node = c.assignment("orders")
    assert (node.partitions, node.adding_replicas, node.removing_replicas) == ({0: (1, 2)}, {}, {})
    assert c.leader_and_isr("orders") == (1, (1, 2))
    assert ("orders", 0) not in c.broker(0).hosted
    assert c.must(c.told, Children(PARTITIONS_REASSIGNED)).names in ((), ("orders",))
    assert not c.exists(f"{PARTITIONS_REASSIGNED}/orders/0")


def test_a_move_is_taken_back() -> None:
    c = Cluster().up()
    c.create("orders", {0: (0, 1)})
    c.await_state(0, (0, 1), "orders")
    ask_for(c, PARTITIONS_REASSIGNED, "orders", 0, (1, 2))
    c.settle()
    c.must(c.told, Delete(f"{PARTITIONS_REASSIGNED}/orders/0"))
    c.settle()
    node = c.assignment("orders")
    assert (node.partitions, node.adding_replicas, node.removing_replicas) == ({0: (1, 0)}, {}, {})
    assert ("orders", 0) not in c.broker(2).hosted


def test_isr_changes_of_leaders_are_told_to_all() -> None:
    c = Cluster().up()
    c.create("orders", {0: (0, 1, 2)})
    c.settle()
    c.write_isr("orders", (0, 2))
    c.settle()
    for broker in c.alive:
        states = [
            state
            for request in broker.received
            if isinstance(request, UpdateMetadataRequest)
            for topic in request.topic_states
            for state in topic.partition_states
        ]
        assert states[-1].isr == [0, 2]
        assert not [request for request in broker.lists() if request is broker.received[-1]], "no new roles"
    assert c.must(c.told, Children("/isr_change_notification")).names == ()


def test_a_replica_whose_directory_failed_leaves() -> None:
    """KIP-112: LeaderAndIsr answered with KAFKA_STORAGE_ERROR."""
    c = Cluster().up()
    c.broker(0).storage_errors.add(("orders", 0))
    c.create("orders", {0: (0, 1), 1: (0, 1)})
    c.await_state(1, (1,), "orders", 0)
    assert c.leader_and_isr("orders", 1) == (0, (0, 1))


def test_preferred_leaders_return_by_themselves() -> None:
    c = Cluster(config=NodeConfig.of({"leader.imbalance.check.interval.ms": 2000})).up()
    victim = other_than(c, c.controllers[0])
    other = other_than(c, victim)
    c.create("orders", {0: (victim, other)})
    c.await_state(victim, (victim, other), "orders")
    c.sim.kill(c.brokers[victim])
    c.await_state(other, (other,), "orders")
    c.sim.start(c.brokers[victim])
    c.settle()
    c.write_isr("orders", (other, victim))
    c.await_state(victim, (other, victim), "orders")


def test_requests_are_in_order_and_one_at_a_time() -> None:
    """Roles first, then the cluster's state, then what is to stop."""
    c = Cluster().up()
    c.create("orders", ORDERS)
    c.settle()
    kinds = [type(request) for request in c.broker(0).received]
    assert kinds[0] is UpdateMetadataRequest
    assert kinds[-2:] == [LeaderAndIsrRequest, UpdateMetadataRequest]
