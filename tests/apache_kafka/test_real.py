"""Apache Kafka, really run and judged. Half a minute each: JVMs start, sessions expire."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.apache_kafka.versions import TESTED, Mode
from highwater_chaos.backends.ensemble import servers
from highwater_chaos.backends.local.apache_kafka import available
from highwater_chaos.backends.local.backend import LocalBackend
from highwater_chaos.backends.local.highwater_program import kazoo_missing
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.experiment import load_experiment, parse_experiment
from highwater_chaos.schedule.capability import missing_capabilities
from highwater_chaos.verdict.checked_run import CheckedRun, run_and_check
from highwater_lab.track_record import bugs_in
from highwater_pipeline.anomalies import BY_FEWER
from highwater_pipeline.tables.settings import is_tombstone
from highwater_runtime.ports import SECOND

SCENARIOS = Path(__file__).parents[2] / "scenarios" / "apache-kafka"

ORDINARY_TROUBLE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: ordinary-trouble}
spec:
  seed: 3
  timeout: 4m
  cluster:
    runtime: apache-kafka
    version: 4.3.1
    brokers: 2
    controllers: 1
    config: {broker.session.timeout.ms: 3000, broker.heartbeat.interval.ms: 500, log.cleaner.backoff.ms: 300}
    topics:
      - {name: orders, partitions: 1, replicationFactor: 2}
      - name: latest
        partitions: 1
        replicationFactor: 2
        config: {cleanup.policy: compact, segment.ms: 500, delete.retention.ms: 1000, min.cleanable.dirty.ratio: "0.01"}
  workload: {producers: 1, rate: 50/s, acks: all, consumers: 1, keys: 200, tombstones: 0.3}
  schedule:
    - await: {acked: {atLeast: 20}, within: 60s}
    - inject: {kill: {target: {leaderOf: orders-0}, restartAfter: 1s}}
    - await: {isr: {partition: orders-0, size: 1}, within: 60s}
    - await: {underReplicated: 0, within: 90s}
    - admin: {reassign: {partition: orders-0, replicas: [1, 0], throttle: 5000000}}
    - admin: {removeThrottle: {topic: orders}}
    - inject: {stop: {target: {leaderOf: orders-0}, restartAfter: 1s}}
    - wait: 1s
    - await: {underReplicated: 0, within: 90s}
  checks: [all]
"""


SESSION = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: session-expires}
spec:
  seed: 3
  timeout: 4m
  cluster:
    mode: zookeeper
    runtime: apache-kafka
    version: 3.9.2
    brokers: 2
    zookeepers: 1
    config: {zookeeper.session.timeout.ms: 3000, replica.lag.time.max.ms: 3000}
    topics: [{name: orders, partitions: 1, replicationFactor: 2}]
  workload: {producers: 1, rate: 50/s, acks: all, consumers: 1}
  schedule:
    - await: {acked: {atLeast: 20}, within: 90s}
    - inject: {name: expired, sessionExpiry: {target: {broker: 0}}}
    - heal: expired
    - await: {broker: {id: 0, state: unfenced}, within: 90s}
    - await: {underReplicated: 0, within: 90s}
  checks: [all]
