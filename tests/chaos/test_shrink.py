"""Shrinking: the drawn steps written out fail as before, and what is left fails the same way and is small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.experiment import dump_experiment, load_experiment, parse_experiment
from highwater_chaos.run.result import RunResult
from highwater_chaos.shrink import CannotShrinkError, file_text, shrink
from highwater_chaos.shrink.explicit import timeline_of_run
from highwater_chaos.shrink.reductions import (
    schedule_of,
    single_steps,
    with_schedule,
    without,
)
from highwater_chaos.shrink.size import size_of
from highwater_chaos.shrink.trial import Trial, as_data, experiment_of, run_quietly
from highwater_runtime.broker.broker import Broker
from highwater_runtime.ports import SECOND


def anomalies_of(data: Any) -> frozenset[str]:
    experiment = experiment_of(data)
    return frozenset() if experiment is None else run_quietly(experiment, wire=False)[1]


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

CONDITIONS = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: conditions}
spec:
  seed: 1
  timeout: 2m
  cluster:
    brokers: 3
    controllers: 1
    config: {replica.lag.time.max.ms: 1000}
    topics: [{name: orders, assignment: [[0, 1, 2]]}]
  workload: {producers: 1, rate: 20/s, acks: all}
  schedule:
    - repeat:
        times: 2
        steps:
          - inject: {name: cut, partition: {isolate: {broker: 1}}}
          - await: {isr: {partition: orders-0, equals: [0, 2]}, within: 30s}
          - heal: cut
          - await: {isr: {partition: orders-0, equals: [0, 1, 2]}, within: 30s}
    - inject: {name: slow, delay: {rpc: Fetch, from: {broker: 1}, by: 10ms}}
    - inject: {name: gone, kill: {target: {broker: 2}, restartAfter: 1s}}
    - wait: 3s
    - inject: {for: 500ms, pause: {target: {broker: 1}}}
    - wait: 1s
    - heal: [slow, gone]
    - inject: {clockSkew: {target: {broker: 2}, offset: 2s}}
    - wait: 1s
    - heal: all
    - wait: 1s
    - inject: {clockSkew: {target: {broker: 1}, offset: 2s}}
    - wait: 1s
"""


@pytest.fixture(scope="module")
def failing():
    return parse_experiment(FAILING, "failing.yaml")


def test_the_drawn_steps_written_out_fail_as_before(failing):
    result, anomalies = run_quietly(failing, wire=False)
    assert "lost-write" in anomalies
    data = with_schedule(as_data(failing), timeline_of_run(result).side_by_side())
    written = experiment_of(data)
    drawn = [record for record in result.faults if record.error is None]
    created = [one for one in result.done if one.step.admin is not None]
    assert created
    assert size_of(written).steps == len(drawn) + len(created)
    again, _ = run_quietly(written, wire=False)
    assert [record.targets for record in again.faults] == [record.targets for record in drawn]
    assert anomalies_of(data) == anomalies


def test_what_conditions_waited_for_and_what_was_healed_is_written_out_with_its_times():
    experiment = parse_experiment(CONDITIONS, "conditions.yaml")
    result, _ = run_quietly(experiment, wire=False)
    timeline = timeline_of_run(result)
    kinds_of = [next(kind for kind in one.step["inject"] if kind not in ("for", "name")) for one in timeline.steps]
    assert kinds_of == ["partition", "partition", "delay", "kill", "pause", "clockSkew", "clockSkew"]
    assert [one.step["inject"].get("for") for one in timeline.steps][3:5] == [None, "500ms"]
    written = experiment_of(with_schedule(as_data(experiment), timeline.side_by_side()))
    again, _ = run_quietly(written, wire=False)
    assert fault_times(again) == fault_times(result)


