"""Steps of a schedule on a live cluster."""

from __future__ import annotations

import pytest

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.base.process import Sleep
from highwater_chaos.experiment.faults import drawn_kinds
from highwater_chaos.experiment.steps import RANDOM_ADMINISTRATION
from highwater_chaos.faults.kill import Kill
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import LogStartMoved


def test_wait_takes_its_time(harness):
    before = harness.backend.now_ns()
    assert harness.steps({"wait": "3s"})
    assert harness.backend.now_ns() - before >= 3 * SECOND


def test_await_goes_on_as_soon_as_the_condition_holds(harness):
    harness.steps({"inject": {"kill": {"target": {"broker": 0}, "restartAfter": "1s"}}})
    before = harness.backend.now_ns()
    assert harness.steps({"await": {"leader": {"partition": "orders-0", "is": 1}, "within": "60s"}})
    assert harness.backend.now_ns() - before < 10 * SECOND
    assert harness.runner.inconclusive_reasons == []


def test_await_not_met_in_time_ends_the_schedule_and_says_what_there_was(harness):
    done = harness.steps(
        {"await": {"isr": {"partition": "orders-0", "equals": [2]}, "within": "1s"}},
        {"inject": {"kill": {"target": {"broker": 0}}}},
    )
    assert not done
    assert harness.faults.records == []
    (reason,) = harness.runner.inconclusive_reasons
    assert "within 1s" in reason
    assert "ISR [0, 1]" in reason


def test_for_ends_a_fault_by_itself(harness):
    record = harness.inject(**{"for": "2s"}, pause={"target": {"broker": 1}})
    assert record.healed_ns is None
    harness.pass_time(3)
    assert record.healed_ns - record.started_ns >= 2 * SECOND
    assert harness.backend.state("broker-1") is NodeState.UP


def test_heal_by_name_by_list_and_all(harness):
    targets = {"a": {"broker": 0}, "b": {"broker": 1}, "c": {"broker": 2}, "d": {"controller": 0}}
    for name, target in targets.items():
        harness.inject(name=name, clockSkew={"target": target, "offset": "5s"})
    names = lambda: [record.name for record in harness.faults.active]  # noqa: E731
    assert harness.steps({"heal": "b"})
    assert names() == ["a", "c", "d"]
    assert harness.steps({"heal": ["a", "d"]})
    assert names() == ["c"]
    assert harness.steps({"heal": "all"})
    assert names() == []


def test_an_injection_that_fails_ends_the_schedule(harness):
    assert not harness.steps({"inject": {"kill": {"target": {"lastIsrOf": "orders-0"}}}}, {"wait": "1s"})
    assert [step for _, step in harness.runner.journal if step != "admin"] == ["inject"]


def test_parallel_branches_run_side_by_side(harness):
    before = harness.backend.now_ns()
    branches = [
        [{"wait": "2s"}, {"inject": {"clockSkew": {"target": {"broker": broker}, "offset": "1s"}}}] for broker in (0, 1)
    ]
    assert harness.steps({"parallel": [branches[0], [{"wait": "3s"}], branches[1]]})
    assert 3 * SECOND <= harness.backend.now_ns() - before < 4 * SECOND
    assert len(harness.faults.records) == 2


def test_a_branch_that_fails_stops_the_others(harness):
    impossible = {"await": {"leader": {"partition": "orders-0", "none": True}, "within": "1s"}}
    before = harness.backend.now_ns()
    assert not harness.steps({"parallel": [[{"wait": "50s"}], [impossible]]})
    assert harness.backend.now_ns() - before < 5 * SECOND


def test_repeat(harness):
    skew = {"inject": {"name": "s", "clockSkew": {"target": {"broker": 0}, "offset": "1s"}}}
    assert harness.steps({"repeat": {"times": 3, "steps": [skew, {"heal": "s"}]}})
    assert [record.inconclusive_reason() for record in harness.faults.records] == [None] * 3


def test_heal_waits_for_an_injection_under_way(harness):
    expiry = {"inject": {"name": "expiry", "sessionExpiry": {"target": {"broker": 1}}}}
    assert harness.steps({"parallel": [[expiry], [{"wait": "500ms"}, {"heal": "expiry"}]]})
    record = harness.faults.records[-1]
    assert record.inconclusive_reason() is None
    assert record.healed_ns >= record.injected_ns


