"""ZooKeeper mode on real processes, against real ZooKeeper servers.

As root each server has a network namespace and a disk of its own, as every node has: what is done to brokers can be
done to it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from highwater_chaos.backends.ensemble import servers
from highwater_chaos.backends.ensemble.observer import EnsembleObserver
from highwater_chaos.backends.ensemble.sessions import SessionsClient
from highwater_chaos.backends.local.backend import LocalBackend
from highwater_chaos.backends.local.isolated import local_backend
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Scheduler
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.faults import Inject
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.faults import FaultRecord, session_expiry
from highwater_chaos.run.result import RunResult
from highwater_chaos.schedule.capability import missing_capabilities
from highwater_chaos.schedule.fault_manager import FaultManager
from highwater_chaos.verdict.check import check_recordings
from highwater_chaos.verdict.checked_run import write_run
from highwater_runtime.ports import SECOND

needs_zookeeper = pytest.mark.skipif(servers.available() is not None, reason=servers.available() or "")

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: small}
spec:
  timeout: %(timeout)s
  recovery: 90s
  seed: 7
  cluster:
    mode: zookeeper
    brokers: %(brokers)d
    zookeepers: %(zookeepers)d
    config:
      zookeeper.session.timeout.ms: 4500
      replica.lag.time.max.ms: 4000
      replica.socket.timeout.ms: 2000
      min.insync.replicas: 1
      log.flush.interval.messages: 1
    topics: [{name: orders, partitions: 1, replicationFactor: %(brokers)d}]
  workload: {producers: 1, rate: 30/s, consumers: 1}
  schedule:
%(schedule)s
  expect: [{verdict: pass}]
"""

LIVES = """
- await: {acked: {atLeast: 20}, within: 60s}
- inject: {name: expired, sessionExpiry: {target: {activeController: true}}}
- await: {activeController: {exists: true}, within: 60s}
- await: {broker: {id: 0, state: unfenced}, within: 60s}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- heal: expired
- await: {underReplicated: 0, within: 90s}
- inject: {name: dead, kill: {target: {leaderOf: orders-0}}}
- await: {isr: {partition: orders-0, size: 1}, within: 60s}
- heal: dead
- await: {broker: {id: 0, state: unfenced}, within: 60s}
- await: {broker: {id: 1, state: unfenced}, within: 60s}
- await: {underReplicated: 0, within: 90s}
- inject: {name: cut, partition: {between: [{followerOf: orders-0}, {all: zookeepers}]}}
- await: {isr: {partition: orders-0, size: 2}, within: 60s}
- wait: 7s
- heal: cut
- await: {underReplicated: 0, within: 90s}
"""

SERVERS = """
- await: {acked: {atLeast: 20}, within: 60s}
- inject: {name: servers, powerLoss: {target: {all: zookeepers}, keep: none}}
- inject: {name: brokers, powerLoss: {target: {all: brokers}, keep: none}}
- heal: [servers, brokers]
- await: {underReplicated: 0, within: 120s}
- await: {activeController: {exists: true}, within: 60s}
- inject: {pause: {target: {zookeeper: 1}}, for: 2s}
- inject: {kill: {target: {zookeeper: 1}, restartAfter: 500ms}}
- await: {underReplicated: 0, within: 120s}
"""
"""The other servers are left alone while server 1 fails: ZooKeeper 3.8.0 itself can lose what it committed if a second
server fails before the first is in sync (docs/zookeeper.md)."""


def experiment(
    schedule: str = "- wait: 1s", *, brokers: int = 2, zookeepers: int = 3, timeout: str = "6m"
) -> ChaosExperiment:
    lines = "\n".join(f"    {line}" for line in schedule.strip().splitlines())
    fields = {"brokers": brokers, "zookeepers": zookeepers, "timeout": timeout, "schedule": lines}
    return parse_experiment(FILE % fields, "test")


def judged(chosen: ChaosExperiment, folder: Path) -> RunResult:
    """Run, write down and judge; every fault is confirmed and healed, and nothing is wrong."""
    result = run_experiment(chosen, local_backend())
    write_run(folder, chosen, result, wire=False)
    assert result.inconclusive_reasons == []
    assert [record.to_dict() for record in result.faults if not (record.confirmed and record.healed)] == []
    run_verdict = check_recordings(chosen, folder)
    assert (run_verdict.verdict, run_verdict.reasons) == ("pass", [])
    return result


def evidence(result: RunResult, kind: str) -> str:
    found = [record for record in result.faults if record.kind == kind]
    return "; ".join(item.what for record in found for item in (*record.inject_evidence, *record.heal_evidence))


