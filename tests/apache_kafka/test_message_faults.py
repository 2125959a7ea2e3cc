"""Rules about messages, on Apache Kafka itself: of every sender that it has, at every listener, in both modes.

What a rule means is tested with our own host (``tests/host/test_interference.py``). Here it must turn out that senders
are told apart, by their addresses and, on loopback, by their client ids.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from highwater_chaos.backends.ensemble import servers
from highwater_chaos.backends.local.backend import LocalBackend
from highwater_chaos.backends.local.capability import can_isolate
from highwater_chaos.backends.local.highwater_program import kazoo_missing
from highwater_chaos.experiment import load_experiment, parse_experiment
from highwater_chaos.verdict.checked_run import run_and_check

KRAFT = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: messages}
spec:
  seed: 3
  timeout: 5m
  cluster:
    runtime: apache-kafka
    brokers: 2
    controllers: 3
    config: {broker.session.timeout.ms: 3000, broker.heartbeat.interval.ms: 500, replica.lag.time.max.ms: 3000}
    topics: [{name: orders, partitions: 1, assignment: [[0, 1]]}]
  workload: {producers: 1, rate: 100/s, acks: all, idempotence: true, consumers: 1}
  schedule:
    - await: {acked: {atLeast: 20}, within: 60s}
    - inject: {name: fetch, delay: {rpc: Fetch, from: {broker: 1}, to: {broker: 0}, by: 100ms}}
    - inject: {name: twice, duplicate: {rpc: Produce, to: {broker: 0}}}
    - inject: {name: heartbeats, delay: {rpc: BrokerHeartbeat, from: {broker: 1}, of: response, by: 200ms}}
    - await: {caught: {name: fetch, atLeast: 5}, within: 60s}
    - await: {caught: {name: twice, atLeast: 5}, within: 60s}
    - await: {caught: {name: heartbeats, atLeast: 2}, within: 60s}
    - heal: fetch
    - heal: twice
    - heal: heartbeats
    - inject: {name: stuck, hold: {rpc: Fetch, from: {broker: 1}, to: {broker: 0}}}
    - inject: {name: alter, hold: {rpc: AlterPartition, from: {broker: 0}}}
    - await: {caught: {name: alter}, within: 60s}
    - heal: stuck
    - heal: alter
    - await: {underReplicated: 0, within: 60s}
    - inject: {name: begun, delay: {rpc: BeginQuorumEpoch, by: 10ms}}
    - inject: {name: observe, delay: {rpc: Fetch, from: {broker: 0}, by: 10ms}}
    - inject: {kill: {target: {activeController: true}, restartAfter: 3s}}
    - await: {caught: {name: begun}, within: 60s}
    - await: {caught: {name: observe}, within: 60s}
    - heal: begun
    - heal: observe
    - inject: {name: expired, sessionExpiry: {target: {broker: 1}}}
    - heal: expired
    - await: {broker: {id: 1, state: unfenced}, within: 60s}
    - await: {underReplicated: 0, within: 60s}
  checks: [all]
"""

ZOOKEEPER = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: messages}
spec:
  seed: 3
  timeout: 5m
  cluster:
    runtime: apache-kafka
    mode: zookeeper
    brokers: 3
    zookeepers: 1
    config: {zookeeper.session.timeout.ms: 3000, replica.lag.time.max.ms: 3000}
    topics: [{name: orders, partitions: 1, assignment: [[0, 1]]}]
  workload: {producers: 1, rate: 100/s, acks: all, consumers: 1}
  schedule:
    - await: {acked: {atLeast: 20}, within: 60s}
    - inject: {name: fetch, delay: {rpc: Fetch, from: {broker: 1}, to: {broker: 0}, by: 100ms}}
    - await: {caught: {name: fetch, atLeast: 5}, within: 60s}
    - heal: fetch
    - inject: {name: la, delay: {rpc: LeaderAndIsr, to: {broker: 1}, by: 100ms}}
    - inject: {name: la2, delay: {rpc: LeaderAndIsr, from: {activeController: true}, of: response, by: 100ms}}
    - inject:
        name: um
        delay: {rpc: UpdateMetadata, from: {activeController: true}, to: {activeController: true}, by: 10ms}
    - admin: {addPartitions: {topic: orders, total: 4}}
    - await: {caught: {name: um}, within: 60s}
    - await: {caught: {name: la}, within: 60s}
    - await: {caught: {name: la2}, within: 60s}
    - heal: la
    - heal: la2
    - heal: um
    - await: {underReplicated: 0, within: 60s}
  checks: [all]
