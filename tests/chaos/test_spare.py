"""What random faults must leave alone, one rule a test."""

from __future__ import annotations

import pytest

from highwater_chaos.experiment import Cluster
from highwater_chaos.experiment.steps import RANDOM_RPCS
from highwater_chaos.faults import kind_named
from highwater_chaos.faults.messages import RPCS
from highwater_chaos.schedule.spare import Disruptions, FaultEffect, why_not
from highwater_runtime.ports.trace import IsrProposed


class Judge:
    """Asks whether a fault may be injected. ``lost`` maps nodes to the event at which they lost their caches."""

    def __init__(self, view, cluster):
        self.view, self.cluster = view, cluster
        self.now, self.recently, self.lost, self.moving = set(), set(), {}, {}
        self.settled = True

    def __call__(self, kind, *nodes, disturbs=()):
        disruptions = Disruptions(
            self.now.__contains__,
            self.recently.__contains__,
            self.lost.get,
            lambda _: self.settled,
            lambda partition: self.moving.get(partition, ()),
        )
        return why_not(FaultEffect(nodes, disturbs, kind_named(kind).LOSES_CACHE), self.cluster, self.view, disruptions)

    def loses_cache(self, node):
        self.lost[node] = self.view.next_seq


@pytest.fixture
def judge(events):
    return Judge(events.view, Cluster(brokers=3, controllers=3))


@pytest.fixture
def zookeeper_judge(zookeeper_events):
    return Judge(zookeeper_events.view, Cluster(mode="zookeeper", brokers=3, zookeepers=3))


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
    judge.loses_cache("broker-1")
    events.stopped("broker-1", "power-loss")
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
    judge.loses_cache("broker-1")
    events.stopped("broker-1", "power-loss")
    assert "depend on" in judge("kill", "broker-0")


def test_a_minority_of_controllers_at_once(judge):
    assert judge("powerLoss", "controller-1") is None
    judge.now.add("controller-2")
    assert "2 of 3 controllers" in judge("pause", "controller-1")


def test_the_active_controller_is_left_alone_while_there_is_a_suspect(judge, events):
    assert judge("kill", "controller-0") is None
    judge.loses_cache("broker-1")
    events.stopped("broker-1", "power-loss")
    assert "controller-0" in judge("kill", "controller-0")
    assert judge("kill", "controller-1") is None


def test_a_cache_is_lost_only_under_a_settled_controller(judge, events):
    judge.settled = False
    assert "no controller" in judge("powerLoss", "broker-0")
    assert judge("kill", "broker-0") is None
    judge.settled = True
    judge.now.add("controller-0")
    assert "no controller" in judge("powerLoss", "broker-0")


# --- ZooKeeper mode ---


def test_a_broker_that_returns_is_a_suspect_until_it_has_rejoined_the_isr(zookeeper_judge, zookeeper_events):
    judge, events = zookeeper_judge, zookeeper_events
    assert judge("kill", "broker-0") is None
    judge.loses_cache("broker-1")
    events.stopped("broker-1", "power-loss")
    assert "depend on [1]" in judge("kill", "broker-0")
    events.started("broker-1", incarnation=2)
    events.registered(1, incarnation=2)
    assert "depend on [1]" in judge("kill", "broker-0"), "the controller has not taken it out yet"
    assert "only replica" in judge("powerLoss", "broker-0")
    events.partition(isr=[0])
    assert judge("kill", "broker-0") is None, "nobody depends on broker 1"
    events.partition(isr=[0, 1])
    assert judge("powerLoss", "broker-0") is None, "broker 1 has what is committed"
    events.stopped("broker-1", "kill", incarnation=2)
    events.started("broker-1", incarnation=3)
    events.registered(1, incarnation=3)
    assert judge("powerLoss", "broker-0") is None, "a kill has cost it nothing"


def test_a_member_that_a_late_write_has_made_is_a_suspect(zookeeper_judge, zookeeper_events):
    judge, events = zookeeper_judge, zookeeper_events
    events.partition(isr=[0])
    judge.loses_cache("broker-1")
    events.stopped("broker-1", "power-loss")
    events.partition(isr=[0, 1])
    events.started("broker-1", incarnation=2)
    events.registered(1, incarnation=2)
    assert "depend on [1]" in judge("kill", "broker-0"), "it joined by what its previous incarnation had fetched"


def test_a_proposed_broker_keeps_its_cache_where_no_epoch_guards_the_isr(zookeeper_judge, zookeeper_events):
    zookeeper_events.partition(replicas=[0, 1, 2], isr=[0, 2])
    zookeeper_events.put(
        "broker-0",
        IsrProposed(
            partition="orders-0", leader_epoch=0, partition_epoch=0, isr=[0, 2, 1], isr_epochs=[], reason="expand"
        ),
    )
    assert "proposed" in zookeeper_judge("powerLoss", "broker-1")