"""


FEWER = {
    "runtime: apache-kafka": "runtime: apache-kafka\n    version: 4.3.1",
    "controllers: 3": "controllers: 1",
    "brokers: 3": "brokers: 2",
    "replicationFactor: 3": "replicationFactor: 2",
    "atLeast: 500": "atLeast: 200",
}
"""Each node is a JVM."""


KEYS, TOMBSTONES = 200, 300
"""Of the records of ordinary trouble; tombstones of 1,000."""


def _acknowledged(directory: Path) -> dict[str, list[tuple[int, int]]]:
    """By partition: offset and value of each record whose send was acknowledged."""
    found: dict[str, list[tuple[int, int]]] = {}
    for row in (directory / "history" / "operations.jsonl").read_bytes().splitlines():
        operation = json.loads(row)
        if (operation["f"], operation["type"]) == ("send", "ok"):
            for sent in operation["value"]:
                if sent["offset"] is not None:
                    found.setdefault(sent["key"], []).append((sent["offset"], sent["value"]))
    return found


def run(experiment: Any, parent: Path) -> CheckedRun:
    return run_and_check(experiment, "local", parent, lambda phase: None, varied={}, wire=False)


@pytest.mark.thorough
@pytest.mark.usefixtures("apache_kafka")
def test_a_kill_and_a_clean_stop_lose_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As plain processes on loopback, as without root."""
    monkeypatch.setattr("highwater_chaos.verdict.checked_run.make_backend", lambda name, wire: LocalBackend())
    done = run(parse_experiment(ORDINARY_TROUBLE, "ordinary-trouble.yaml"), tmp_path)
    verdict = done.verdict
    assert verdict["verdict"] == "pass", verdict["reasons"]
    of_lines = ("isr-incomplete", "stale-isr-join", "two-leaders", "hw-regression", "stray-partition")
    judged = {"leader-not-in-isr", "divergence", "replica-incomplete", "live-partition-deleted", *of_lines}
    assert {name: verdict["checks"][name] for name in judged} == dict.fromkeys(judged, "ok")
    assert {name: verdict["checks"][name] for name in BY_FEWER} == dict.fromkeys(BY_FEWER, "ok")
    assert verdict["features"]["configuration"]["state"] == "ok"
    why = "Apache Kafka does not log which batches it commits, flushes and acknowledges: "
    assert [one.removeprefix(why).split()[0] for one in verdict["reasons"]] == [*BY_FEWER]

    events = [json.loads(line) for line in (done.directory / "events" / "nodes.jsonl").read_bytes().splitlines()]
    assert {event["kind"] for event in events} - {"isr-taken", "log-truncated"} == {
        "alter-partition-handled",
        "became-follower",
        "became-leader",
        "isr-proposal-ended",
        "isr-proposed",
        "log-appended",
        "log-loaded",
        "node-started",
        "node-stopped",
        "raft-state",
        "broker-registered",
        "broker-registration-changed",
        "broker-state",
        "partition-changed",
        "high-watermark",
    }
    stopped = {event["reason"] for event in events if event["kind"] == "node-stopped"}
    assert {"kill", "stop"} <= stopped
    assert "crash" not in stopped
    rows = [json.loads(row) for row in (done.directory / "dumps" / "replica_log.jsonl").read_bytes().splitlines()]
    written = _acknowledged(done.directory)
    assert sum(row["partition"] == "orders-0" and row["value"] is not None for row in rows) >= 2 * len(
        written["orders-0"]
    )
    # The cleaners removed older records of a key, and tombstones whose time was over.
    assert [verdict["checks"][check] for check in ("altered", "lost-write", "duplicate")] == 3 * ["ok"]
    assert verdict["removed"]["compaction"] > 20
    last = {value % KEYS: value for _, value in sorted(written["latest-0"])}
    left = {row["value"] for row in rows if row["partition"] == "latest-0"}
    assert any(is_tombstone(value, TOMBSTONES) for value in last.values() if value not in left)
    assert (done.directory / "logs" / "broker-0.1.log").stat().st_size > 1000


@pytest.mark.thorough  # in make test the pair of test_message_faults.py cuts power, and loses records
@pytest.mark.usefixtures("apache_kafka")
@pytest.mark.skipif(os.geteuid() != 0, reason="losing power needs root (loop devices, mounts)")
def test_a_power_cut_of_all_replicas_loses_what_was_acknowledged(tmp_path: Path) -> None:
    text = (SCENARIOS / "all-replicas-lose-power.yaml").read_text(encoding="utf-8")
    for found, fewer in FEWER.items():
        assert found in text, "the scenario has changed: so must this test"
        text = text.replace(found, fewer)
    done = run(parse_experiment(text, "all-replicas-lose-power.yaml"), tmp_path)
    assert done.verdict["asExpected"], done.verdict["reasons"]
    assert done.verdict["anomalies"]["lost-write"]["count"] > 100