"""

needs_zookeeper = pytest.mark.skipif(
    servers.available() is not None or kazoo_missing() is not None, reason="needs ZooKeeper and kazoo"
)


def run(experiment: Any, parent: Path) -> tuple[dict[str, Any], Path]:
    done = run_and_check(experiment, "local", parent, lambda phase: None, varied={}, wire=False)
    return done.verdict, done.directory


@pytest.fixture
def place(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "loopback":
        monkeypatch.setattr("highwater_chaos.verdict.checked_run.make_backend", lambda name, wire: LocalBackend())
    elif os.geteuid() != 0 or not can_isolate():
        pytest.skip("namespaces need root")
    return str(request.param)


def judge(text: str, release: str, directory: Path) -> None:
    """Every rule caught something, or the run would be inconclusive; and nothing was lost by it."""
    verdict, directory = run(parse_experiment(text, "messages.yaml").with_versions(release, None), directory)
    assert verdict["verdict"] == "pass", verdict["reasons"]
    faults = [json.loads(line) for line in (directory / "faults.jsonl").read_bytes().splitlines()]
    assert all(one["ok"] for fault in faults for one in (*fault["evidence"]["inject"], *fault["evidence"]["heal"]))


def cases(*quick: tuple[str, str], thorough: list[tuple[str, str]]) -> pytest.MarkDecorator:
    rows = [*quick, *(pytest.param(*one, marks=pytest.mark.thorough) for one in thorough)]
    return pytest.mark.parametrize(("place", "release"), rows, indirect=["place"])


@pytest.mark.usefixtures("apache_kafka")
@cases(
    thorough=[
        *(("namespaces", release) for release in ("4.4.0", "3.4.1")),
        *(("loopback", release) for release in ("4.3.1", "3.4.1", "3.9.2")),
    ],
)
def test_each_sender_of_kraft_mode(tmp_path: Path, place: str, release: str) -> None:
    """Followers, brokers to controllers, controllers to each other; a session that expires."""
    judge(KRAFT, release, tmp_path)


@needs_zookeeper
@pytest.mark.thorough
@pytest.mark.usefixtures("apache_kafka")
@cases(("namespaces", "3.9.2"), thorough=[("loopback", "3.9.2"), ("namespaces", "1.1.1"), ("loopback", "1.1.1")])
def test_each_sender_of_zookeeper_mode(tmp_path: Path, place: str, release: str) -> None:
    """Followers, and the controller to every broker, also to its own."""
    judge(ZOOKEEPER, release, tmp_path)


SCENARIO = Path(__file__).parents[2] / "scenarios" / "track-record" / "kip-903-kafka-14139.yaml"


@pytest.mark.thorough
@pytest.mark.usefixtures("apache_kafka")
@pytest.mark.skipif(os.geteuid() != 0, reason="cutting links and losing power needs root")
@pytest.mark.parametrize(
    ("metadata_version", "expected"), [("3.4-IV0", "fail"), pytest.param("3.6-IV2", "pass", marks=pytest.mark.thorough)]
)
def test_kafka_14139_on_one_binary(tmp_path: Path, metadata_version: str, expected: str) -> None:
    """The controller refuses the late request where it knows the replica's epoch, and for that reason alone."""
    experiment = load_experiment(SCENARIO).with_versions("4.0.2", metadata_version)
    verdict, _ = run(experiment, tmp_path)
    assert (verdict["verdict"], verdict["expected"]["whyNot"]) == (expected, ""), verdict["reasons"]
    assert ("lost-write" in verdict["anomalies"]) == (expected == "fail")
