"""Acknowledged records that a log removes by itself: every verdict counts them, and a wrong clock is no excuse, but for
one that was drawn, which no file can expect."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
import yaml

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.records.removed import removed_text
from highwater_chaos.verdict.checked_run import run_and_check

FILE = """
# The leader's clock jumps ahead by more than a week: it believes that records of a second ago are too old.
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: wrong-clock}
spec:
  seed: 1
  timeout: 4m
  cluster:
    brokers: 3
    config: {min.insync.replicas: 2, log.retention.check.interval.ms: 500}
    topics: [{name: orders, partitions: 1, assignment: [[0, 1, 2]], config: {segment.bytes: 2000}}]
  workload: {producers: 2, rate: 30/s, consumers: 1}
  schedule: []
  checks: [all]
  expect: []
"""
CLOCK = [
    {"await": {"acked": {"atLeast": 100}, "within": "30s"}},
    {"inject": {"name": "ahead", "clockSkew": {"target": {"broker": 0}, "offset": "200h"}}},
    {"wait": "10s"},
    {"heal": "ahead"},
    {"wait": "2s"},
]

DRAWN = [
    {"await": {"acked": {"atLeast": 100}, "within": "30s"}},
    {"random": {"for": "8s", "every": "800ms", "lasting": "4s", "faults": {"clockSkew": 1}, "targets": ["brokers"]}},
    {"wait": "2s"},
]


def judged(folder: Path, schedule: list[Any], topic: dict[str, Any], expect: list[Any]) -> tuple[dict[str, Any], Path]:
    data = yaml.safe_load(FILE)
    data["spec"]["schedule"], data["spec"]["expect"] = schedule, expect
    data["spec"]["cluster"]["topics"][0]["config"] |= topic
    experiment = parse_experiment(yaml.safe_dump(data), "a test")
    done = run_and_check(experiment, "sim", folder, lambda _: None, varied={}, wire=False)
    return done.verdict, done.directory


@pytest.mark.quick("asked-for", "drawn")
@pytest.mark.parametrize(
    ("schedule", "topic", "verdict", "what"),
    [
        pytest.param(CLOCK, {}, "fail", "retention", id="create-time"),
        pytest.param(CLOCK, {"message.timestamp.type": "LogAppendTime"}, "fail", "retention", id="append-time"),
        pytest.param(CLOCK, {"retention.ms": -1, "retention.bytes": 4000}, "pass", "retention", id="by-size"),
        pytest.param([{"wait": "12s"}], {"retention.ms": 2000}, "pass", "retention", id="as-allowed"),
        pytest.param(DRAWN, {"retention.ms": 4000}, "pass", "retention", id="drawn"),
        pytest.param(
            [
                {"await": {"acked": {"atLeast": 100}, "within": "30s"}},
                {"admin": {"deleteRecords": {"partition": "orders-0"}}},
                {"wait": "2s"},
            ],
            {},
            "pass",
            "deleteRecords",
            id="asked-for",
        ),
    ],
)
def test_what_a_log_removes_by_itself(
    tmp_path: Path, schedule: list[Any], topic: dict[str, Any], verdict: str, what: str
) -> None:
    expect = [{"verdict": "fail", "anomalies": ["retention-too-greedy"]}] if verdict == "fail" else []
    found, directory = judged(tmp_path, schedule, topic, expect)
    assert (found["verdict"], found["asExpected"]) == (verdict, True), found["reasons"]
    assert set(found["anomalies"]) == ({"retention-too-greedy"} if verdict == "fail" else set())
    assert [name for name, count in found["removed"].items() if count] == [what]
    assert 50 < found["removed"][what] < found["acknowledged"]
    said = f"removed {found['removed'][what]} by {what.replace('deleteR', 'DeleteR')}"
    assert removed_text(found) == said
    assert said in (directory / "report.html").read_text()
    properties = {
        one.get("name"): one.get("value") for one in ElementTree.parse(directory / "junit.xml").iter("property")
    }
    assert properties["removed"] == said
