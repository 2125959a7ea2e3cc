"""Expiry of ZooKeeper sessions, and what the ensemble's servers say of the cluster.

The brokers here only register and stand for election: all that an expiry is about.
"""

from __future__ import annotations

from random import Random

import pytest

from highwater_chaos.backends import sim
from highwater_chaos.backends.ensemble.sessions import SessionsClient
from highwater_chaos.backends.sim_cluster import zookeeper_endpoints
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Scheduler
from highwater_chaos.experiment.load import parse_experiment
from highwater_chaos.experiment.nodes import node_id
from highwater_chaos.experiment.steps import Step
from highwater_chaos.schedule.conditions import World, is_met
from highwater_chaos.schedule.fault_manager import FaultManager
from highwater_pipeline.anomalies import ON_REQUEST
from highwater_runtime.controller.zk.election import ControllerElection
from highwater_runtime.metadata.znodes import PERSISTENT, BrokerNode, broker_path, encode_node
from highwater_runtime.ports import MS, SECOND, ClientCore
from highwater_runtime.ports.coordination import Create, Created, Failure, SessionEvent
from highwater_runtime.ports.trace import BrokerStateChanged
from highwater_runtime.zookeeper import EnsembleClient

FILE = """
apiVersion: highwater.dev/v1alpha1
kind: ChaosExperiment
metadata: {name: test}
spec:
  seed: 1
  timeout: 2m
  cluster:
    mode: zookeeper
    brokers: 2
    config: {zookeeper.session.timeout.ms: 3000}
    topics: [{name: orders, partitions: 1, assignment: [[0, 1]]}]
"""


