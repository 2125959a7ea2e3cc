"""Every kind of fault on Kubernetes with its undo broken, and with its injection broken: it is inconclusive.

The backend, its client and the fault manager are real; the agent is the fake one at its HTTP boundary, over a model of
what is done to pods. What is broken is the model's step: the agent goes on noting that it did what it was asked, and
its probes answer by what the pod is like.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest
from experiments.agents import TOKEN, TRUST, FakeAgent, evidence

from highwater_chaos.backends.kubernetes import backend as backend_module
from highwater_chaos.backends.kubernetes.agents import AgentClient
from highwater_chaos.backends.kubernetes.cluster import Place
from highwater_chaos.backends.kubernetes.crashable import CrashableBackend
from highwater_chaos.backends.kubernetes.faults import PodPlace
from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Scheduler
from highwater_chaos.base.quantities import parse_signed_duration
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.experiment.faults import Inject, drawn_kinds
from highwater_chaos.faults import FaultContext, FaultRecord, drain, nodes, replaced_pods, restart, session_expiry, stop
from highwater_chaos.faults.base import Fault
from highwater_chaos.faults.session_expiry import SessionExpiry
from highwater_chaos.kube.client import KubeError
from highwater_chaos.machine.errors import MachineError
from highwater_chaos.schedule.fault_manager import FaultManager
from highwater_runtime.ports import SECOND
from highwater_runtime.ports.trace import (
    BrokerRegistered,
    BrokerRegistrationChanged,
    BrokerStateChanged,
    NodeEvent,
    NodeStarted,
    RaftStateChanged,
)

Json = dict[str, Any]
TARGET = {"target": {"broker": 1}}
RULE = {"rpc": "BrokerHeartbeat", "from": {"broker": 0}}
FAULTS: dict[str, Json] = {
    "powerLoss": {**TARGET, "wipe": True},
    "kill": TARGET,
    "stop": TARGET,
    "restart": TARGET,
    "diskWipe": TARGET,
    "diskFull": TARGET,
    "diskError": TARGET,
    "diskStall": TARGET,
    "pause": TARGET,
    "sessionExpiry": TARGET,
    "partition": {"between": [{"broker": 0}, {"broker": 1}]},
    "hold": RULE,
    "drop": RULE,
    "delay": {**RULE, "by": "10ms"},
    "duplicate": RULE,
    "clockSkew": {**TARGET, "offset": "5s"},
    "podDelete": TARGET,
    "evict": {**TARGET, "within": "2s"},
    "drain": {**TARGET, "within": "2s"},
}
NODES = ("controller-0", "broker-0", "broker-1")
DOWN = ("powerLoss", "kill", "stop", "restart", "diskWipe")
MESSAGES = ("hold", "drop", "delay", "duplicate")
REPLACED = ("podDelete", "evict", "drain")
MET = {"diskFull": "ENOSPC", "diskError": "EIO", "diskFreeze": "blocked"}
SHORT = 2 * SECOND


@dataclass
class Pod:
    """What a pod of the model is like. ``earlier``: the events of those before it, by their uids."""

    address: str
    uid: str
    there: bool = True
    earlier: dict[str, bytes] = field(default_factory=dict)
    up: bool = False
    incarnation: int = 0
    held_by: set[str] = field(default_factory=set)
    paused: bool = False
    cuts: set[str] = field(default_factory=set)
    rules: dict[str, str] = field(default_factory=dict)
    clock: Json = field(default_factory=lambda: {"offsetNs": 0, "rate": 1.0})
    trouble: str = ""
    wiped: bool = False
    events: bytes = b""


class Model(FakeAgent):
    """``left_out``: the step that is not done: ``inject`` or ``heal``."""

    def __init__(self) -> None:
        super().__init__()
        self.left_out = ""
        self.fails_for: set[str] = set()
        self.pods = {name: Pod(f"10.0.0.{number}", f"{name}/0") for number, name in enumerate(NODES, 1)}
        self.offset = 0
        self.inject, self.heal, self.observe = self._inject, self._heal, self._observe
        self.unschedulable = False
        self.answers = lambda pod, what, offset: self._events(self.pods[pod])[offset:] if what == "events" else b""
        self.processes = lambda pod: ["stopped" if self.pods[pod].paused else "running"] if self.pods[pod].up else []
        self.reaches = self._reaches
        for name in NODES:
            self.start(name)
        self.event("controller-0", RaftStateChanged(epoch=1, leader=1000, broker=1000, reason="leader"))

    def event(self, node: str, event: NodeEvent) -> None:
        pod = self.pods[node]
        head = {"time_ns": time.monotonic_ns(), "node_time_ns": time.time_ns(), "node": node}
        row = {**head, "incarnation": pod.incarnation, **msgspec.to_builtins(event)}
        pod.events += json.dumps(row, separators=(",", ":")).encode() + b"\n"

    def start(self, node: str) -> None:
        pod = self.pods[node]
        pod.up, pod.paused, pod.clock = True, False, {"offsetNs": 0, "rate": 1.0}
        pod.rules.clear()
        pod.trouble = "" if pod.trouble == "diskStall" else pod.trouble
        pod.incarnation += 1
        self.event(node, NodeStarted())
        if node.startswith("broker-"):
            broker = int(node[-1])
            self.offset += 1
            registered = {"broker": broker, "broker_epoch": self.offset}
            reason = "0" * 32
            self.event("controller-0", BrokerRegistered(**registered, metadata_offset=self.offset, reason=reason))
            self.event(node, BrokerStateChanged(**registered, reason="registered"))
            self.fencing(node, "unfenced")

    def fencing(self, node: str, reason: str) -> None:
        self.offset += 1
        changed = {"broker": int(node[-1]), "broker_epoch": self.offset, "metadata_offset": self.offset}
        self.event("controller-0", BrokerRegistrationChanged(**changed, reason=reason))

    def replace(self, node: str) -> None:
        """It is deleted, and whoever made it makes another one."""
        pod = self.pods[node]
        if self.left_out == "inject":
            return
        pod.earlier[pod.uid], pod.events = pod.events, b""
        pod.uid, pod.up, pod.there = f"{node}/{len(pod.earlier)}", False, self.left_out != "heal"
        if pod.there:
            self.start(node)

    def _events(self, pod: Pod) -> bytes:
        return pod.earlier.get(self.asked.uid, pod.events)

    # --- what an agent does ---

    def _inject(self, fault: str, body: Json) -> list[Json]:
        pod, kind, done = self.pods[body["pod"]["name"]], body["kind"], self.left_out != "inject"
        if body["pod"]["name"] in self.fails_for:
            raise MachineError("the machine refuses")
        match kind:
            case "kill" | "stop" | "powerLoss" | "diskWipe":
                if done:
                    pod.up, pod.wiped = False, kind == "diskWipe"
                    pod.held_by |= {fault} if "restartAfter" in body else set()
                    self._start_if_free(body["pod"]["name"])
                seen = not pod.up or "restartAfter" not in body
                return [evidence("its processes are gone" if seen else "it lives", confirmed=seen, lostBytes=0)]
            case "pause":
                pod.paused = done
                return [evidence("stopped" if pod.paused else "running", confirmed=pod.paused)]
            case "partition":
                peer = body["peer"]
                pod.cuts |= {peer} if done else set()
                return [evidence(f"cut from {peer}", confirmed=peer in pod.cuts)]
            case "cordon":
                self.unschedulable = done
            case "diskFull" | "diskError" | "diskStall" | "diskFreeze":
                pod.trouble = kind if done else ""
            case "clockSkew":
                pod.clock = (
                    {"offsetNs": parse_signed_duration(body["offset"]), "rate": body["rate"]} if done else pod.clock
                )
            case _:
                if done:
                    pod.rules[fault] = f"{kind} {body['rpc']} {','.join(body['sources'])}"
                    if pod is self.pods["controller-0"] and "drop BrokerHeartbeat broker-1" in pod.rules.values():
                        self.fencing("broker-1", "fenced")
                return [evidence("in force" if done else "the node does not know it", confirmed=fault in pod.rules)]
        return self._state(fault, body, "inject")

    def _heal(self, fault: str, body: Json) -> list[Json]:
        name = body["pod"]["name"]
        pod, kind = self.pods[name], body["kind"]
        before = self._state(fault, body, "inject")
        if self.left_out != "heal":
            pod.held_by.discard(fault)
            self.unschedulable &= kind != "cordon"
            if kind in ("pause", "partition", "clockSkew", "diskFull", "diskError", "diskStall", "diskFreeze"):
                pod.paused, pod.clock, pod.trouble = False, {"offsetNs": 0, "rate": 1.0}, ""
                pod.cuts -= {body.get("peer")}
            expired = "drop BrokerHeartbeat broker-1" in (pod.rules.pop(fault, ""))
            if expired and name == "controller-0":
                self.fencing("broker-1", "unfenced")
            self._start_if_free(name)
        return [*before, *self._state(fault, body, "heal"), evidence("nothing of it is left", "heal")]

    def _start_if_free(self, node: str) -> None:
        if not self.pods[node].up and not self.pods[node].held_by:
            self.start(node)

    def _observe(self, record: Json) -> list[Json]:
        return self._state(record["id"], record["request"], "inject") if record["state"] == "inForce" else []

    def _state(self, fault: str, body: Json, phase: str) -> list[Json]:
        """What the agent's probes see of a fault in the pod."""
        pod, healed = self.pods[body["pod"]["name"]], phase == "heal"
        match body["kind"]:
            case "pause":
                return [evidence(f"paused: {pod.paused}", phase, pod.paused is not healed)]
            case "cordon":
                return [evidence(f"unschedulable: {self.unschedulable}", phase, self.unschedulable is not healed)]
            case "partition":
                left = {body["peer"]} & pod.cuts
                return [evidence(f"rules left: {left}", phase, bool(left) is not healed)]
            case "diskFull" | "diskError" | "diskStall" | "diskFreeze" as kind:
                met = MET.get(pod.trouble, "ok")
                return [evidence(f"a write meets {met}", phase, (pod.trouble == kind) is not healed, met=met)]
            case "clockSkew":
                right = pod.clock["offsetNs"] == 0
                return [evidence(f"{pod.clock}", phase, right is healed, **pod.clock)]
            case "hold" | "drop" | "delay" | "duplicate":
                there = fault in pod.rules
                return [
                    evidence(
                        f"there: {there}", phase, there is not healed, **({} if healed else {"matches": 3 * there})
                    )
                ]
        return []

    def _reaches(self, pod: str, peer: str) -> bool:
        other = next(one for one in self.pods.values() if one.address == peer)
        return peer not in self.pods[pod].cuts and self.pods[pod].address not in other.cuts


