"""A run over a model of what is done to pods, any step of which can be left out.

The backend, its client and the fault manager are real; the agent is the fake one at its HTTP boundary. It goes on
noting that it did what it was asked, and its probes answer by what the pod of the model is like.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
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
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Scheduler
from highwater_chaos.base.quantities import parse_signed_duration
from highwater_chaos.experiment import parse_experiment
from highwater_chaos.experiment.faults import Inject
from highwater_chaos.faults import (
    FaultContext,
    FaultRecord,
    drain,
    node_reboot,
    nodes,
    replaced_pods,
    restart,
    session_expiry,
    stop,
)
from highwater_chaos.faults.base import Fault
from highwater_chaos.faults.node_reboot import NodeReboot
from highwater_chaos.faults.session_expiry import SessionExpiry
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
    "nodeReboot": {**TARGET, "within": "2s"},
}
NODES = ("controller-0", "broker-0", "broker-1")
DOWN = ("powerLoss", "kill", "stop", "restart", "diskWipe")
MESSAGES = ("hold", "drop", "delay", "duplicate")
REPLACED = ("podDelete", "evict", "drain")
REBOOTED = ("nodeReboot",)
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
        self.boots = ["boot-0"]
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

    def boot(self, record: Json) -> None:
        """The machine boots, with everything on it, and its node is Ready."""
        if self.left_out == "inject" or record["state"] != "inForce":
            return
        if len(record["evidence"]) == 1:
            self.boots.append(f"boot-{len(self.boots)}")
            record["evidence"].append(evidence("it has booted again", boot=self.boots[-1]))
            for name in NODES:
                self.start(name)
        if self.left_out != "heal":
            record["evidence"].append(evidence("it is Ready", "heal"))
            record["state"] = "done"

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
                    pod.up, pod.wiped = False, kind == "diskWipe" or bool(body.get("wipe"))
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
            case "nodeReboot":
                return [evidence("it is about to be reset", boot=self.boots[-1])]
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
        if record["request"]["kind"] == "nodeReboot":
            self.boot(record)
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


@contextmanager
def impatient_run(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    monkeypatch.setattr(FaultContext.confirm, "__defaults__", (SHORT,))
    monkeypatch.setattr(nodes.seen_down, "__defaults__", (SHORT,))
    for module in (nodes, stop, restart):
        monkeypatch.setattr(module, "SHUTDOWN_NS", 2 * SHORT)
    monkeypatch.setattr(restart, "BACK_NS", SHORT)
    for module in (drain, node_reboot, replaced_pods):
        monkeypatch.setattr(module, "GONE_NS", SHORT)
    monkeypatch.setattr(session_expiry, "_SLACK_NS", -5 * SECOND)
    for kind in (Fault, SessionExpiry, NodeReboot):
        monkeypatch.setattr(kind, "healed_within_ns", SHORT)
    with Model() as model:
        made = Run(model, monkeypatch)  # type: ignore[arg-type]
        try:
            yield made
        finally:
            model.left_out = ""
            made.backend.close()
