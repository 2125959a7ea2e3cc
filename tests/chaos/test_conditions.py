from __future__ import annotations

from types import SimpleNamespace

import pytest

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.experiment.conditions import Await
from highwater_chaos.schedule.conditions import World, found, is_met, is_or_was_met
from highwater_chaos.schedule.runner import describe
from highwater_runtime.ports.trace import HighWatermarkAdvanced


@pytest.fixture
def world(events):
    states = {"broker-2": NodeState.DOWN}
    backend = SimpleNamespace(state=lambda node: states.get(node, NodeState.UP))
    events.put("broker-0", HighWatermarkAdvanced(partition="orders-0", leader_epoch=0, offset=10))
    events.stopped("broker-2")
    return World(backend, events.view, lambda: 3, {"held": 2}.get)


def condition(**fields):
    return Await.model_validate({"within": "1s", **fields})


MET = [
    {"isr": {"partition": "orders-0", "equals": [1, 0]}},
    {"isr": {"partition": "orders-0", "includes": [1]}},
    {"isr": {"partition": "orders-0", "excludes": [2]}},
    {"isr": {"partition": "orders-0", "size": 2}},
    {"leader": {"partition": "orders-0", "is": 0}},
    {"leader": {"partition": "orders-0", "isNot": 1}},
    {"broker": {"id": 2, "state": "down"}},
    {"broker": {"id": 0, "state": "registered"}},
    {"broker": {"id": 0, "state": "unfenced"}},
    {"activeController": {"is": 0}},
    {"activeController": {"isNot": 2}},
    {"activeController": {"exists": True}},
    {"highWatermark": {"partition": "orders-0", "atLeast": 10}},
    {"acked": {"atLeast": 3}},
    {"caught": {"name": "held", "atLeast": 2}},
    {"underReplicated": 0},
]
NOT_MET = [
    {"isr": {"partition": "orders-0", "equals": [0]}},
    {"isr": {"partition": "orders-0", "includes": [0, 2]}},
    {"isr": {"partition": "orders-0", "excludes": [1]}},
    {"isr": {"partition": "orders-0", "size": 1}},
    {"isr": {"partition": "nothing-0", "size": 0}},
    {"leader": {"partition": "orders-0", "is": 1}},
    {"leader": {"partition": "orders-0", "isNot": 0}},
    {"leader": {"partition": "orders-0", "none": True}},
    {"broker": {"id": 0, "state": "down"}},
    {"broker": {"id": 2, "state": "registered"}},
    {"broker": {"id": 0, "state": "fenced"}},
    {"broker": {"id": 2, "state": "unfenced"}},
    {"activeController": {"is": 1}},
    {"activeController": {"isNot": 0}},
    {"activeController": {"exists": False}},
    {"highWatermark": {"partition": "orders-0", "atLeast": 11}},
    {"acked": {"atLeast": 4}},
    {"caught": {"name": "held", "atLeast": 3}},
    {"underReplicated": 1},
]


@pytest.mark.parametrize("fields", MET, ids=str)
def test_met(world, fields):
    assert is_met(condition(**fields), world)


@pytest.mark.parametrize("fields", NOT_MET, ids=str)
def test_not_met_and_a_message_that_says_what_there_is(world, fields):
    unmet = condition(**fields)
    assert not is_met(unmet, world)
    assert found(unmet, world)
    assert describe(unmet).startswith(next(iter(fields)))


def test_changes_of_the_cluster_show(world, events):
    events.partition(isr=[1], leader=-1)
    events.fencing(0, "fenced")
    events.raft("controller-0", 1, "resigned")
    for fields in (
        {"leader": {"partition": "orders-0", "none": True}},
        {"broker": {"id": 0, "state": "fenced"}},
        {"activeController": {"exists": False}},
        {"underReplicated": 1},
    ):
        assert is_met(condition(**fields), world)
    assert not is_met(condition(leader={"partition": "orders-0", "isNot": 1}), world), "no leader is nobody"


def test_a_moment_without_a_controller_is_not_missed(world, events):
    none, one = condition(activeController={"exists": False}), condition(activeController={"exists": True})
    waits_for_none = is_or_was_met(none, world)
    assert not waits_for_none()
    events.raft("controller-0", 2, "resigned")
    events.raft("controller-1", 9, "leader")
    assert not is_met(none, world)
    assert is_met(one, world)
    assert waits_for_none(), "there was none for a moment"
    assert not is_or_was_met(none, world)(), "which was before"
