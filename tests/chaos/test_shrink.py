"""Shrinking: the drawn steps written out fail as before, and what is left fails the same way and is small."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from highwater_chaos.experiment import dump_experiment, load_experiment, parse_experiment
from highwater_chaos.shrink import CannotShrink, file_text, shrink
from highwater_chaos.shrink.explicit import explicit_steps
from highwater_chaos.shrink.reductions import branches, one_after_the_other, schedule_of, single_steps, smaller, without
from highwater_chaos.shrink.size import size_of
from highwater_chaos.shrink.trial import anomalies_of, as_data, experiment_of, run_quietly

FAILING = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: failing}
spec:
  seed: 2
  timeout: 2m
  cluster:
    brokers: 3
    controllers: 1
    switches: {replica-epoch-check: "off"}
    config: {broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 500}
    topics: [{name: orders, partitions: 2, replicationFactor: 2}]
  workload: {producers: 1, rate: 10/s, consumers: 0}
  schedule:
    - wait: 1s
    - repeat:
        times: 2
        steps:
          - random:
              for: 3s
              every: 600ms
              lasting: 3s
              faults: {powerLoss: 3, kill: 2, createTopic: 1}
              targets: [brokers]
              spare: none
"""


@pytest.fixture(scope="module")
def failing():
    return parse_experiment(FAILING, "failing.yaml")


def test_the_drawn_steps_written_out_fail_as_before(failing):
    result, anomalies = run_quietly(failing, wire=False)
    assert "lost-write" in anomalies
    data = as_data(failing)
    data["spec"]["schedule"] = explicit_steps(failing.spec.schedule, result.random_parts)
    written = experiment_of(data)
    drawn = [record for record in result.faults if record.error is None]
    created = [one for part in result.random_parts for one in part.drawn if one.step.admin is not None]
    assert len(result.random_parts) == 2, "one for each time that the repeat ran"
    assert created
    assert size_of(written).steps == len(drawn) + len(created)
    again, _ = run_quietly(written, wire=False)
    assert [record.targets for record in again.faults] == [record.targets for record in drawn]
    assert anomalies_of(data, wire=False) == anomalies


def test_what_is_left_is_small_fails_the_same_way_and_depends_on_the_run_alone(failing, tmp_path: Path):
    found = [shrink(failing, "lost-write", most_runs=150, wire=False, jobs=jobs) for jobs in (1, 2)]
    texts = {file_text(one, "failing (seed 2)") for one in found}
    assert len(texts) == 1
    assert found[0].runs == found[1].runs <= 150
    before, after = found[0].before, found[0].after
    assert (before.nodes, before.partitions) == (4, 2)
    assert before.steps > 5
    assert after.steps <= 3
    assert (after.nodes, after.partitions) == (3, 1)
    file = tmp_path / "shrunk.yaml"
    file.write_text(texts.pop(), encoding="utf-8")
    kept = load_experiment(file)
    assert dump_experiment(kept).count("random:") == 0
    assert "lost-write" in anomalies_of(as_data(kept), wire=False)
    # Nothing more can go: the definition of what was asked for.
    data = as_data(kept)
    for path in single_steps(schedule_of(data)):
        less = {**data, "spec": {**data["spec"], "schedule": without(schedule_of(data), frozenset([path]))}}
        assert "lost-write" not in anomalies_of(less, wire=False)


def test_without_runs_the_smallest_so_far_is_kept(failing):
    found = shrink(failing, "lost-write", most_runs=6, wire=False, jobs=1)
    assert found.runs == 6
    assert not found.finished
    assert "lost-write" in anomalies_of(as_data(found.experiment), wire=False)


def test_an_anomaly_that_does_not_show_is_refused(failing):
    with pytest.raises(CannotShrink, match=r"expected the simulator to show stale-read again; found .*lost-write"):
        shrink(failing, "stale-read", most_runs=10, wire=False, jobs=1)


# --- proposals ---


def step(number: int):
    return {"wait": f"{number}s"}


_schedules = st.recursive(
    st.integers(1, 9).map(step),
    lambda inner: (
        st.lists(st.lists(inner, min_size=1, max_size=3), min_size=1, max_size=3).map(lambda found: {"parallel": found})
        | st.lists(inner, min_size=1, max_size=3).map(lambda found: {"repeat": {"times": 2, "steps": found}})
    ),
    max_leaves=8,
)


@given(st.lists(_schedules, max_size=4), st.data())
def test_what_is_removed_is_gone_and_all_else_is_kept(steps, data):
    every = single_steps(steps)
    removed = data.draw(st.sets(st.sampled_from(every))) if every else set()

    def leaves(found):
        return [leaf(found, path) for path in single_steps(found)]

    left = without(steps, frozenset(removed))
    assert leaves(left) == [leaf(steps, path) for path in every if path not in removed]
    assert without(steps, frozenset(branches(steps))) == []


def leaf(steps, path):
    one = steps[path[0]]
    if len(path) == 1:
        return one
    return leaf(one["parallel"][path[1]], path[2:]) if "parallel" in one else leaf(one["repeat"]["steps"], path[1:])


def test_side_by_side_becomes_one_after_the_other_at_the_same_times():
    kill, stop = {"admin": {"deleteTopic": {"name": "a"}}}, {"admin": {"deleteTopic": {"name": "b"}}}
    parallel = {"parallel": [[step(5), kill], [step(2), stop, step(1), stop], [step(9)]]}
    (data,) = one_after_the_other({"spec": {"schedule": [step(1), parallel]}})
    assert schedule_of(data) == [step(1), step(2), stop, step(1), stop, step(2), kill, step(4)]


def test_a_broker_that_is_named_stays_and_those_above_a_removed_one_move_down(failing):
    data = as_data(failing)
    data["spec"]["schedule"] = [{"inject": {"kill": {"target": {"broker": 2}}}}]
    fewer = [one for one in smaller(data) if one["spec"]["cluster"]["brokers"] == 2]
    assert [schedule_of(one)[0]["inject"]["kill"]["target"] for one in fewer] == [{"broker": 1}] * 2
    assert all(experiment_of(one) is not None for one in fewer)