class Api:
    """The API server, which knows the model's pods."""

    def __init__(self, model: Model) -> None:
        self.model = model

    def list(self, *_: object, **__: object) -> list[Json]:
        return [
            {"metadata": {"name": name, "uid": pod.uid}, "status": {"podIP": pod.address}}
            for name, pod in self.model.pods.items()
            if pod.there
        ]

    def get(self, *_: object, **__: object) -> Json:
        return {"metadata": {"uid": "uid", "generation": 1}}

    def log(self, *_: object, **__: object) -> str:
        return ""

    def delete(self, kind: object, namespace: str, name: str, *, uid: str) -> bool:
        if (found := self.model.pods[name].uid == uid) and self.model.pods[name].there:
            self.model.replace(name)
        return found

    def evict(self, namespace: str, name: str, uid: str) -> str | None:
        self.delete("pods", namespace, name, uid=uid)
        return None


class Journal:
    """In the place of the experiment's status."""

    def __init__(self) -> None:
        self.states: dict[str, str] = {}

    def intend(self, step: str, targets: list[str], lasts_ns: int, node: str = "") -> tuple[str, str]:
        fault = f"fault-{len(self.states)}"
        self.states[fault] = "intent"
        return fault, "2099-01-01T00:00:00Z"

    def note(self, fault: str, state: str, evidence: str = "") -> None:
        self.states[fault] = state

    def check(self) -> None:
        """It is ours."""

    check_now_and_then = check

    @property
    def open_faults(self) -> list[str]:
        return [fault for fault, state in self.states.items() if state in ("intent", "done")]


