"""Assertions of whole runs: judged from the run directory, told in verdict, report and JUnit, judged again by check."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from highwater_chaos.assertions import check_assertions
from highwater_chaos.cli import execute
from highwater_chaos.experiment import load_experiment

HELD = """\
    - {name: one-controller, promql: sum(kafka_controller_kafkacontroller_activecontrollercount) == 1, during: steady}
    - {name: two, promql: count(kafka_server_replicamanager_partitioncount) == 2, during: fault, eventually: 3s}
    - {name: offline, promql: kafka_controller_kafkacontroller_offlinepartitionscount > 0, during: fault, never: true}
    - name: whole-again
      promql: sum(kafka_server_replicamanager_underreplicatedpartitions) == 0
      during: recovered
      eventually: 1500ms
"""
FAILED = """\
    - {name: all-there, promql: 'count(kafka_server_replicamanager_partitioncount) == 3', during: fault}
"""
UNJUDGED = """\
    - {name: misspelt, promql: 'sum(kafka_server_replicamanager_partitionscount) > 0', during: fault, never: true}
"""
EXPERIMENT = """\
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: asserted}}
spec:
  seed: 3
  timeout: 1m
  cluster:
    brokers: 3
    controllers: 1
    config: {{broker.session.timeout.ms: 1000, broker.heartbeat.interval.ms: 200, replica.lag.time.max.ms: 1000}}
    topics: [{{name: orders, partitions: 1, replicationFactor: 3}}]
  workload: {{producers: 1, rate: 20/s, consumers: 1}}
  schedule:
    - inject: {{kill: {{target: {{followerOf: orders-0}}, restartAfter: 3s}}}}
    - wait: 5s
  assertions:
{assertions}
  expect: [{expect}]
"""


def run(folder: Path, assertions: str, expect: str = "{verdict: pass}") -> tuple[int, Path]:
    """The exit status of ``run``, and the run's directory."""
    file = folder / "asserted.yaml"
    file.write_text(EXPERIMENT.format(assertions=assertions, expect=expect))
    status = execute(["run", str(file), "--out", str(folder / "runs")])
    (directory,) = (folder / "runs").iterdir()
    return status, directory


def verdict_in(directory: Path) -> Any:
    return json.loads((directory / "verdict.json").read_text())


def test_assertions_that_hold_change_nothing(tmp_path: Path) -> None:
    status, directory = run(tmp_path, HELD)
    verdict = verdict_in(directory)
    assert (status, verdict["verdict"], verdict["inconclusiveReasons"]) == (0, "pass", [])
    assert [(one["name"], one["holds"], one["during"]) for one in verdict["assertions"]] == [
        ("one-controller", True, "steady"),
        ("two", True, "fault"),
        ("offline", True, "fault"),
        ("whole-again", True, "recovered"),
    ]
    assert verdict["assertions"][0]["instants"] == 2, "the steady phase lasts two seconds, with a sample in each"
    assert "held" in (directory / "report.html").read_text()


def test_one_that_fails_makes_the_verdict_a_fail(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, directory = run(tmp_path, HELD + FAILED + UNJUDGED)
    verdict = verdict_in(directory)
    assert (status, verdict["verdict"], verdict["anomalies"]) == (1, "fail", {})
    failed = verdict["assertions"][-2]
    assert (failed["holds"], failed["must"]) == (False, "always")
    phase = next(one for one in verdict["timing"]["phases"] if one["name"] == "fault")
    assert phase["startSeconds"] <= failed["example"]["time_ns"] / 1e9 < phase["endSeconds"]
    assert failed["example"]["found"] == [{"what": "count(kafka_server_replicamanager_partitioncount)", "value": 2.0}]
    reason = (
        "assertion all-there: count(kafka_server_replicamanager_partitioncount) == 3 did not hold in phase fault at "
        f"{failed['example']['time_ns'] / 1e9:.3f} s: count(kafka_server_replicamanager_partitioncount) was 2"
    )
    assert verdict["reasons"][0] == reason
    assert verdict["expected"]["whyNot"] == "expected pass, found fail (assertion all-there)"
    assert f"  {reason}" in capsys.readouterr().out
    case = ElementTree.parse(directory / "junit.xml").getroot().find("testcase")
    assert case is not None
    assert [child.tag for child in case] == ["failure", "properties", "system-out"]
    assert reason in (case[0].text or "")
    assert "all-there: failed" in (case[2].text or "")
    page = (directory / "report.html").read_text()
    assert "Nothing was lost, but all-there did not hold" in page
    assert "did not hold</span>" in page


def test_one_that_cannot_be_judged_makes_the_verdict_inconclusive(tmp_path: Path) -> None:
    status, directory = run(tmp_path, UNJUDGED)
    verdict = verdict_in(directory)
    assert (status, verdict["verdict"], verdict["assertions"][0]["holds"]) == (2, "inconclusive", None)
    assert verdict["inconclusiveReasons"] == [
        "assertion misspelt could not be judged: no sample of kafka_server_replicamanager_partitionscount in phase"
        " fault (did you mean kafka_server_replicamanager_partitioncount?)"
    ]


@pytest.mark.parametrize(
    ("expect", "status", "why"),
    [
        ("{verdict: fail, assertions: [all-there]}", 0, ""),
        ("{verdict: fail}", 0, ""),
        (
            "{verdict: fail, assertions: [offline]}",
            1,
            "expected offline among the failed assertions, found all-there",
        ),
        ("{verdict: fail, anomalies: [lost-write]}", 1, "expected lost-write among the anomalies, found none"),
    ],
)
def test_a_failure_can_be_expected(tmp_path: Path, expect: str, status: int, why: str) -> None:
    found, directory = run(tmp_path, HELD + FAILED, expect)
    assert (found, verdict_in(directory)["expected"]["whyNot"]) == (status, why)


def test_the_run_directory_is_enough_to_judge_again(tmp_path: Path) -> None:
    _, directory = run(tmp_path, HELD + FAILED + UNJUDGED)
    first = verdict_in(directory)["assertions"]
    (directory / "verdict.json").unlink()
    spec = load_experiment(directory / "experiment.yaml").spec
    assert [one.to_dict() for one in check_assertions(spec, directory)] == first

    (directory / "phases.jsonl").unlink()
    again = check_assertions(spec, directory)
    assert {one.holds for one in again} == {None}
    assert "phases.jsonl" in again[0].reason


@pytest.mark.spark
@pytest.mark.usefixtures("spark")
def test_check_judges_them_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, directory = run(tmp_path, HELD + FAILED)
    capsys.readouterr()
    assert execute(["check", str(directory), "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["verdict"] == "fail"
    assert told["assertions"] == verdict_in(directory)["assertions"]
    assert told["reasons"][0].startswith("assertion all-there: ")


def test_a_prometheus_knows_no_simulated_time(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "asserted.yaml"
    text = EXPERIMENT.format(assertions=FAILED, expect="{verdict: pass}")
    file.write_text(text + "  prometheus: {url: 'http://127.0.0.1:9090'}\n")
    assert execute(["run", str(file)]) == 254
    assert "spec.prometheus needs real time, which sim does not have" in capsys.readouterr().err
