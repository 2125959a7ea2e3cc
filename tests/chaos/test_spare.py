"""What random faults must leave alone, one rule a test."""

from __future__ import annotations

import pytest

from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.steps import RANDOM_RPCS
from highwater_chaos.faults import kind_named
from highwater_chaos.faults.messages import RPCS
from highwater_chaos.schedule.spare import Blow, Touches, why_not
from highwater_runtime.ports.trace import IsrProposed


@pytest.fixture
def judge(events):
    now, recently, lost, moving = set(), set(), set(), {}
    settled = [True]

    def reason(kind, *nodes, disturbs=()):
        touches = Touches(
            now.__contains__,
            lambda node: node in recently,
            lost.__contains__,
            lambda _: settled[0],
            lambda partition: moving.get(partition, ()),
        )
        blow = Blow(nodes, disturbs, kind_named(kind).LOSES_CACHE)
        return why_not(blow, Cluster(brokers=3, controllers=3), events.view, touches)

    reason.now, reason.recently, reason.lost, reason.settled, reason.moving = now, recently, lost, settled, moving
    return reason


def test_a_broker_may_lose_its_cache_while_another_replica_is_sound(judge):
    assert judge("powerLoss", "broker-0") is None


def test_the_last_in_sync_replica_may_not(judge, events):
    events.partition(isr=[0], leader=0)
    assert "only replica" in judge("powerLoss", "broker-0")
    assert "only replica" in judge("diskWipe", "broker-0")
    assert judge("kill", "broker-0") is None, "a killed process loses nothing"
    assert judge("powerLoss", "broker-1") is None, "nobody counts on a replica outside the ISR"


def test_a_replica_that_a_pending_shrink_would_drop_is_no_spare(judge, events):
    events.put(
        "broker-0",
        IsrProposed(partition="orders-0", leader_epoch=0, partition_epoch=0, isr=[0], isr_epochs=[1], reason="shrink"),
    )
    assert "only replica" in judge("powerLoss", "broker-0")


@pytest.mark.parametrize("how", ["now", "recently"])
def test_a_replica_under_a_fault_is_no_spare(judge, how):
    getattr(judge, how).add("broker-1")
    assert "only replica" in judge("powerLoss", "broker-0")


def test_a_fenced_or_unregistered_replica_is_no_spare(judge, events):
    events.fencing(1, "fenced")
    assert "only replica" in judge("powerLoss", "broker-0")
    events.fencing(1, "unfenced")
    events.stopped("broker-1")
    assert "only replica" in judge("powerLoss", "broker-0")


def test_while_a_suspect_is_in_the_isr_the_sound_one_is_left_alone(judge, events):
    events.stopped("broker-1", "power-loss")
    judge.lost.add("broker-1")
    assert "depend on" in judge("pause", "broker-0")
    assert "depend on" in judge("partition", "broker-0", "broker-2")
    events.started("broker-1", incarnation=2)
    events.registered(1, incarnation=2)
    assert judge("pause", "broker-0") is None, "the controllers have seen it come back"


def test_a_suspect_that_is_only_proposed_counts_too(judge, events):
    events.partition(isr=[0])
    events.put(
        "broker-0",
        IsrProposed(
            partition="orders-0", leader_epoch=0, partition_epoch=0, isr=[0, 1], isr_epochs=[1, 2], reason="expand"
        ),
    )
    events.stopped("broker-1", "power-loss")
    judge.lost.add("broker-1")
    assert "depend on" in judge("kill", "broker-0")


def test_a_minority_of_controllers_at_once(judge):
    assert judge("powerLoss", "controller-1") is None
    judge.now.add("controller-2")
    assert "2 of 3 controllers" in judge("pause", "controller-1")


def test_the_active_controller_is_left_alone_while_there_is_a_suspect(judge, events):
    assert judge("kill", "controller-0") is None
    events.stopped("broker-1", "power-loss")
    judge.lost.add("broker-1")
    assert "controller-0" in judge("kill", "controller-0")
    assert judge("kill", "controller-1") is None