class Candidate(ClientCore):
    """A broker that registers and stands for election, and does so again when its session has ended."""

    def __init__(self, cluster, name, ports):
        self.id, self.ports = node_id(name), ports
        self.has = 0
        self.coordination = EnsembleClient(ports, list(zookeeper_endpoints(cluster).values()))

    def start(self):
        self.session = self.coordination.open(3000, self.on_event)
        self.election = ControllerElection(self.id, self.session, lambda _: None, lambda: None)

    def on_event(self, event):
        if event is SessionEvent.CONNECTED:
            for path in PERSISTENT:
                self.session.submit(Create(path), lambda _: None)
            self.register()
        self.election.on_session_event(event)
        if event is SessionEvent.EXPIRED:
            self.start()

    def register(self):
        node = encode_node(BrokerNode(endpoints={"PLAINTEXT": "x:1"}))
        self.session.submit(Create(broker_path(self.id), node, ephemeral=True), self.registered)

    def registered(self, result):
        if result is Failure.NODE_EXISTS and self.session.key.id != self.has:
            self.ports.clock.call_later(SECOND // 2, self.register)  # until its former session is over
        if isinstance(result, Created):
            self.has = self.session.key.id
            epoch = result.stat.czxid
            self.ports.trace.emit(BrokerStateChanged(broker=self.id, broker_epoch=epoch, reason="registered"))

    def stop(self, on_stopped):
        self.session.close(on_stopped)


class Cluster:
    def __init__(self, poll_ns=5 * MS):
        self.cluster = parse_experiment(FILE, "test.yaml").cluster
        self.backend = sim.SimBackend()
        self.backend.build(self.cluster, 1)
        self.view = ClusterView("zookeeper")
        self.scheduler = Scheduler(
            self.backend.now_ns,
            self.backend.advance,
            on_turn=lambda: self.view.observe(self.backend.events_since(self.view.next_seq)),
            poll_ns=poll_ns,
        )
        self.faults = FaultManager(self.backend, self.cluster, self.view, self.scheduler, Random, 1 << 60)
        assert self.until(lambda: all(map(self.view.is_unfenced, (0, 1))) and self.view.active_controller() is not None)

    def until(self, predicate, seconds=60):
        return self.scheduler.run(predicate, self.backend.now_ns() + seconds * SECOND)

    def inject(self, *, drawn=False, **inject):
        step = Step.model_validate({"inject": inject})
        task = self.scheduler.spawn("inject", self.faults.inject(step.inject, drawn=drawn))
        assert self.until(lambda: task.done, 200)
        return self.faults.records[-1]

    def heal(self):
        task = self.scheduler.spawn("heal", self.faults.heal_all())
        assert self.until(lambda: task.done, 200)

    def met(self, condition):
        world = World(self.backend, self.view, lambda: 0, lambda _: 0)
        return is_met(Step.model_validate({"await": {"within": "1s", **condition}}).await_, world)


@pytest.fixture
def cluster(monkeypatch, request):
    def candidates(cluster, name, _own):
        return lambda ports: Candidate(cluster, name, ports)

    monkeypatch.setattr(sim, "broker_factory", candidates)
    return Cluster(getattr(request, "param", 5 * MS))


@pytest.mark.parametrize("cluster", [5 * MS, 400 * MS], indirect=True, ids=["quick turns", "turns as on Kubernetes"])
def test_the_controller_loses_its_session_and_another_is_elected(cluster):
    before = cluster.view.active_controller()
    epoch = cluster.view.brokers[node_id(before)].broker_epoch
    record = cluster.inject(name="expired", sessionExpiry={"target": {"activeController": True}})
    assert record.targets == (before,)
    assert record.confirmed, record.inject_evidence
    assert cluster.until(lambda: cluster.view.active_controller() is not None)
    cluster.heal()
    assert record.healed
    assert cluster.view.brokers[node_id(before)].broker_epoch > epoch, "it has registered again"
    assert cluster.met({"activeController": {"is": node_id(cluster.view.active_controller())}})


def test_an_expiry_that_ends_no_session_is_not_confirmed(cluster, monkeypatch):
    monkeypatch.setattr(SessionsClient, "end", lambda self, key: None)
    record = cluster.inject(name="expired", sessionExpiry={"target": {"broker": 1}})
    assert "was not seen to end" in record.inconclusive_reason()


@pytest.mark.parametrize("who", ["a client of the ensemble", "the transactions"])
def test_one_witness_alone_does_not_confirm_an_expiry(cluster, monkeypatch, who):
    session = int(cluster.view.brokers[1].registered_by, 16)
    if who == "the transactions":
        monkeypatch.setattr(cluster.backend, "session", lambda _: session)  # an answer from before, each time
    else:
        answers = [session]  # the ensemble has agreed once, and says then that the session is gone
        monkeypatch.setattr(cluster.backend, "session", lambda _: answers.pop() if answers else 0)
        monkeypatch.setattr(SessionsClient, "end", lambda self, key: None)
    record = cluster.inject(name="expired", sessionExpiry={"target": {"broker": 1}})
    assert (cluster.view.unregistered_count.get(1, 0) > 0) == (who == "the transactions")
    assert "was not seen to end" in record.inconclusive_reason()


def test_a_broker_that_never_registers_again_is_not_healed(cluster, monkeypatch):
    monkeypatch.setattr(Candidate, "registered", lambda self, result: None)
    record = cluster.inject(name="expired", sessionExpiry={"target": {"broker": 1}})
    assert record.confirmed
    cluster.heal()
    assert "is not known to be healed" in record.inconclusive_reason()


def test_a_paused_broker_is_unregistered_when_its_session_is_over(cluster):
    cluster.inject(name="gc", pause={"target": {"broker": 0}})
    assert cluster.until(lambda: cluster.met({"broker": {"id": 0, "state": "fenced"}}), 10)
    assert not cluster.met({"broker": {"id": 0, "state": "registered"}})
    cluster.heal()
    assert cluster.until(lambda: cluster.met({"broker": {"id": 0, "state": "unfenced"}}), 10)


def test_without_a_majority_of_servers_nothing_changes_until_it_is_back(cluster):
    record = cluster.inject(name="down", kill={"target": {"majority": "zookeepers"}})
    assert record.confirmed
    assert len(record.targets) == 2
    cluster.inject(name="gone", kill={"target": {"broker": 0}})
    cluster.until(lambda: False, 20)
    assert cluster.view.brokers[0].broker_epoch >= 0, "nobody could end its session"
    cluster.heal()
    assert record.healed
    assert cluster.until(lambda: all(map(cluster.view.is_unfenced, (0, 1))))
    assert [broken for broken in cluster.backend.violations() if broken.name not in ON_REQUEST] == []


def test_no_session_can_be_ended_without_servers(cluster):
    cluster.inject(name="down", kill={"target": {"all": "zookeepers"}})
    record = cluster.inject(name="expired", sessionExpiry={"target": {"broker": 1}})
    assert "which session broker-1 has" in record.inconclusive_reason()


@pytest.mark.parametrize("drawn", [True, False])
@pytest.mark.parametrize("old_answers", [0, 3])
def test_a_session_that_is_over_cannot_expire(cluster, monkeypatch, drawn, old_answers):
    """Random had drawn the expiry when the broker still had a session. A server's answer may be from before, too."""
    session = int(cluster.view.brokers[0].registered_by, 16)
    pause = cluster.inject(name="gc", pause={"target": {"broker": 0}})
    assert cluster.until(lambda: cluster.view.brokers[0].broker_epoch < 0)
    answers, answer = [session] * old_answers, cluster.backend.session
    monkeypatch.setattr(cluster.backend, "session", lambda node: answers.pop() if answers else answer(node))
    record = cluster.inject(drawn=drawn, sessionExpiry={"target": {"broker": 0}})
    cluster.heal()
    assert pause.inconclusive_reason() is None
    assert (record.confirmed, record.idle, record.healed) == (False, True, True)
    assert (record.inconclusive_reason() is None) == drawn


def test_a_server_has_no_session(cluster):
    record = cluster.inject(name="expired", sessionExpiry={"target": {"zookeeper": 1}})
    assert "is a ZooKeeper server and has no session" in record.inconclusive_reason()
