"""What a run exercised, and when a run warns that its schedule touched less than it seems to."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from highwater_chaos.cli import execute
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.report.vacuity import exercised
from highwater_chaos.run.exercised import Exercised, exercised_text
from highwater_pipeline.tables.recorded_events import EVERY_KIND

SAME_BROKER_TWICE = """
# The second fault takes the follower that hangs, and is not in the ISR.
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: same-broker-twice}
spec:
  timeout: 1m
  cluster: {brokers: 3, controllers: 1, topics: [{name: orders, assignment: [[0, 1, 2]]}]}
  workload: {producers: 1, rate: 20/s}
  schedule:
    - inject: {name: hang, pause: {target: {broker: 1}}}
    - await: {isr: {partition: orders-0, excludes: [1]}, within: 30s}
    - inject: {kill: {target: {followerOf: orders-0}, restartAfter: 1s}}
    - wait: 2s
"""


def test_a_pass_that_hit_one_broker_twice_warns_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(SAME_BROKER_TWICE)
    page, junit = tmp_path / "page.md", tmp_path / "junit.xml"
    status = execute(["run", str(file), "--out", str(tmp_path / "runs"), "--summary", str(page), "--junit", str(junit)])
    assert status == 0, "a warning changes no verdict"
    (directory,) = (tmp_path / "runs").iterdir()
    found = json.loads((directory / "verdict.json").read_text())["exercised"]
    assert (found["faults"], found["isrShrinks"], found["brokerRestarts"]) == ({"kill": 1, "pause": 1}, 1, 1)
    assert (found["elections"], found["bytesLost"], found["truncations"]) == (0, 0, 0)
    again, outside = found["warnings"]
    assert (again["kind"], again["faults"]) == ("hit-again", ["fault-1", "fault-2"])
    assert again["text"].startswith("kill (fault-2) hit no node that still worked: broker-1 hung since")
    assert (outside["kind"], outside["faults"]) == ("not-in-isr", ["fault-2"])
    properties = [(one.get("name"), one.get("value")) for one in ElementTree.parse(junit).iter("property")]
    assert ("exercised.isrShrinks", "1") in properties
    assert ("warning", again["text"]) in properties
    counts = exercised_text(found)
    for text in (capsys.readouterr().out, page.read_text(), (directory / "report.html").read_text()):
        assert counts in text
        assert again["text"] in text


def test_a_schedule_that_hits_another_member_of_the_isr_is_not_warned_of(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(SAME_BROKER_TWICE.replace("{followerOf: orders-0}", "{inSyncFollowerOf: orders-0, not: hang}"))
    assert execute(["run", str(file), "--out", str(tmp_path / "runs")]) == 0
    (directory,) = (tmp_path / "runs").iterdir()
    first, second = (json.loads(line) for line in (directory / "faults.jsonl").read_text().splitlines())
    assert (first["targets"], second["targets"]) == (["broker-1"], ["broker-2"])
    assert json.loads((directory / "verdict.json").read_text())["exercised"]["warnings"] == []


def found_in(recording: Any, kinds: frozenset[str] = frozenset(EVERY_KIND.kinds)) -> Exercised:
    recording.verdict |= {"acknowledged": 1, "software": {"runtime": "highwater"}}
    run = replace(recording.files(), recorded_kinds=kinds, phases=[{"name": "fault", "start_ns": 0, "end_ns": 10**12}])
    return exercised(run, parse_experiment(recording.experiment, "a test"))


def warned(recording: Any) -> list[str]:
    return [one.kind for one in found_in(recording).warnings]


def state(recording: Any, ms: int, isr: list[int], leader: int = 0, epoch: int = 0) -> None:
    fields = {"isr": isr, "leader": leader, "leader_epoch": epoch, "reason": "changed", "metadata_offset": ms}
    recording.on_partition(ms, "controller-0", "partition-changed", replicas=[0, 1], **fields)


def test_counts(recording: Any) -> None:
    for node in ("broker-0", "broker-1", "controller-0"):
        recording.event(0, node, "node-started")
    for ms, isr, leader in ((1, [0, 1], 0), (20, [1], -1), (30, [1], 1), (40, [0, 1], 1)):
        state(recording, ms, isr, leader, ms)
        state(recording, ms, isr, leader, ms)  # each controller reports it
    recording.event(50, "broker-0", "node-stopped", reason="kill")
    recording.event(60, "broker-0", "node-started")
    recording.on_partition(70, "broker-0", "log-truncated", offset=1, end_offset=2, reason="diverging-epoch")
    lost = [{"what": "lost", "data": {"lostBytes": 7}}]
    recording.fault("powerLoss", 10, 60, "broker-0", parameters=KILL, evidence={"inject": lost, "heal": []})
    recording.fault("kill", 100, 110, "broker-0", parameters=KILL, confirmed=False)
    found = found_in(recording)
    assert (found.faults, found.bytes_lost, found.elections) == ({"powerLoss": 1}, 7, 1)
    assert (found.isr_shrinks, found.isr_expansions, found.truncations, found.broker_restarts) == (1, 1, 1, 1)
    unknown = found_in(recording, frozenset())
    counts = (unknown.elections, unknown.isr_shrinks, unknown.truncations, unknown.broker_restarts, unknown.transitions)
    assert counts == (None,) * 5, "what is not recorded is not 0"
    assert "not available here: elections" in exercised_text(unknown.to_dict())
    recording.faults[0]["evidence"] = {"inject": [{"what": "lost power"}], "heal": []}
    assert found_in(recording).bytes_lost is None, "nobody measured it"


KILL = {"target": {"broker": 0}}


def test_an_election_that_never_came(recording: Any) -> None:
    state(recording, 1, [0, 1])
    recording.fault("kill", 100, 900, "broker-0", parameters=KILL)
    assert warned(recording) == ["no-election"]
    state(recording, 500, [1], 1, 1)
    assert warned(recording) == []


@pytest.mark.parametrize(("lasts_ms", "shrinks", "expected"), [(60_000, False, 1), (60_000, True, 0), (900, False, 0)])
def test_an_isr_that_never_shrank(recording: Any, lasts_ms: int, shrinks: bool, expected: int) -> None:
    state(recording, 1, [0, 1])
    recording.fault("pause", 100, 100 + lasts_ms, "broker-1", parameters={"target": {"broker": 1}})
    recording.op(200, 1, "invoke", "send", (None, 1)).op(300, 1, "ok", "send", (0, 1))
    if shrinks:
        state(recording, 40_000, [0])
    assert warned(recording) == ["isr-never-shrank"] * expected


@pytest.mark.parametrize(("ack_ms", "expected"), [(50, 1), (600, 0)])
def test_nothing_was_acknowledged_under_faults(recording: Any, ack_ms: int, expected: int) -> None:
    recording.op(40, 1, "invoke", "send", (None, 1)).op(ack_ms, 1, "ok", "send", (0, 1))
    recording.fault("pause", 100, 2_000, "broker-1", parameters={"target": {"broker": 1}})
    assert warned(recording) == ["nothing-acknowledged"] * expected


@pytest.mark.parametrize(
    ("bytes_lost", "wipe", "drawn", "expected"),
    [
        ((0,), False, False, 1),
        ((5,), False, False, 0),
        ((0,), True, False, 0),
        ((0, 5), False, True, 0),
        ((0, 0), False, True, 1),
    ],
)
def test_a_power_loss_that_lost_nothing(
    recording: Any, bytes_lost: tuple[int, ...], wipe: bool, drawn: bool, expected: int
) -> None:
    for number, lost in enumerate(bytes_lost):
        evidence = {"inject": [{"what": "lost", "data": {"lostBytes": lost}}], "heal": []}
        at = 1_000 * number
        parameters = {**KILL, "wipe": wipe}
        recording.fault("powerLoss", at, at + 10, "broker-0", parameters=parameters, drawn=drawn, evidence=evidence)
    assert warned(recording) == ["lost-no-bytes"] * expected


@pytest.mark.parametrize(("idle", "expected"), [((True, True), 1), ((True, False), 0)])
def test_drawn_rules_that_caught_nothing(recording: Any, idle: tuple[bool, ...], expected: int) -> None:
    for one in idle:
        recording.fault("drop", 1, 2, parameters={"rpc": "Fetch"}, drawn=True, idle=one, confirmed=not one)
    assert warned(recording) == ["caught-nothing"] * expected


def test_times_of_several_clocks_are_not_taken_for_certain(recording: Any) -> None:
    recording.event(0, "broker-0", "node-started").event(90, "broker-0", "node-stopped", reason="kill")
    recording.fault("kill", 90, 5_000, "broker-0", parameters=KILL)
    recording.fault("pause", 100, 200, "broker-0", parameters=KILL)
    assert warned(recording)[:1] == ["hit-again"]
    recording.verdict["backend"] = "kubernetes"
    assert "hit-again" not in warned(recording)
