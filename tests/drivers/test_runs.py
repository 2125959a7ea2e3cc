"""Experiments whose clients are librdkafka's: refused where they cannot run, judged as ours where they can."""

from __future__ import annotations

import importlib.util
import sys

import pytest

from highwater_chaos.backends import make_backend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ExperimentError, parse_experiment
from highwater_chaos.schedule.capability import BackendCannotError, missing_capabilities
from highwater_chaos.verdict.checked_run import run_and_check
from highwater_chaos.workload import drivers
from highwater_chaos.workload.client_host import HostsClientProcesses

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: librdkafka}
spec:
  seed: 7
  timeout: 3m
  cluster:
    brokers: 3
    controllers: 1
    config: {min.insync.replicas: 2, broker.session.timeout.ms: 4000, broker.heartbeat.interval.ms: 500}
    topics: [{name: orders, partitions: 2, replicationFactor: 3}]
  workload: {driver: confluent-kafka, producers: 2, rate: 100/s, consumers: 1}
  schedule:
    - await: {acked: {atLeast: 100}, within: 60s}
    - inject: {kill: {target: {leaderOf: orders-0}, restartAfter: 2s}}
    - wait: 5s
"""


def experiment(text=FILE):
    return parse_experiment(text, "test.yaml")


def test_the_simulator_refuses_it():
    with pytest.raises(BackendCannotError) as refused:
        run_experiment(experiment(), make_backend("sim"))
    assert str(refused.value) == (
        "backend sim cannot run this experiment: workload.driver confluent-kafka needs clients in processes of their"
        " own, which sim does not have"
    )


def test_a_missing_package_is_named(monkeypatch):
    backend = make_backend("local")
    assert HostsClientProcesses in backend.primitives
    find = importlib.util.find_spec
    monkeypatch.setattr(drivers, "find_spec", lambda name: None if name == "confluent_kafka" else find(name))
    assert missing_capabilities(experiment(), backend) == [
        "workload.driver confluent-kafka needs the package confluent-kafka, which is not installed:"
        " pip install 'highwater-chaos[drivers]'"
    ]


def test_an_unknown_driver_is_refused_with_the_known_ones():
    with pytest.raises(ExperimentError, match=r"driver: expected 'highwater' or 'confluent-kafka'"):
        experiment(FILE.replace("confluent-kafka", "sarama"))


@pytest.mark.thorough
@pytest.mark.parametrize("driver", ["highwater", "confluent-kafka"])
def test_records_are_as_they_were_sent_while_a_leader_dies_and_logs_are_compacted(tmp_path, driver):
    """With keys, tombstones, batches that lose some of their records, and times of the leaders.

    After the kill batches are larger than a segment may be, so librdkafka begins new epochs, and writes records twice.
    """
    pytest.importorskip("confluent_kafka")
    policy = "cleanup.policy: compact, segment.bytes: 4000, delete.retention.ms: 2000, message.timestamp.type"
    topics = ", ".join(
        f"{{name: {name}, partitions: 1, replicationFactor: 3, config: {{{policy}: {kind}}}}}"
        for name, kind in (("orders", "CreateTime"), ("dated", "LogAppendTime"))
    )
    text = FILE.replace("confluent-kafka", driver).replace("min.i", "log.retention.check.interval.ms: 500, min.i")
    text = text.replace("[{name: orders, partitions: 2, replicationFactor: 3}]", f"[{topics}]").replace(
        "100/s", "200/s"
    )
    done = run_and_check(experiment(text), "local", tmp_path, lambda _: None, varied={}, wire=False)
    verdict = done.verdict
    assert (verdict["verdict"], verdict["reasons"]) == ("pass", [])
    assert verdict["acknowledged"] > 300
    history = (done.directory / "history" / "operations.jsonl").read_text().splitlines()
    clients = {name for row in history for name in ("producer-0", "producer-1", "consumer-0") if f'"{name}"' in row}
    assert clients == {"producer-0", "producer-1", "consumer-0"}
    assert [verdict["checks"][check] for check in ("altered", "committed-loss", "duplicate")] == 3 * ["ok"]
    assert verdict["removed"]["compaction"] > 100


@pytest.mark.thorough
def test_a_driver_that_dies_makes_the_run_inconclusive(tmp_path, monkeypatch):
    pytest.importorskip("confluent_kafka")
    dying = "import sys,os,signal,threading;threading.Timer(3,os.kill,(os.getpid(),signal.SIGKILL)).start()"
    code = (
        f"{dying};sys.argv[0:1]=['driver'];from highwater_chaos.workload.drivers.confluent.__main__ import main;main()"
    )
    driver = drivers.DRIVERS["confluent-kafka"]
    command = (sys.executable, "-c", code)
    monkeypatch.setitem(
        drivers.DRIVERS, driver.name, drivers.Driver(driver.name, command, driver.package, driver.extra)
    )
    # The only producer: without it nothing is acknowledged any more, and nobody has to wait long for that.
    text = FILE.replace("producers: 2", "producers: 1").replace("atLeast: 100", "atLeast: 1")
    short = experiment(text.replace("timeout: 3m", "timeout: 3m\n  recovery: 20s"))
    done = run_and_check(short, "local", tmp_path, lambda _: None, varied={}, wire=False)
    assert done.verdict["verdict"] == "inconclusive"
    died = "clients-0 (producer-0, consumer-0): its process ended with status -9"
    assert any(died in reason for reason in done.verdict["reasons"])
