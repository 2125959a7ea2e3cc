"""A node that obeys other settings than the experiment gives, and reports those: what it says is no excuse."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from highwater_chaos.backends import sim
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.verdict.checked_run import run_and_check

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: disobeyed}
spec:
  seed: 1
  timeout: 3m
  cluster:
    brokers: 3
    controllers: 1
    config:
      min.insync.replicas: 2
      log.retention.check.interval.ms: 500
      broker.session.timeout.ms: 1000
      broker.heartbeat.interval.ms: 200
      replica.lag.time.max.ms: 1000
    topics: [{name: orders, partitions: 1, assignment: [[0, 1, 2]], config: {segment.bytes: 2000}}]
  workload: {producers: 2, rate: 30/s, consumers: 1, keys: 5, tombstones: 0}
  schedule:
    - await: {acked: {atLeast: 100}, within: 30s}
    - inject: {kill: {target: {broker: 1}}, for: 4s}
    - inject: {kill: {target: {broker: 2}}, for: 4s}
    - wait: 8s
  checks: [all]
  expect: []
"""


def judged(folder: Path, monkeypatch: pytest.MonkeyPatch, given: dict[str, Any], obeyed: dict[str, Any]) -> Any:
    """The verdict of a run whose experiment gives brokers ``given``, and whose brokers obey ``obeyed`` besides."""
    made = sim.broker_factory
    monkeypatch.setattr(sim, "broker_factory", lambda cluster, name, own: made(cluster, name, {**own, **obeyed}))
    data = yaml.safe_load(FILE)
    data["spec"]["cluster"]["config"] |= given
    experiment = parse_experiment(yaml.safe_dump(data), "a test")
    return run_and_check(experiment, "sim", folder, lambda _: None, varied={}, wire=False).verdict


@pytest.mark.quick("given0")
@pytest.mark.parametrize(
    ("given", "obeyed", "anomalies", "said"),
    [
        (
            {},
            {"min.insync.replicas": 1},
            {"min-isr", "model-step"},
            "while the ISR was [0], though the experiment sets min.insync.replicas 2; the leader reported 1.",
        ),
        (
            {"log.retention.ms": 3_600_000},
            {"log.retention.ms": 1000},
            {"retention-too-greedy"},
            "the experiment sets retention.ms 3600000; broker-",
        ),
        (
            {"log.retention.bytes": 1_000_000},
            {"log.retention.bytes": 4000},
            {"retention-too-greedy"},
            "the experiment sets retention.bytes 1000000; broker-",
        ),
        (
            {},
            {"log.cleanup.policy": "compact"},
            {"committed-loss"},
            "",
        ),
    ],
)
def test_what_a_node_says_that_it_obeys_is_no_excuse(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    given: dict[str, Any],
    obeyed: dict[str, Any],
    anomalies: set[str],
    said: str,
) -> None:
    honest = judged(tmp_path / "honest", monkeypatch, {**given, **obeyed}, {})
    assert honest["verdict"] == "pass", "the experiment gives what is obeyed"
    found = judged(tmp_path / "disobeyed", monkeypatch, given, obeyed)
    assert found["verdict"] == "fail"
    assert set(found["anomalies"]) >= anomalies
    assert any(said in one["story"] for name in anomalies for one in found["anomalies"][name]["examples"])