def test_administration(harness):
    assert harness.steps(
        {"admin": {"createTopic": {"name": "more", "partitions": 2, "replicationFactor": 3}}},
        {"admin": {"addPartitions": {"topic": "more", "total": 4}}},
        {"admin": {"reassign": {"partition": "orders-0", "replicas": [2, 1]}}},
        {"await": {"isr": {"partition": "orders-0", "equals": [1, 2]}, "within": "30s"}},
        {"admin": {"electLeaders": {}}},
        {"await": {"leader": {"partition": "orders-0", "is": 2}, "within": "10s"}},
        {"admin": {"deleteTopic": {"name": "more"}}},
    )
    assert sorted(harness.view.partitions) == ["orders-0"]


def test_records_are_deleted_on_every_replica(busy_harness):
    """The admin client finds the leader; its followers take the log start over."""
    assert busy_harness.steps(
        {"admin": {"deleteRecords": {"partition": "orders-0", "before": 3}}},
        {"admin": {"electLeaders": {}}},
        {"admin": {"deleteRecords": {"partition": "orders-0"}}},
    )
    moves = [event.event for event in busy_harness.backend.events_since(0) if event.event.__class__ is LogStartMoved]
    assert next(move.end_offset for move in moves if move.reason == "delete-records") == 3
    assert {move.end_offset for move in moves if move.reason == "leader"} >= {3}
    assert moves[-1].end_offset > 3, "the second request asked for everything below the high watermark"


def test_administration_that_fails_makes_the_run_inconclusive(harness):
    assert not harness.steps({"admin": {"createTopic": {"name": "orders", "partitions": 1}}})
    assert "TOPIC_ALREADY_EXISTS" in harness.runner.inconclusive_reasons[0]


def test_a_throttled_move_of_a_partition_that_is_gone_makes_the_run_inconclusive(harness):
    move = {"partition": "more-0", "replicas": [1], "throttle": 5000}
    assert not harness.steps(
        {"admin": {"createTopic": {"name": "more", "partitions": 1, "replicationFactor": 1}}},
        {"admin": {"deleteTopic": {"name": "more"}}},
        {"admin": {"reassign": move}},
    )
    (reason,) = harness.runner.inconclusive_reasons
    assert reason == "admin reassign: there is no such partition, so no replicas to throttle"


def random_step(**fields):
    return {
        "random": {
            "for": "40s",
            "every": "1s",
            "lasting": "3s",
            "faults": {"powerLoss": 3, "kill": 1, "pause": 1, "partition": 2, "clockSkew": 1},
            **fields,
        }
    }


def test_random_faults_are_over_when_the_step_is(harness):
    assert harness.steps(random_step())
    records = harness.faults.records
    assert len(records) > 10
    assert len({record.kind for record in records}) >= 4
    assert [record.inconclusive_reason() for record in records] == [None] * len(records)


@pytest.mark.quick("brokers-3")
@pytest.mark.parametrize(("target", "met"), [("brokers", 3), ({"one": "brokers"}, 1), ({"minority": "brokers"}, 1)])
def test_random_faults_at_a_target_meet_at_one_node(harness, target, met):
    """A group means another node each time; a target is resolved once."""
    faults = {"kill": 1, "pause": 1, "delay": 2}
    step = random_step(faults=faults, every="300ms", targets=[target], rpcs=["Fetch"], ends=["from"])
    assert harness.steps(step)
    records = harness.faults.records
    assert {record.kind for record in records} == set(faults)
    assert len({record.targets for record in records}) == met
    delays = [record.parameters for record in records if record.kind == "delay"]
    assert all("from" in rule and "to" not in rule for rule in delays)
    told = f"random at {records[0].targets[0]}" in [name for _, name in harness.runner.journal]
    assert told == (target != "brokers")


def test_random_at_a_target_that_names_nobody_makes_the_run_inconclusive(harness):
    assert not harness.steps(random_step(targets=[{"lastIsrOf": "orders-0"}]))
    assert "lastIsrOf orders-0" in harness.runner.inconclusive_reasons[0]


