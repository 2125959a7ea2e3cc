"""A loss is called lost: one number and one sentence, with a consumer or without."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.experiment import parse_experiment
from highwater_chaos.records.removed import acknowledged_text
from highwater_chaos.report.explanation import explained
from highwater_chaos.report.files import RunFiles
from highwater_chaos.verdict.checked_run import CheckedRun, run_and_check
from highwater_chaos.verdict.job_summary import job_summary

FILE = """
# The only replica loses its disk.
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: only-replica}
spec:
  timeout: 1m
  cluster: {brokers: 1, controllers: 1, topics: [{name: orders, assignment: [[0]]}]}
  workload: {producers: 1, rate: 20/s, consumers: CONSUMERS}
  schedule:
    - wait: 2s
    - inject: {powerLoss: {target: {broker: 0}, wipe: true, restartAfter: 1s}}
    - wait: 2s
"""


def lossy(folder: Path, consumers: int) -> CheckedRun:
    experiment = parse_experiment(FILE.replace("CONSUMERS", str(consumers)), "a test")
    return run_and_check(experiment, "sim", folder, lambda _: None, varied={}, wire=False)


def acknowledged_before(directory: Path, time_ns: int) -> int:
    lines = (directory / "history" / "operations.jsonl").read_text().splitlines()
    rows: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return sum(len(row["value"]) for row in rows if (row["f"], row["type"]) == ("send", "ok") and row["time"] < time_ns)


ALL_AT_ONCE = """
# All brokers lose power at once, and a leader is elected that was in the ISR.
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: all-lose-power}
spec:
  timeout: 1m
  cluster: {mode: zookeeper, brokers: 3, topics: [{name: orders, assignment: [[0, 1, 2]]}]}
  workload: {producers: 1, rate: 20/s}
  schedule:
    - wait: 1s
    - inject: {powerLoss: {target: {all: brokers}, keep: none, restartAfter: 1s}}
    - wait: 2s
"""
LEADER_ALONE = """
# Followers get nothing from the leader before it dies.
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: leader-alone}
spec:
  timeout: 1m
  cluster: {brokers: 2, controllers: 1, topics: [{name: orders, assignment: [[0, 1]]}]}
  workload: {producers: 1, rate: 20/s, acks: "1", idempotence: false}
  schedule:
    - wait: 1s
    - inject: {partition: {between: [{broker: 0}, {broker: 1}]}, for: 4s}
    - wait: 2s
    - inject: {kill: {target: {broker: 0}, restartAfter: 10s}}
    - wait: 12s
"""
BEYOND = "This is beyond what Kafka promises: every member of the ISR lost its records."


def test_power_that_all_replicas_lost_at_once_is_beyond_what_kafka_promises(tmp_path: Path) -> None:
    experiment = parse_experiment(ALL_AT_ONCE, "a test")
    done = run_and_check(experiment, "sim", tmp_path, lambda _: None, varied={}, wire=False)
    sentence = done.verdict["explanation"]
    hits = re.findall(r"roker (\d) lost power at [\d.]+ s \([\d,]+ unsynced bytes\)", sentence)
    assert sorted(hits) == ["0", "1", "2"], sentence
    assert ", which was still in the ISR," in sentence
    assert sentence.endswith(BEYOND)
    events = done.directory / "events" / "nodes.jsonl"
    rows = [json.loads(line) for line in events.read_text().splitlines()]
    kept = [row for row in rows if (row["kind"], row["node"]) != ("log-appended", "broker-2")]
    events.write_text("".join(json.dumps(row) + "\n" for row in kept))
    assert BEYOND not in explained(RunFiles.read(done.directory)).sentence, "one of the ISR may never have had it"


@pytest.mark.parametrize(
    "deleted", ["", "    - admin: {deleteRecords: {partition: orders-0, before: 80}}\n    - wait: 3s\n"]
)
def test_what_acks_1_does_not_promise_is_lost_all_the_same(tmp_path: Path, deleted: str) -> None:
    """The leader acknowledges alone for two seconds, and dies: what it cuts when it comes back is gone. Who deletes
    records later deletes others of the same offsets."""
    experiment = parse_experiment(LEADER_ALONE + deleted, "a test")
    done = run_and_check(experiment, "sim", tmp_path, lambda _: None, varied={}, wire=False)
    rows = [json.loads(line) for line in (done.directory / "events" / "nodes.jsonl").read_text().splitlines()]
    ((begin, cut),) = [
        (row["offset"], row["end_offset"] - row["offset"]) for row in rows if row["kind"] == "log-truncated"
    ]
    assert begin < 70, "some of their offsets are below what is deleted"
    assert cut > 20
    assert (done.verdict["verdict"], done.verdict["lost"]) == ("pass", cut), "nobody promises to keep it"
    assert f": {cut} acknowledged records are gone. Kafka had not promised" in done.verdict["explanation"]
    assert "roker 0 cut its log of orders-0 back from offset " in done.verdict["explanation"]


@pytest.mark.parametrize("consumers", [0, 1])
def test_what_a_consumer_had_read_is_lost_too(tmp_path: Path, consumers: int) -> None:
    done = lossy(tmp_path, consumers)
    (fault,) = done.verdict["faults"]
    lost = acknowledged_before(done.directory, fault["injected_ns"])
    assert lost > 20
    assert (done.verdict["verdict"], done.verdict["lost"]) == ("pass", lost), "nobody promises to survive it"
    assert done.verdict["explanation"] == (
        "Broker 0 lost its disk at 4.1 s; broker 0, the only replica, became leader at 13.1 s with an empty log:"
        f" {lost} acknowledged records are gone."
        " This is beyond what Kafka promises: every member of the ISR lost its records."
    )
    assert "the only replica" in job_summary([(done.verdict, done.directory)]), "also of a pass"
    assert f" {lost} lost, none removed" in acknowledged_text(done.verdict)
