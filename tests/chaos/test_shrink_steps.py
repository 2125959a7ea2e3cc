"""Shrinking: the timeline of a schedule, and the smaller schedules that are proposed."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.shrink.reductions import (
    fewer_nodes,
    kinds,
    nodes,
    only_the_end,
    pieces,
    schedule_of,
    single_steps,
    sooner_over,
    topics,
    with_schedule,
    without,
)
from highwater_chaos.shrink.timeline import timeline_of
from highwater_chaos.shrink.trial import as_data, experiment_of
from highwater_runtime.ports import SECOND

THREE_BROKERS = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: three-brokers}
spec:
  seed: 1
  timeout: 2m
  cluster: {brokers: 3, controllers: 1, topics: [{name: orders, partitions: 2, replicationFactor: 2}]}
  schedule: []
"""

# --- the timeline ---


def test_a_timeline_says_the_same_side_by_side_and_in_a_row():
    one, two, three, four = (inject(name, "2s") for name in ("a", "b", "c", "d"))
    steps = [step(1), {"parallel": [[step(5), one], [step(2), two, step(1), four], [step(9)]]}, three]
    timeline = timeline_of(steps)
    assert [(timed.at_ns // SECOND, timed.step) for timed in timeline.steps] == [
        (3, two),
        (4, four),
        (6, one),
        (10, three),
    ]
    assert timeline_of(timeline.side_by_side()) == timeline_of(timeline.in_a_row()) == timeline
    assert timeline.first_steps(3).over_ns() == 8 * SECOND


def test_what_is_in_force_when_the_rest_begins_begins_there():
    steps = [
        inject("short", "2s"),
        inject("long", "9s"),
        step(5),
        inject("late", "1s"),
    ]
    left = timeline_of(steps).since(4 * SECOND)
    assert [(timed.at_ns // SECOND, timed.step) for timed in left.steps] == [
        (0, inject("long", "5s")),
        (1, inject("late", "1s")),
    ]
    assert left.end_ns == SECOND


def inject(name: str, length: str | None = None):
    return {"inject": {"name": name, "kill": {"target": {"broker": 1}}, **({"for": length} if length else {})}}


# --- proposals ---


def step(number: int):
    return {"wait": f"{number}s"}


_schedules = st.recursive(
    st.integers(1, 9).map(step) | st.integers(0, 99).map(lambda number: inject(f"f{number}")),
    lambda inner: st.lists(st.lists(inner, min_size=1, max_size=3), min_size=1, max_size=3).map(
        lambda found: {"parallel": found}
    ),
    max_leaves=8,
)


@given(st.lists(_schedules, max_size=4), st.data())
def test_what_is_removed_is_gone_and_all_else_that_acts_is_kept(steps, data):
    every = single_steps(steps)
    removed = data.draw(st.sets(st.sampled_from(every))) if every else set()

    def acting(found, but=frozenset()):
        leaves = [leaf(found, path) for path in single_steps(found) if path not in but]
        return [one for one in leaves if "wait" not in one]

    assert acting(without(steps, frozenset(removed))) == acting(steps, removed)
    assert without(steps, frozenset(every)) == []


def leaf(steps, path):
    one = steps[path[0]]
    if len(path) == 1:
        return one
    return leaf(one["parallel"][path[1]], path[2:])


def test_steps_are_grouped_by_fault_by_kind_and_by_node():
    steps = [
        {"inject": {"for": "2s", "delay": {"rpc": "Fetch", "to": {"broker": 0}}}},
        {"inject": {"delay": {"rpc": "Vote", "to": {"broker": 0}}}},
        {"parallel": [[step(1), {"inject": {"kill": {"target": {"broker": 1}}}}], [step(9)]]},
        {"produce": {"partition": "orders-0"}},
    ]
    slow, vote, kill, produce = {(0,)}, {(1,)}, {(2, 0, 1)}, {(3,)}
    assert pieces(steps) == [slow, vote, kill, produce]
    assert kinds(steps) == [slow, vote, kill, produce]
    assert nodes(steps) == [slow | vote, kill, produce]
    assert without(steps, frozenset(kill)) == [*steps[:2], step(9), *steps[3:]]


def test_steps_that_administer_the_same_topic_are_a_group():
    steps = [
        {"admin": {"deleteTopic": {"name": "orders"}}},
        {"admin": {"createTopic": {"name": "payments", "partitions": 1}}},
        {"admin": {"reassign": {"partition": "orders-1", "replicas": [0]}}},
        {"inject": {"kill": {"target": {"broker": 1}}}},
        {"admin": {"electLeaders": {}}},
    ]
    assert topics(steps) == [{(0,), (2,)}, {(1,)}, {(3,), (4,)}]


def test_steps_of_what_is_cut_off_wait_beside_each_other():
    """In a row, removing a step that takes time would move those after it."""
    steps = [inject("a"), step(20), inject("b"), step(1), inject("c"), step(30)]
    data = with_schedule(as_data(parse_experiment(THREE_BROKERS, "three.yaml")), steps)
    shorter = [*only_the_end(data), *list(sooner_over(data))[:-1]]
    assert len(shorter) > 2
    assert [[*one] for found in map(schedule_of, shorter) for one in found] == [["parallel"]] * len(shorter)


def test_a_broker_that_is_named_stays_and_those_above_a_removed_one_move_down():
    data = as_data(parse_experiment(THREE_BROKERS, "three.yaml"))
    data["spec"]["schedule"] = [{"inject": {"kill": {"target": {"broker": 2}}}}]
    fewer = [one for one in fewer_nodes(data) if one["spec"]["cluster"]["brokers"] == 2]
    assert [schedule_of(one)[0]["inject"]["kill"]["target"] for one in fewer] == [{"broker": 1}] * 2
    assert all(experiment_of(one) is not None for one in fewer)