def fault_times(result: RunResult) -> list[tuple[str, int, int | None]]:
    """Each fault in microseconds of run time: what ends with the schedule ends a nanosecond later if it says so."""
    assert all(one.heal_started_ns is not None for one in result.faults)
    return [(one.kind, one.started_ns // 1000, (one.heal_started_ns or 0) // 1000) for one in result.faults]


@pytest.mark.thorough
def test_what_is_left_is_small_fails_the_same_way_and_depends_on_the_run_alone(failing, tmp_path: Path, thorough):
    found = [
        shrink(failing, "lost-write", most_runs=150, wire=False, jobs=jobs) for jobs in ((1, 2) if thorough else (2,))
    ]
    texts = {file_text(one, "failing (seed 2)") for one in found}
    assert len(texts) == 1
    assert found[0].runs == found[-1].runs <= 150
    before, after = found[0].before, found[0].after
    assert (before.nodes, before.partitions) == (4, 2)
    assert before.steps > 5
    assert after.steps <= 3
    assert (after.nodes, after.partitions) == (3, 1)
    file = tmp_path / "shrunk.yaml"
    file.write_text(texts.pop(), encoding="utf-8")
    kept = load_experiment(file)
    assert dump_experiment(kept).count("random:") == 0
    assert "lost-write" in anomalies_of(as_data(kept))
    # Nothing more can go: the definition of what was asked for.
    data = as_data(kept)
    for path in single_steps(schedule_of(data)):
        less = {**data, "spec": {**data["spec"], "schedule": without(schedule_of(data), frozenset([path]))}}
        assert "lost-write" not in anomalies_of(less)


@pytest.mark.thorough
def test_without_runs_the_smallest_so_far_is_kept(failing):
    found = shrink(failing, "lost-write", most_runs=6, wire=False, jobs=1)
    assert found.runs == 6
    assert not found.finished
    assert "lost-write" in anomalies_of(as_data(found.experiment))


def test_an_anomaly_that_does_not_show_is_refused(failing):
    with pytest.raises(CannotShrinkError, match="expected at least 4 runs, found 3"):
        shrink(failing, "lost-write", most_runs=3, wire=False, jobs=1)
    with pytest.raises(CannotShrinkError, match=r"expected the simulator to show stale-read again; found .*lost-write"):
        shrink(failing, "stale-read", most_runs=10, wire=False, jobs=1)


def test_what_would_fail_without_the_bug_too_is_not_a_smaller_case_of_it(failing):
    """Of the two replicas the second is killed, and then the first loses its cache: that is promised to nobody."""
    legitimate = as_data(failing)
    legitimate["spec"]["cluster"]["config"]["min.insync.replicas"] = 1
    legitimate["spec"]["schedule"] = [
        {"inject": {"kill": {"target": {"broker": 1}}, "for": "8s"}},
        {"wait": "4s"},
        {"inject": {"powerLoss": {"target": {"broker": 0}}, "for": "1s"}},
        {"wait": "5s"},
    ]
    legitimate["spec"]["cluster"]["topics"] = [{"name": "orders", "assignment": [[0, 1]]}]
    assert Trial("lost-write", wire=False, only_with_switches=False)(legitimate)[:2] == (True, 1)
    assert Trial("lost-write", wire=False, only_with_switches=True)(legitimate)[:2] == (False, 2)
    assert Trial("lost-write", wire=False)(legitimate, SECOND)[:2] == (False, 1), "it takes too long"
    assert Trial("stale-read", wire=False)(legitimate)[:2] == (False, 1), "it fails in another way"


# --- steps as a file has them ---


def test_a_run_that_fails_before_its_schedule_needs_none_of_it(failing, monkeypatch):
    """A broker that crashes as it starts: the cluster never comes up."""

    def crash(_broker: Broker) -> None:
        raise KeyError("a bug")

    monkeypatch.setattr(Broker, "start", crash)
    found = shrink(failing, "node-crash", most_runs=12, wire=False, jobs=1)
    assert (found.before.steps, found.after.steps) == (0, 0)
    assert anomalies_of(as_data(found.experiment)) == {"node-crash"}
