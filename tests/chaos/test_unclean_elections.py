"""A file that allows unclean elections, or has one replica, breaks no promise; any other loss is found all the same."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.verdict.checked_run import run_and_check
from highwater_pipeline import check_run, load_run

SCENARIOS = Path(__file__).parents[2] / "scenarios"
UNCLEAN = "unclean.leader.election.enable"
FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: breaks}
spec:
  seed: 1
  timeout: 2m
  cluster:
    brokers: 3
    controllers: 1
    config: {replica.lag.time.max.ms: 1000, broker.session.timeout.ms: 2000, broker.heartbeat.interval.ms: 400,
      replica.socket.timeout.ms: 1000}
    topics: [{name: orders, partitions: 1, assignment: [[0, 1, 2]], config: {unclean.leader.election.enable: true}}]
  workload: {producers: 2, rate: 20/s, consumers: 2}
  schedule:
    - await: {acked: {atLeast: 50}, within: 20s}
    - inject: {drop: {rpc: Fetch, from: {broker: 2}}}
    - await: {isr: {partition: orders-0, equals: [0, 1]}, within: 20s}
    - wait: 2s
    - parallel: [[{inject: {kill: {target: {broker: 0}}}}], [{inject: {kill: {target: {broker: 1}}}}]]
    - await: {leader: {partition: orders-0, is: 2}, within: 20s}
    - heal: all
    - wait: 4s
"""
LOSES: list[dict[str, Any]] = [
    {"diskWipe": {"restartAfter": "2s"}},
    {"powerLoss": {"wipe": True, "restartAfter": "2s"}},
]


def judged(data: dict[str, Any], folder: Path) -> tuple[dict[str, Any], Path]:
    done = run_and_check(
        parse_experiment(yaml.safe_dump(data), "a test"), "sim", folder, lambda _: None, varied={}, wire=False
    )
    return done.verdict, done.directory


def test_what_an_allowed_unclean_election_lost_is_no_anomaly(tmp_path: Path) -> None:
    verdict, directory = judged(yaml.safe_load(FILE), tmp_path)
    assert (verdict["verdict"], verdict["anomalies"]) == ("pass", {})
    run = json.loads((directory / "run.json").read_text(encoding="utf-8"))
    assert (run["settings"]["unclean"], run["settings"]["never_unclean"]) == (["orders"], [])
    # The same recordings of a topic that did not allow it.
    run["settings"]["unclean"] = []
    (directory / "run.json").write_text(json.dumps(run), encoding="utf-8")
    found = check_run(load_run(directory)).anomalies
    assert {"committed-loss", "isr-incomplete", "inconsistent-offsets"} <= found.keys()


def test_what_a_bug_loses_is_found_though_unclean_elections_are_allowed(tmp_path: Path) -> None:
    data = yaml.safe_load((SCENARIOS / "kip-903" / "kafka-14139.yaml").read_text(encoding="utf-8"))
    data["spec"]["cluster"]["switches"] = {"replica-epoch-check": "off"}
    data["spec"]["workload"]["rate"] = "10/s"
    data["spec"]["cluster"]["config"][UNCLEAN] = True
    verdict, _ = judged(data, tmp_path)
    assert {"committed-loss", "lost-write", "stale-isr-join"} <= verdict["anomalies"].keys()


@pytest.mark.quick("both-kraft")
@pytest.mark.parametrize("mode", ["kraft", "zookeeper"])
@pytest.mark.parametrize("loss", LOSES, ids=["disk", "both"])
def test_what_the_only_replica_lost_with_its_disk_is_no_anomaly(
    loss: dict[str, Any], mode: str, tmp_path: Path
) -> None:
    data = yaml.safe_load(FILE)
    cluster = data["spec"]["cluster"]
    if mode == "zookeeper":
        cluster["mode"], cluster["config"] = mode, {"zookeeper.session.timeout.ms": 2000}
        del cluster["controllers"]
    cluster["topics"] = [{"name": "orders", "partitions": 2, "replicationFactor": 1}]
    ((kind, fields),) = loss.items()
    target = {"target": {"leaderOf": "orders-0"}}
    data["spec"]["schedule"][1:] = [{"inject": {kind: {**target, **fields}}}, {"wait": "6s"}]
    verdict, directory = judged(data, tmp_path)
    assert (verdict["verdict"], verdict["anomalies"]) == ("pass", {})
    events = (directory / "events" / "nodes.jsonl").read_text(encoding="utf-8")
    # The same recordings if there had been another replica.
    replicas = events.replace('"replicas":[', '"replicas":[9,').replace('"reason":"created"', '"reason":"recovered"')
    (directory / "events" / "nodes.jsonl").write_text(replicas, encoding="utf-8")
    assert "committed-loss" in check_run(load_run(directory)).anomalies