class Run:
    """A backend over the model, with a fault manager."""

    def __init__(self, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
        self.model, self.journal, self.view = model, Journal(), ClusterView()
        agent = AgentClient(f"https://127.0.0.1:{model.port}", TOKEN, TRUST, patience=0.2)
        places = {name: PodPlace("default", name, f"{name}/0", agent) for name in NODES}

        def place_of(pod: Json, *_: object) -> PodPlace:
            return PodPlace("default", pod["metadata"]["name"], pod["metadata"]["uid"], agent)

        addresses = {name: pod.address for name, pod in model.pods.items()}
        monkeypatch.setattr(backend_module, "bring_up", lambda *_: None)
        monkeypatch.setattr(backend_module, "find_pods", lambda *_: places)
        monkeypatch.setattr(backend_module, "addresses", lambda *_: addresses)
        monkeypatch.setattr(backend_module, "place_of", place_of)
        monkeypatch.setattr(backend_module, "directory_of", lambda *_: None)
        api: Any = Api(model)
        place = Place("default", "demo", "uid")
        self.backend = CrashableBackend(api, None, place, self.journal, 3600 * SECOND)  # type: ignore[arg-type]
        text = (Path(__file__).parents[2] / "tiny-experiment.yaml").read_text()
        cluster = parse_experiment(text, "tiny").cluster.model_copy(update={"brokers": 2, "controllers": 1})
        self.backend.build(cluster, 1)
        now, advance = self.backend.now_ns, self.backend.advance
        self.scheduler = Scheduler(now, advance, on_turn=self._look, poll_ns=self.backend.poll_ns)
        self.manager = FaultManager(self.backend, cluster, self.view, self.scheduler, Random, 1 << 60)
        assert self.until(lambda: all(self.view.is_unfenced(broker) for broker in (0, 1)))

    def _look(self) -> None:
        self.view.observe(self.backend.events_since(self.view.next_seq))

    def until(self, condition: Any, seconds: float = 120) -> bool:
        return self.scheduler.run(condition, self.backend.now_ns() + int(seconds * SECOND))

    def inject(self, kind: str, body: Json) -> FaultRecord:
        task = self.scheduler.spawn("inject", self.manager.inject(Inject.model_validate({kind: body})))
        assert self.until(lambda: task.done)
        return self.manager.records[-1]

    def heal(self) -> None:
        task = self.scheduler.spawn("heal", self.manager.heal_all())
        assert self.until(lambda: task.done)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setattr(FaultContext.confirm, "__defaults__", (SHORT,))
    monkeypatch.setattr(nodes.seen_down, "__defaults__", (SHORT,))
    for module in (nodes, stop, restart):
        monkeypatch.setattr(module, "SHUTDOWN_NS", 2 * SHORT)
    monkeypatch.setattr(restart, "BACK_NS", SHORT)
    for module in (drain, replaced_pods):
        monkeypatch.setattr(module, "GONE_NS", SHORT)
    monkeypatch.setattr(session_expiry, "_SLACK_NS", -5 * SECOND)
    for kind in (Fault, SessionExpiry):
        monkeypatch.setattr(kind, "healed_within_ns", SHORT)
    with Model() as model:
        made = Run(model, monkeypatch)  # type: ignore[arg-type]
        try:
            yield made
        finally:
            model.left_out = ""
            made.backend.close()


def test_every_kind_is_broken_here() -> None:
    assert set(FAULTS) == {*drawn_kinds(), *REPLACED}


@pytest.mark.parametrize("kind", FAULTS)
def test_nothing_broken(run: Run, kind: str) -> None:
    """Or the tests below would prove nothing."""
    record = run.inject(kind, FAULTS[kind])
    assert record.error is None, record.error
    run.heal()
    assert record.inconclusive_reason() is None
    assert run.backend._client.heal_all() == []


@pytest.mark.quick("powerLoss", "diskFull", "hold", "partition", "sessionExpiry", "kill", "podDelete", "drain")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_broken_undo(run: Run, kind: str) -> None:
    if kind in ("restart", "podDelete", "evict"):  # what brings the node back is not a step of its own
        run.model.left_out = "heal"
    record = run.inject(kind, FAULTS[kind])
    assert record.confirmed or kind in (*MESSAGES, "restart"), record.inconclusive_reason()
    run.model.left_out = "heal"
    run.heal()
    assert run.backend._client.heal_all() == [], "the agents say that all is undone"
    reason = record.inconclusive_reason()
    assert reason is not None
    assert ("never took hold" if kind == "restart" else "is not known to be healed") in reason


@pytest.mark.quick("powerLoss", "diskFull", "hold", "partition", "sessionExpiry", "kill", "podDelete", "drain")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_broken_injection(run: Run, kind: str) -> None:
    run.model.left_out = "inject"
    record = run.inject(kind, FAULTS[kind])
    run.heal()
    reason = record.inconclusive_reason()
    assert reason is not None
    assert "took hold" in reason or "take hold" in reason


@pytest.mark.parametrize("kind", REPLACED)
def test_a_pod_that_has_just_been_replaced_is_replaced_again(run: Run, kind: str) -> None:
    """What was seen last is the pod before it, which is gone: to ask for the end of that one would do nothing."""
    assert run.inject("podDelete", TARGET).confirmed
    run.heal()
    run.scheduler.run(lambda: run.backend.state("broker-1") is NodeState.UP, run.backend.now_ns() + 20 * SECOND)
    run.model.replace("broker-1")
    record = run.inject(kind, FAULTS[kind])
    run.heal()
    assert record.inconclusive_reason() is None
    pod = run.model.pods["broker-1"]
    assert [*pod.earlier] == ["broker-1/0", "broker-1/1", "broker-1/2"]
    assert "pod broker-1/2 of broker-1 is gone" in [one.what for one in record.inject_evidence]


def test_a_node_whose_pod_is_not_made_again_has_none_to_replace(run: Run) -> None:
    run.model.left_out = "heal"
    run.inject("podDelete", TARGET)
    for kind in REPLACED:
        record = run.inject(kind, FAULTS[kind])
        assert record.inconclusive_reason() is not None
        assert "broker-1 has no pod that could be touched" in str(record.error)


@pytest.mark.parametrize("left_out", ["inject", "heal"])
def test_a_disk_that_goes_on_taking_writes_or_takes_none_any_more(run: Run, left_out: str) -> None:
    run.model.left_out = left_out
    record = run.inject("diskStall", {**TARGET, "writes": True})
    assert record.confirmed is (left_out == "heal"), record.inject_evidence
    run.heal()
    assert record.inconclusive_reason() is not None


def test_what_fails_halfway_is_undone(run: Run) -> None:
    """The agent of the second broker refuses when the first one is down already."""
    run.model.fails_for = {"broker-1"}
    record = run.inject("kill", {"target": {"all": "brokers"}})
    assert record.error is not None
    assert "the machine refuses" in record.error
    assert run.until(lambda: run.model.pods["broker-0"].up)
    assert run.model.pods["broker-0"].incarnation == 2, "it was killed, and runs again, without a heal in the schedule"
    assert record.healed
    assert run.manager.active == []


def has(pod: Pod, kind: str) -> bool:
    """Whether the pod is now as ``kind`` makes it."""
    match kind:
        case "clockSkew":
            return pod.clock["offsetNs"] > 4 * SECOND
        case "diskFull" | "diskError" | "diskStall":
            return pod.trouble == kind
        case "partition":
            return pod.cuts != set()
        case _:
            return pod.rules != {}


LASTING = ("diskFull", "diskError", "diskStall", "partition", *MESSAGES, "clockSkew")


def test_lasting_faults_are_those_that_neither_end_at_once_nor_belong_to_a_process() -> None:
    """A ``sessionExpiry`` is a rule about messages."""
    assert set(FAULTS) == {*LASTING, *DOWN, *REPLACED, "pause", "sessionExpiry"}


@pytest.mark.quick("diskFull", "hold", "partition")
@pytest.mark.parametrize("kind", LASTING)
def test_a_node_that_starts_again_has_what_its_machine_has(run: Run, kind: str) -> None:
    """A new process on a machine whose clock, disk or network is still wrong."""
    body = {"rpc": "BrokerHeartbeat", "to": TARGET["target"]} if kind in MESSAGES else FAULTS[kind]
    record = run.inject(kind, {**body, "by": "10ms"} if kind == "delay" else body)
    pod = run.model.pods["broker-1"]
    assert has(pod, kind)
    for life in (2, 3):
        run.backend.kill("broker-1")
        run.backend.start("broker-1")
        assert run.until(lambda life=life: pod.incarnation == life and has(pod, kind))  # type: ignore[misc]
    run.heal()
    assert not has(pod, kind)
    assert record.inconclusive_reason() is None
    assert list(run.backend.inconclusive_reasons()) == []
    run.backend.kill("broker-1")
    run.backend.start("broker-1")
    assert run.until(lambda: run.backend.incarnation("broker-1") == pod.incarnation >= 4)
    run.scheduler.run(lambda: False, run.backend.now_ns() + SECOND)
    assert not has(pod, kind), "what is over is not given to the next one"


@pytest.mark.parametrize("kind", ["clockSkew", "diskStall", "drop"])
def test_a_node_that_starts_again_and_does_not_get_a_fault(run: Run, kind: str) -> None:
    body = {"rpc": "BrokerHeartbeat", "to": TARGET["target"]} if kind in MESSAGES else FAULTS[kind]
    run.inject(kind, body)
    run.backend.kill("broker-1")
    run.model.fails_for = {"broker-1"}
    run.backend.start("broker-1")
    asked = len(run.model.injected)
    assert run.until(lambda: len(run.model.injected) > asked)
    run.heal()
    (reason,) = run.backend.inconclusive_reasons()
    assert "broker-1" in reason
    assert "the machine refuses" in reason


def test_a_node_that_is_paused_when_it_has_started_again_is_told_later(run: Run) -> None:
    run.inject("clockSkew", FAULTS["clockSkew"])
    pod = run.model.pods["broker-1"]
    run.backend.kill("broker-1")
    run.backend.start("broker-1")
    run.backend.pause("broker-1")
    assert run.until(lambda: run.backend.incarnation("broker-1") == 2)
    assert not has(pod, "clockSkew")
    run.backend.resume("broker-1")
    assert run.until(lambda: has(pod, "clockSkew"))
    run.heal()
    assert list(run.backend.inconclusive_reasons()) == []


@pytest.mark.parametrize(("rate", "least", "most"), [(100, 10 * SECOND, 1 << 60), (0.01, -(1 << 60), -SECOND // 10)])
def test_a_clock_that_drifts_goes_on_from_where_it_was(run: Run, rate: float, least: int, most: int) -> None:
    """The machine's clock did not stand still while the node was down. A slow one is behind by now."""
    run.inject("clockSkew", {**TARGET, "rate": rate})
    pod = run.model.pods["broker-1"]
    run.backend.kill("broker-1")
    time.sleep(0.2)
    run.backend.start("broker-1")
    assert run.until(lambda: pod.clock["rate"] == rate)
    assert least < pod.clock["offsetNs"] < most


def test_an_api_server_that_is_away_keeps_no_fault_in_force(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in ("pause", "partition", "clockSkew"):
        run.inject(kind, {"target": {"broker": 0}, "offset": "5s"} if kind == "clockSkew" else FAULTS[kind])
    in_force = [fault for fault, state in run.journal.states.items() if state == "done"]
    assert len(in_force) >= 3

    def refuse(*_: object) -> None:
        raise KubeError("patch chaosexperiments", 503, "unavailable")

    monkeypatch.setattr(run.journal, "note", refuse)
    with pytest.raises(KubeError):
        run.backend.close()
    assert sorted(run.model.undone) == sorted(in_force)