def test_the_broker_that_is_the_controller_keeps_its_cache_if_it_is_counted_on(zookeeper_judge, zookeeper_events):
    assert zookeeper_judge("powerLoss", "broker-2") is None, "it has no replica"
    zookeeper_events.partition(replicas=[0, 1, 2], isr=[0, 1, 2])
    assert "was away" in zookeeper_judge("powerLoss", "broker-2")
    assert zookeeper_judge("kill", "broker-2") is None
    assert zookeeper_judge("powerLoss", "broker-1") is None


def test_no_cache_is_lost_while_the_controller_may_be_gone(zookeeper_judge, zookeeper_events):
    """Broker 2 is the controller for ZooKeeper until its session ends, though the process is another by now."""
    zookeeper_judge.recently.add("broker-2")
    assert "no controller" in zookeeper_judge("powerLoss", "broker-1")
    zookeeper_judge.recently.clear()
    assert zookeeper_judge("powerLoss", "broker-1") is None
    zookeeper_events.stopped("broker-2", "kill")
    zookeeper_events.started("broker-2", incarnation=2)
    assert "no controller" in zookeeper_judge("powerLoss", "broker-1")


def test_controller_and_ensemble_are_left_alone_while_there_is_a_suspect(zookeeper_judge, zookeeper_events):
    assert zookeeper_judge("kill", "broker-2") is None
    assert zookeeper_judge("powerLoss", "zookeeper-1") is None
    zookeeper_judge.loses_cache("broker-1")
    zookeeper_events.stopped("broker-1", "power-loss")
    assert "broker-2" in zookeeper_judge("kill", "broker-2")
    assert "suspect" in zookeeper_judge("powerLoss", "zookeeper-1")


@pytest.mark.parametrize("how", ["now", "recently"])
def test_no_cache_is_lost_while_a_server_of_the_ensemble_is_in_trouble(zookeeper_judge, how):
    """Sessions of sound brokers end with it, and the one that lost its records returns to the ISR that it was in."""
    assert zookeeper_judge("diskWipe", "broker-1") is None
    getattr(zookeeper_judge, how).add("zookeeper-0")
    assert "sessions" in zookeeper_judge("diskWipe", "broker-1")
    assert "sessions" in zookeeper_judge("powerLoss", "broker-1")
    assert zookeeper_judge("kill", "broker-1") is None


# --- rules about messages ---


def test_a_rule_about_heartbeats_may_not_fence_the_sound_replica_of_a_suspect(judge, events):
    assert judge("drop", disturbs=("broker-0",)) is None
    judge.loses_cache("broker-1")
    events.stopped("broker-1", "power-loss")
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


@pytest.mark.parametrize(
    ("cut", "disturbed"),
    [
        ({"shape": "halves"}, ["controller-0", "controller-1", "controller-2"]),
        ({"shape": "bridge"}, ["controller-0", "controller-1", "controller-2"]),
        ({"isolate": {"broker": 0}}, []),
    ],
)
def test_a_shape_disturbs_the_quorum(cut, disturbed):
    """Its active controller may lose its majority, and fence sound replicas before suspect ones."""
    assert sorted(kind_named("partition").model_validate(cut).disturbs(Cluster(brokers=3, controllers=3))) == disturbed


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


@pytest.mark.parametrize(
    ("cluster", "spared"),
    [
        ({"runtime": "apache-kafka", "version": "4.1.0"}, True),
        ({"runtime": "apache-kafka"}, True),  # the newest
        ({"runtime": "apache-kafka", "version": "4.0.2"}, False),
        ({}, False),
    ],
)
def test_an_eligible_leader_replica_of_apache_kafka_keeps_its_cache(judge, events, cluster, spared):
    """The ISR is empty: all that was acknowledged is on those that left it, and no fault is in force any more."""
    judge.cluster = Cluster(brokers=3, controllers=3, config={"min.insync.replicas": 2}, **cluster)
    events.partition(isr=[], leader=-1)
    assert ("only replica" in (judge("powerLoss", "broker-1") or "")) is spared
    assert judge("kill", "broker-1") is None
    events.partition(isr=[0], leader=0)
    assert judge("powerLoss", "broker-1") is None, "broker 0 has everything, and is sound"
    judge.recently.add("broker-0")
    assert ("only replica" in (judge("powerLoss", "broker-1") or "")) is spared
    events.partition(isr=[0, 2], leader=0)
    assert judge("powerLoss", "broker-1") is None, "the ISR is large enough, so nobody else is eligible"