@pytest.mark.thorough
def test_random_draws_every_kind_of_fault_and_of_administration(busy_harness):
    kinds = dict.fromkeys((*drawn_kinds(), *RANDOM_ADMINISTRATION), 1)
    assert busy_harness.steps(random_step(faults=kinds, every="250ms", lasting="2s", spare="none"))
    done = {name.removeprefix("random ") for _, name in busy_harness.runner.journal if name.startswith("random ")}
    # There may be no move to cancel, and the cluster has the latest metadata version: test_engine.py has both.
    rest = {"cancelReassign", "upgradeMetadata"}
    assert done | {record.kind for record in busy_harness.faults.records} | rest == set(kinds)
    assert busy_harness.runner.inconclusive_reasons == []
    assert [record.inconclusive_reason() for record in busy_harness.faults.records if record.idle] == [None] * sum(
        record.idle for record in busy_harness.faults.records
    )
    assert busy_harness.view.leader("orders-0") is not None, "what was deleted has been created again"


def test_a_drawn_rule_about_messages_leaves_its_nodes_to_other_faults(harness):
    assert harness.steps(random_step(faults={"hold": 5, "kill": 1}, every="200ms", targets=["brokers"]))
    rules = [record for record in harness.faults.records if record.kind == "hold"]
    kills = [record for record in harness.faults.records if record.kind == "kill"]
    assert any(
        rule.started_ns < kill.started_ns < rule.healed_ns and set(kill.targets) & set(rule.targets)
        for rule in rules
        for kill in kills
    ), "no rule was in force while its node was down"


def test_so_does_a_rule_that_the_schedule_injected(harness):
    harness.inject(delay={"rpc": "Fetch", "from": {"broker": 1}, "of": "response", "by": "50ms"})
    assert harness.steps(random_step(faults={"kill": 1}, targets=[{"broker": 1}]))
    assert [record.kind for record in harness.faults.records].count("kill") > 1


def test_random_faults_stay_within_their_targets(harness):
    assert harness.steps(random_step(targets=["controllers"], faults={"kill": 1, "pause": 1}))
    assert harness.faults.records
    assert all(node.startswith("controller") for record in harness.faults.records for node in record.targets)


@pytest.mark.thorough
def test_random_faults_spare_the_last_in_sync_replica_unless_told_otherwise(busy_harness):
    plan = {"targets": ["brokers"], "faults": {"powerLoss": 1}, "for": "30s", "lasting": "2s"}
    busy_harness.inject(partition={"between": [{"broker": 0}, {"broker": 1}]})
    assert busy_harness.steps({"await": {"isr": {"partition": "orders-0", "equals": [0]}, "within": "60s"}})
    before = len(busy_harness.faults.records)
    assert busy_harness.steps(random_step(**plan))
    hit = {node for record in busy_harness.faults.records[before:] for node in record.targets}
    assert hit == {"broker-2"}, "broker 0 is the last in-sync replica; broker 1 is under a fault already"
    before = len(busy_harness.faults.records)
    busy_harness.heal_all()
    busy_harness.inject(partition={"between": [{"broker": 2}, {"broker": 1}]})
    assert busy_harness.steps(random_step(**plan, spare="none"))
    hit = {node for record in busy_harness.faults.records[before + 1 :] for node in record.targets}
    assert "broker-0" in hit


def test_a_heal_that_was_cancelled_in_the_middle_is_done_again(harness, monkeypatch):
    """A branch waits for its heal when another branch fails, which cancels it."""
    whole = Kill.heal

    def slowly(fault, context):
        yield Sleep(5 * SECOND)
        yield from whole(fault, context)

    monkeypatch.setattr(Kill, "heal", slowly)
    death = [{"inject": {"name": "death", "kill": {"target": {"broker": 1}}}}, {"heal": "death"}]
    impossible = {"await": {"leader": {"partition": "orders-0", "none": True}, "within": "3s"}}
    assert not harness.steps({"parallel": [death, [impossible]]})
    assert harness.backend.state("broker-1") is NodeState.DOWN
    harness.runner.cancel()
    harness.heal_all()
    (record,) = harness.faults.records
    assert record.inconclusive_reason() is None
    assert harness.backend.state("broker-1") is NodeState.UP


def test_a_heal_that_came_to_its_end_is_not_done_again(harness, monkeypatch):
    """What it did may be undone by another fault, rightly."""
    heals = []

    def nothing(fault, context):
        heals.append(context.record.id)
        yield Sleep(0)

    monkeypatch.setattr(Kill, "heal", nothing)
    harness.inject(kill={"target": {"broker": 1}})
    harness.heal_all()
    assert heals == ["fault-1"]