def test_a_cache_is_lost_only_under_a_settled_controller(judge, events):
    judge.settled[0] = False
    assert "no controller" in judge("powerLoss", "broker-0")
    assert judge("kill", "broker-0") is None
    judge.settled[0] = True
    judge.now.add("controller-0")
    assert "no controller" in judge("powerLoss", "broker-0")


# --- rules about messages ---


def test_a_rule_about_heartbeats_may_not_fence_the_sound_replica_of_a_suspect(judge, events):
    assert judge("drop", disturbs=("broker-0",)) is None
    events.stopped("broker-1", "power-loss")
    judge.lost.add("broker-1")
    assert "depend on" in judge("drop", disturbs=("broker-0",))
    assert "controller-0" in judge("drop", disturbs=("controller-0",))
    assert "controller-0" in judge("drop", disturbs=("controller-1",)), "the active one may lose its majority"


def test_no_cache_is_lost_while_a_majority_of_the_controllers_is_disturbed(judge):
    judge.now |= {"controller-1", "controller-2"}
    assert "majority" in judge("powerLoss", "broker-0")


def test_a_replica_that_a_late_fetch_may_bring_back_is_a_member(judge, events):
    events.partition(isr=[0], leader=0)
    judge.now.add("broker-0")
    assert judge("powerLoss", "broker-1") is None
    judge.recently.add("broker-1")
    assert "only replica" in judge("powerLoss", "broker-1"), "its last Fetch may still be on its way"


def test_a_replica_that_a_reassignment_may_remove_is_no_spare(judge):
    judge.moving["orders-0"] = [[0, 2]]
    assert "only replica" in judge("powerLoss", "broker-0")
    judge.moving["orders-0"] = [[1, 2]]
    assert judge("powerLoss", "broker-0") is None


@pytest.mark.parametrize(
    ("rule", "disturbed"),
    [
        ({"rpc": "BrokerHeartbeat", "from": {"broker": 1}}, ["broker-1"]),
        ({"rpc": "BrokerHeartbeat", "to": {"controller": 0}}, ["broker-0", "broker-1", "broker-2"]),
        ({"rpc": "BrokerHeartbeat", "of": "response"}, ["broker-0", "broker-1", "broker-2"]),
        ({"rpc": "Fetch", "from": {"broker": 1}, "to": {"broker": 0}}, ["broker-1"]),
        ({"rpc": "Fetch", "from": {"broker": 1}}, ["broker-1"]),
        ({"rpc": "Fetch", "to": {"broker": 0}}, ["broker-1", "broker-2"]),
        ({"rpc": "Fetch", "from": {"broker": 1}, "to": {"controller": 0}}, ["broker-1"]),
        ({"rpc": "Fetch", "from": {"controller": 1}, "to": {"controller": 0}}, ["controller-0", "controller-1"]),
        ({"rpc": "Vote", "to": {"controller": 0}, "from": {"controller": 1}}, ["controller-0", "controller-1"]),
        ({"rpc": "AlterPartition", "from": {"broker": 0}}, []),
        ({"rpc": "Produce", "to": {"broker": 0}}, []),
    ],
)
def test_whom_a_rule_disturbs(rule, disturbed):
    cluster = Cluster(brokers=3, controllers=2 + 1)
    assert sorted(kind_named("drop").model_validate(rule).disturbs(cluster)) == disturbed


def test_a_rule_lingers_until_the_last_message_and_the_last_wait_are_over():
    config = {"broker.session.timeout.ms": 3000, "replica.socket.timeout.ms": 5000, "replica.lag.time.max.ms": 2000}
    cluster = Cluster(brokers=3, controllers=3, config=config)

    def lingers(kind, **rule):
        return kind_named(kind).model_validate(rule).lingers_ns(cluster) // 10**9

    assert lingers("drop", rpc="BrokerHeartbeat") == 3
    assert lingers("delay", rpc="BrokerHeartbeat", by="4s") == 7
    assert lingers("drop", rpc="Fetch") == 7
    assert lingers("delay", rpc="Fetch", by="4s") == 11


def test_the_rpcs_that_files_may_name_are_those_that_can_be_drawn():
    assert tuple(RPCS) == RANDOM_RPCS
    assert {"DeleteTopics", "AlterPartitionReassignments"}.isdisjoint(RPCS), "neither may be done late"