@pytest.mark.thorough
@needs_zookeeper
@pytest.mark.whole_machine
def test_brokers_lose_their_sessions_their_lives_and_their_servers(state: Path, tmp_path: Path) -> None:
    """The controller's session ends; a leader dies; a broker is cut off from ZooKeeper alone for longer than its
    session lasts."""
    result = judged(experiment(LIVES), tmp_path)
    assert "has ended" in evidence(result, "sessionExpiry")
    assert "to zookeeper-0 was lost" in evidence(result, "partition")
    text = (tmp_path / "events" / "nodes.jsonl").read_text(encoding="utf-8")
    lines = text.splitlines()
    assert sum('"kind":"controller-changed"' in line for line in lines) >= 3, "elected, ended, elected"
    assert sum('"reason":"unregistered"' in line for line in lines) >= 3, "expired, died, cut off"
    assert '"kind":"broker-state","broker":0,"broker_epoch":-1,"reason":"starting"' in text
    assert {"logs/zookeeper-0.log", "config/zookeeper-2.cfg", "config/broker-1.properties"} <= set(result.files)


@pytest.mark.thorough  # long, and the only power loss of real ZooKeeper servers; that of brokers is in test_faults.py
@needs_zookeeper
@pytest.mark.whole_machine
def test_all_servers_and_brokers_lose_power(state: Path, tmp_path: Path) -> None:
    """What was committed is there again: ZooKeeper has synced its log, and the brokers each record (flush.messages)."""
    result = judged(experiment(SERVERS), tmp_path)
    assert "zookeeper-2" in evidence(result, "powerLoss")
    assert "the process of zookeeper-1 is stopped" in evidence(result, "pause")
    events = (tmp_path / "events" / "nodes.jsonl").read_text(encoding="utf-8").splitlines()
    started = [row["node"] for row in map(json.loads, events) if row["kind"] == "node-started"]
    lives = {name: started.count(f"zookeeper-{name}") for name in range(3)}
    assert lives == {0: 2, 1: 3, 2: 2}, "each lost power once, and server 1 was killed after that"


# --- without root ----------------------------------------------------------------------------------------------------


class Site:
    """A small cluster on loopback, and the faults that are injected into it."""

    def __init__(self, root: Path) -> None:
        self.cluster = experiment(zookeepers=1).cluster
        self.backend = LocalBackend(root=root)
        self.view = ClusterView("zookeeper")
        backend = self.backend
        backend.build(self.cluster, 1)
        self.scheduler = Scheduler(backend.now_ns, backend.advance, on_turn=self.look, poll_ns=backend.poll_ns)
        self.manager = FaultManager(backend, self.cluster, self.view, self.scheduler, Random, 1 << 60)

    def look(self) -> None:
        self.view.observe(self.backend.events_since(self.view.next_seq))

    def until(self, condition: Callable[[], bool], seconds: float = 120) -> bool:
        return self.scheduler.run(condition, self.backend.now_ns() + int(seconds * SECOND))

    def is_whole(self) -> bool:
        return self.view.active_controller() is not None and all(self.view.is_unfenced(one) for one in (0, 1))

    def expire(self, target: dict[str, Any]) -> FaultRecord:
        task = self.scheduler.spawn(
            "test", self.manager.inject(Inject.model_validate({"sessionExpiry": {"target": target}}))
        )
        assert self.until(lambda: task.done, 180)
        return self.manager.records[-1]


@pytest.fixture
def site(state: Path) -> Iterator[Site]:
    made = Site(state)
    try:
        yield made
    finally:
        made.backend.close()


@needs_zookeeper
def test_an_expiry_that_does_nothing_is_not_confirmed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    assert site.until(site.is_whole), site.view.nodes
    epoch = site.view.brokers[0].broker_epoch
    assert site.expire({"broker": 0}).confirmed
    assert site.until(lambda: site.is_whole() and site.view.brokers[0].broker_epoch > epoch), "it registers again"
    assert site.backend.state("broker-0").value == "up"
    assert site.view.nodes["broker-0"].incarnation == 1

    outcomes: list[str | None] = []
    for _ in range(2):  # nobody here takes the first one away, as Apache Kafka's controllers do
        site.backend.post(lambda: site.backend.elect_preferred([("orders", 0)], outcomes.append))
    assert site.until(lambda: len(outcomes) == 2)
    assert outcomes == [None, "/admin/preferred_replica_election was not created: node-exists"]

    monkeypatch.setattr(SessionsClient, "end", lambda self, key: None)
    monkeypatch.setattr(session_expiry, "_SLACK_NS", 3 * SECOND)
    record = site.expire({"broker": 0})
    assert not record.confirmed
    assert "was not seen to end" in "; ".join(item.what for item in record.inject_evidence)
    assert site.backend.inconclusive_reasons() == []


@pytest.mark.thorough
@needs_zookeeper
def test_without_a_witness_no_cluster_comes_up(state: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EnsembleObserver, "take", lambda self: [])
    result = run_experiment(experiment(zookeepers=1, timeout="30s"), LocalBackend(root=state))
    assert any("no controller is active" in reason for reason in result.inconclusive_reasons)


def test_a_machine_without_zookeeper_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(servers, "JARS", (Path("/nowhere/zookeeper.jar"),))
    (problem,) = missing_capabilities(experiment(), LocalBackend())
    assert "/nowhere/zookeeper.jar is not there: as root, apt-get install zookeeper" in problem
