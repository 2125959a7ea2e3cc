"""A disk that fails under a running cluster ends a node by design, in both modes: no finding, and nothing is lost."""

from __future__ import annotations

from random import Random

import pytest

from highwater_chaos.campaign.draw import draw_data
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.verdict.checked_run import run_and_forget

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: failing-disk}}
spec:
  seed: 1
  timeout: 4m
  cluster:
    mode: {mode}
    brokers: 3
    config: {{min.insync.replicas: 1, replica.lag.time.max.ms: 2000, replica.socket.timeout.ms: 2000}}
    topics: [{{name: orders, partitions: 2, assignment: [[0, 1, 2], [1, 2, 0]]}}]
  workload: {{producers: 2, rate: 10/s, consumers: 1}}
  schedule:
    - await: {{acked: {{atLeast: 20}}, within: 30s}}
    - inject: {{name: bad, {kind}: {{target: {target}}}}}
    - wait: 8s
    - heal: bad
    - await: {{underReplicated: 0, within: 60s}}
  checks: [all]
"""
TARGETS = ("{leaderOf: orders-0}", "{followerOf: orders-0}", "{activeController: true}")


@pytest.mark.quick("zookeeper-{activeController: true}-diskFull", "zookeeper-{zookeeper: 0}-diskError")
@pytest.mark.parametrize("kind", ["diskFull", "diskError"])
@pytest.mark.parametrize(
    ("mode", "target"),
    [
        *(("kraft", target) for target in TARGETS),
        *(pytest.param("zookeeper", target, marks=pytest.mark.thorough) for target in TARGETS[:2]),  # logs are the same
        *(("zookeeper", target) for target in (TARGETS[2], "{zookeeper: 0}")),
    ],
)
def test_no_node_crashes_and_nothing_is_lost(mode: str, kind: str, target: str) -> None:
    experiment = parse_experiment(FILE.format(mode=mode, kind=kind, target=target), "a test")
    _, verdict = run_and_forget(experiment, wire=False)
    assert (verdict["verdict"], verdict["anomalies"], verdict["reasons"]) == ("pass", {}, [])


def test_random_draws_them_in_both_modes() -> None:
    drawn = {"kraft": set[str](), "zookeeper": set[str]()}
    for seed in range(60):
        spec = draw_data(Random(seed), seed)["spec"]
        text = str(spec["schedule"])
        drawn[spec["cluster"]["mode"]] |= {kind for kind in ("diskFull", "diskError", "diskStall") if kind in text}
    assert drawn == {key: {"diskFull", "diskError", "diskStall"} for key in drawn}