@pytest.mark.thorough
@pytest.mark.usefixtures("apache_kafka")
@pytest.mark.skipif(os.geteuid() != 0, reason="freezing a file system needs root (loop devices, mounts)")
def test_a_leader_whose_disk_takes_no_writes_keeps_its_session(tmp_path: Path) -> None:
    """What the scenario expects of our brokers is what Apache Kafka's do: it has a thread for heartbeats."""
    scenario = load_experiment(SCENARIOS.parent / "log" / "leader-disk-stalls.yaml")
    cluster = scenario.cluster.model_copy(update={"runtime": "apache-kafka", "version": "4.3.1", "controllers": 1})
    # There are no metrics of Apache Kafka: events say below what the assertion says there.
    spec = scenario.spec.model_copy(update={"cluster": cluster, "assertions": []})
    done = run(scenario.model_copy(update={"spec": spec}), tmp_path)
    assert done.verdict["asExpected"], done.verdict["reasons"]
    assert done.verdict["verdict"] == "pass"
    (fault,) = [json.loads(line) for line in (done.directory / "faults.jsonl").read_bytes().splitlines()]
    assert fault["evidence"]["inject"][0]["data"]["probe"] == "blocked"
    assert fault["heal_started_ns"] - fault["injected_ns"] >= 12 * SECOND
    events = [json.loads(line) for line in (done.directory / "events" / "nodes.jsonl").read_bytes().splitlines()]
    after = [event for event in events if fault["started_ns"] < event["time_ns"] < fault["healed_ns"] + SECOND]
    sessions = ("broker-registration-changed", "broker-registered", "node-stopped")
    assert [event for event in after if event["kind"] in sessions] == []
    partitions = [event for event in after if event["kind"] == "partition-changed"]
    # As soon as its disk is healed, the leader may find its followers behind, before it has answered their requests.
    assert [event for event in partitions if event["time_ns"] < fault["heal_started_ns"]] == []
    assert {(event["leader"], event["leader_epoch"]) for event in partitions} <= {(0, 0)}


@pytest.mark.thorough
@pytest.mark.usefixtures("apache_kafka")
@pytest.mark.skipif(os.geteuid() != 0, reason="losing power needs root (loop devices, mounts)")
def test_a_bug_of_the_track_record_is_found_by_one_metadata_version_alone(tmp_path: Path) -> None:
    """One release is enough for both sides, and each logs why."""
    (bug,) = [one for one in bugs_in() if one.name == "KAFKA-15495"]
    for side, found in ((bug.has_bug, "fail"), (bug.has_fix, "pass")):
        done = run(side.experiment, tmp_path)
        assert done.verdict["asExpected"], done.verdict["expected"]["whyNot"]
        assert done.verdict["verdict"] == found
        assert all(line["found"].startswith("broker-1.1.log: ") for line in done.verdict["expected"]["logged"])


def test_the_simulator_refuses_it() -> None:
    for file in sorted(SCENARIOS.glob("*.yaml")):
        assert any(
            "apache-kafka" in problem for problem in missing_capabilities(load_experiment(file), SimBackend())
        ), file


