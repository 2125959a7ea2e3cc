from __future__ import annotations

from random import Random

import pytest

from highwater_chaos.experiment.targets import Target
from highwater_chaos.faults.targets import TargetError, draw, hit_by_none, resolve


def hit_by(name):
    return {"hang": ("broker-1",)}.get(name) or hit_by_none(name)


@pytest.fixture
def names(events, make_experiment):
    cluster = make_experiment().cluster

    def resolved(seed=0, **target):
        return resolve(Target.model_validate(target), cluster, events.view, Random(seed), hit_by)

    return resolved


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        ({"broker": 2}, ("broker-2",)),
        ({"controller": 1}, ("controller-1",)),
        ({"leaderOf": "orders-0"}, ("broker-0",)),
        ({"followerOf": "orders-0"}, ("broker-1",)),
        ({"inSyncFollowerOf": "orders-0"}, ("broker-1",)),
        ({"isrOf": "orders-0"}, ("broker-0", "broker-1")),
        ({"isrOf": "orders-0", "not": {"leaderOf": "orders-0"}}, ("broker-1",)),
        ({"isrOf": "orders-0", "not": "hang"}, ("broker-0",)),
        ({"all": "brokers", "not": "hang"}, ("broker-0", "broker-2")),
        ({"majority": "brokers", "not": {"broker": 0}}, ("broker-1", "broker-2")),
        ({"followerController": True, "not": {"controller": 1}}, ("controller-2",)),
        ({"activeController": True}, ("controller-0",)),
        ({"followerController": True}, ("controller-1",)),
        ({"all": "brokers"}, ("broker-0", "broker-1", "broker-2")),
        ({"all": "controllers"}, ("controller-0", "controller-1", "controller-2")),
    ],
)
def test_targets_that_leave_no_choice(names, target, expected):
    assert names(**target) == expected


@pytest.mark.parametrize(("how", "count"), [("one", 1), ("minority", 1), ("majority", 2)])
def test_targets_drawn_from_a_group(names, how, count):
    drawn = {names(seed, **{how: "brokers"}) for seed in range(30)}
    assert all(len(nodes) == count and set(nodes) <= {"broker-0", "broker-1", "broker-2"} for nodes in drawn)
    assert len(drawn) == 3, "every part of that size comes up"
    assert names(5, **{how: "brokers"}) == names(5, **{how: "brokers"})


@pytest.mark.parametrize(
    ("how", "sizes"),
    [("minority", {3: 1, 4: 1, 5: 2, 6: 2}), ("majority", {1: 1, 2: 2, 4: 3, 5: 3}), ("minorityThird", {4: 1, 7: 2})],
)
def test_sizes_of_parts(how, sizes):
    for count, size in sizes.items():
        assert len(draw(how, [f"broker-{i}" for i in range(count)], Random(0))) == size


def test_a_replica_that_left_the_isr_is_a_follower_and_not_in_sync(names, events):
    events.partition("wide-0", replicas=[0, 1, 2], isr=[0, 2], leader=0)
    assert names(followerOf="wide-0") == ("broker-1",)
    assert names(inSyncFollowerOf="wide-0") == names(followerOf="wide-0", **{"not": "hang"}) == ("broker-2",)
    events.partition("wide-0", replicas=[0, 1, 2], isr=[0], leader=0)
    with pytest.raises(TargetError, match=r"the ISR is \[0\], and the leader is 0"):
        names(inSyncFollowerOf="wide-0")


def test_last_isr_member(names, events):
    events.partition(isr=[1], leader=-1)
    assert names(lastIsrOf="orders-0") == ("broker-1",)


@pytest.mark.parametrize(
    ("target", "why"),
    [
        ({"leaderOf": "orders-7"}, "not said anything"),
        ({"lastIsrOf": "orders-0"}, "not a single replica"),
        ({"minorityThird": "brokers"}, "too few"),
        ({"inSyncFollowerOf": "orders-0", "not": "hang"}, "no node is left without broker-1"),
        ({"isrOf": "orders-0", "not": {"all": "brokers"}}, "no node is left"),
        ({"majority": "brokers", "not": {"isrOf": "orders-0"}}, "too few nodes are left"),
        ({"one": "brokers", "not": "stall"}, "not stall: no fault of this name"),
    ],
)
def test_targets_that_name_nobody_say_why(names, target, why):
    with pytest.raises(TargetError, match=why):
        names(**target)


def test_no_leader_and_no_follower_and_no_controller(names, events):
    events.partition(isr=[0], leader=-1)
    with pytest.raises(TargetError, match="no leader"):
        names(leaderOf="orders-0")
    events.partition("solo-0", replicas=[2], isr=[2], leader=2)
    with pytest.raises(TargetError, match="only replica"):
        names(followerOf="solo-0")
    events.raft("controller-0", 2, "resigned")
    with pytest.raises(TargetError, match="no controller is active"):
        names(activeController=True)
    with pytest.raises(TargetError, match="no controller is active"):
        names(followerController=True)


def test_the_first_controller_may_be_the_follower(names, events):
    events.raft("controller-1", 9, "leader")
    assert names(followerController=True) == ("controller-0",)
