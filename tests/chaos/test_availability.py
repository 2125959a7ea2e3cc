"""Who is healthy, and what healthy nodes owe."""

from __future__ import annotations

import json
from typing import Any

import pytest

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.backends.view import BrokerView, ClusterView, NodeView, PartitionView
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.steps import CreateTopic
from highwater_chaos.faults import FaultRecord
from highwater_chaos.liveness.availability import healthy_nodes, overdue, writable

CLUSTER = Cluster(brokers=3, controllers=3)


def test_a_broker_whose_disk_failed_is_healthy_again_after_a_restart() -> None:
    view = ClusterView()
    view.nodes.update({f"broker-{i}": NodeView(incarnation=1, up=True, changed_ns=0) for i in range(3)})
    failed, stalled = (
        FaultRecord(kind, None, kind, {}, targets=(node,), started_ns=5, heal_started_ns=8, healed_ns=12)
        for kind, node in (("diskError", "broker-1"), ("diskStall", "broker-2"))
    )

    def healthy() -> set[str]:
        return healthy_nodes(CLUSTER, view, lambda name: NodeState.UP, [failed, stalled])

    assert healthy() == {"broker-0", "broker-2"}
    view.nodes["broker-1"].changed_ns = 7
    assert healthy() == {"broker-0", "broker-2"}, "its disk still failed when it started"
    view.nodes["broker-1"].changed_ns = 8  # before a probe sees that it runs again
    assert healthy() == {"broker-0", "broker-1", "broker-2"}
    view.nodes["broker-0"].up = False
    assert healthy() == {"broker-1", "broker-2"}


def _view(isr: list[int], leader: int) -> ClusterView:
    view = ClusterView()
    view.nodes["controller-0"] = NodeView(incarnation=1, up=True)
    view._raft["controller-0"] = (1, "leader", 0)
    for broker in range(3):
        view.nodes[f"broker-{broker}"] = NodeView(incarnation=1, up=True, broker_epoch=broker)
        view.brokers[broker] = BrokerView(broker_epoch=broker, fenced=False, registered_incarnation=1)
    view.partitions["orders-0"] = PartitionView("orders-0", "0" * 32, [0, 1, 2], isr, leader, 1, 1, 1)
    return view


@pytest.mark.parametrize(
    ("isr", "leader", "unhealthy", "expected"),
    [
        ([0, 1, 2], 0, (), []),
        ([0, 1], 0, (), ["broker 2 is not in the ISR [0, 1] of orders-0"]),
        ([0, 1], 0, ("broker-2",), []),
        ([0, 1], 0, ("broker-0",), []),
        ([0, 1], -1, ("broker-0",), ["orders-0 has no leader, though broker 1 is in its ISR"]),
        ([0], -1, ("broker-0",), []),
        ([0, 1], 0, ("controller-1", "controller-2"), []),
    ],
)
def test_only_healthy_nodes_owe_something(isr: list[int], leader: int, unhealthy: Any, expected: list[str]) -> None:
    names = {*(f"broker-{i}" for i in range(3)), *(f"controller-{i}" for i in range(3))}
    assert overdue(CLUSTER, _view(isr, leader), names - {*unhealthy}) == expected


@pytest.mark.parametrize(
    ("isr", "leader", "unhealthy", "able"),
    [
        ([0, 1, 2], 0, (), True),
        ([0, 1], 0, ("broker-2",), True),
        ([0, 1], 0, ("broker-1",), False),
        ([0, 1, 2], 0, ("broker-0",), False),
        ([0, 1], -1, (), False),
        ([0, 1], 0, ("controller-1", "controller-2"), False),
    ],
)
def test_who_can_take_writes(isr: list[int], leader: int, unhealthy: Any, able: bool) -> None:
    """``min.insync.replicas`` is 2; broker 1 alone beside the leader decides."""
    topic = CreateTopic(name="orders", config={"min.insync.replicas": 2})
    cluster = Cluster(brokers=3, controllers=3, topics=[topic])
    names = {*(f"broker-{i}" for i in range(3)), *(f"controller-{i}" for i in range(3))}
    assert writable(cluster, _view(isr, leader), names - {*unhealthy}) == (["orders-0"] if able else [])


def test_a_throttle_of_the_experiment_ends_with_its_schedule(make_experiment: Any) -> None:
    """At a byte a second broker 2 would never be in sync, and the one move that is cancelled was never begun."""
    move = {"reassign": {"partition": "orders-0", "replicas": [0, 2], "throttle": 1}}
    schedule = [{"admin": {"cancelReassign": {"partition": "orders-0"}}}, {"admin": move}, {"wait": "5s"}]
    result = run_experiment(make_experiment(json.dumps(schedule), recovery="20s"), SimBackend())
    assert (result.inconclusive_reasons, result.violations) == ([], [])
    in_sync = [row for row in result.replica_log if row["broker"] == 2]
    assert len(in_sync) > 50


def test_the_throttle_of_a_deleted_topic_ended_with_it(make_experiment: Any) -> None:
    move = {"reassign": {"partition": "spare-0", "replicas": [0, 2], "throttle": 1}}
    steps = [{"createTopic": {"name": "spare", "assignment": [[0, 1]]}}, move, {"deleteTopic": {"name": "spare"}}]
    result = run_experiment(make_experiment(json.dumps([{"admin": step} for step in steps])), SimBackend())
    assert (result.inconclusive_reasons, result.violations) == ([], [])


def test_what_is_still_throttled_need_not_be_in_sync() -> None:
    """If the throttle could not be removed, everything else is owed all the same."""
    healthy = {*(f"broker-{i}" for i in range(3)), *(f"controller-{i}" for i in range(3))}
    assert overdue(CLUSTER, _view([0, 1], 0), healthy, ["orders"]) == []
    assert overdue(CLUSTER, _view([0, 1], 0), healthy, ["others"]) != []
    assert overdue(CLUSTER, _view([0, 1], -1), healthy, ["orders"]) != []