def _plain(mode: str) -> str:
    """Kills, pauses, partitions and power losses, one at a time, in a cluster of one of the modes."""
    quorum, session = {
        "kraft": ("controllers: 1", "broker.session.timeout.ms: 3000, broker.heartbeat.interval.ms: 500"),
        "zookeeper": ("zookeepers: 1", "zookeeper.session.timeout.ms: 3000"),
    }[mode]
    trouble = "".join(
        f"    - inject: {{{fault}}}\n"
        "    - await: {isr: {partition: orders-0, size: 2}, within: 90s}\n"
        f"{heal}"
        "    - await: {underReplicated: 0, within: 120s}\n"
        for fault, heal in (
            ("kill: {target: {leaderOf: orders-0}, restartAfter: 2s}", ""),
            ("name: paused, pause: {target: {leaderOf: orders-0}}", "    - heal: paused\n"),
            ("name: alone, partition: {isolate: {leaderOf: orders-0}}", "    - heal: alone\n"),
            ("powerLoss: {target: {leaderOf: orders-0}, restartAfter: 2s}", ""),
        )
    )
    return f"""
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {{name: plain}}
spec:
  seed: 7
  timeout: 10m
  recovery: 2m
  cluster:
    runtime: apache-kafka
    mode: {mode}
    brokers: 3
    {quorum}
    config: {{min.insync.replicas: 2, replica.lag.time.max.ms: 6000, {session}}}
    topics: [{{name: orders, partitions: 2, replicationFactor: 3}}]
  workload: {{producers: 2, rate: 100/s, acks: all, idempotence: true, consumers: 1, groupMembers: 2}}
  schedule:
    - await: {{acked: {{atLeast: 50}}, within: 120s}}
{trouble}  checks: [all]
"""


@pytest.mark.thorough
@pytest.mark.usefixtures("apache_kafka")
@pytest.mark.skipif(os.geteuid() != 0, reason="cutting links and losing power needs root")
@pytest.mark.parametrize(
    ("release", "mode"), [(release, mode) for release, tested in TESTED.items() for mode in tested.modes]
)
def test_every_release_survives_one_fault_at_a_time(tmp_path: Path, release: str, mode: Mode) -> None:
    """What a release begins with is what is said of it, and each kind of event comes."""
    if (why := available(release)) is not None:
        pytest.skip(why)
    if mode == "zookeeper" and (why := servers.available() or kazoo_missing()) is not None:
        pytest.skip(why)
    done = run(parse_experiment(_plain(mode), "plain.yaml").with_versions(release, None), tmp_path)
    verdict = done.verdict
    assert verdict["verdict"] == "pass", (verdict["reasons"], verdict["anomalies"])
    assert (verdict["software"]["version"], verdict["software"]["mode"]) == (release, mode)
    assert verdict["features"]["metadata of brokers"]["state"] == "ok"
    events = [json.loads(line) for line in (done.directory / "events" / "nodes.jsonl").read_bytes().splitlines()]
    assert {"broker-registered", "broker-state", "partition-changed", "high-watermark"} <= {
        one["kind"] for one in events
    }
    if mode == "kraft":
        begins_with = TESTED[release].metadata_version
        logs = "".join(file.read_text(encoding="utf-8") for file in (done.directory / "logs").glob("controller-0.*"))
        assert begins_with is not None
        assert begins_with in logs


@pytest.mark.thorough
@pytest.mark.usefixtures("apache_kafka")
@pytest.mark.skipif(servers.available() is not None or kazoo_missing() is not None, reason="needs ZooKeeper and kazoo")
def test_a_session_expires_in_zookeeper_mode(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As plain processes on loopback. The broker goes on leading until it finds out, and begins another session."""
    monkeypatch.setattr("highwater_chaos.verdict.checked_run.make_backend", lambda name, wire: LocalBackend())
    done = run(parse_experiment(SESSION, "session.yaml"), tmp_path)
    verdict = done.verdict
    assert verdict["verdict"] == "pass", verdict["reasons"]
    (fault,) = [json.loads(line) for line in (done.directory / "faults.jsonl").read_bytes().splitlines()]
    (evidence,) = fault["evidence"]["inject"]
    assert evidence["ok"], evidence
    events = [json.loads(line) for line in (done.directory / "events" / "nodes.jsonl").read_bytes().splitlines()]
    states = [event for event in events if event["kind"] == "broker-state" and event["broker"] == 0]
    # What is committed may be seen after the log line that follows it.
    assert sorted(event["reason"] for event in states[:2]) == ["registered", "running"]
    assert [event["reason"] for event in states[2:]] == ["registered"]
    first, second = [event["broker_epoch"] for event in states if event["reason"] == "registered"]
    assert second > first
    assert {"controller-changed", "partition-changed", "high-watermark"} <= {event["kind"] for event in events}
