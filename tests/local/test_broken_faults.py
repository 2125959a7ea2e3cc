"""Every kind of fault on real processes with its undo broken, and with its injection broken: it is inconclusive.

What is broken is the machine's own step (the rule is not deleted, SIGCONT is not sent, the node program is not told),
while the run's journal and the backend note that it was done. The tests of :mod:`tests.chaos.test_broken_faults` show
that such a record makes the verdict inconclusive; so does, in ``make thorough``, the run at the end of this file. That
each fault does what it should if nothing is broken is in ``test_faults.py``.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from highwater_chaos.backends import user_commands
from highwater_chaos.backends.local import backend
from highwater_chaos.backends.local.control import ControlChannel
from highwater_chaos.backends.local.disks import VolumeDisk
from highwater_chaos.backends.local.highwater_program import HighwaterProgram
from highwater_chaos.backends.local.isolated import local_backend
from highwater_chaos.backends.local.nodes import LocalNode
from highwater_chaos.backends.local.program import Launch
from highwater_chaos.backends.primitives import DrainsMachines, PowerLossReport, RebootsMachines, ReplacesPods
from highwater_chaos.backends.view import ClusterView
from highwater_chaos.base.process import Scheduler
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import ChaosExperiment
from highwater_chaos.experiment.faults import Inject, fault_kinds
from highwater_chaos.experiment.nodes import node_id
from highwater_chaos.faults import FaultRecord, kind_named
from highwater_chaos.faults.base import Fault
from highwater_chaos.machine.faults.cuts import Cut
from highwater_chaos.machine.faults.disk_error import DiskError
from highwater_chaos.machine.faults.disk_freeze import DiskFreeze
from highwater_chaos.machine.faults.disk_full import DiskFull
from highwater_chaos.machine.faults.pauses import Pause
from highwater_chaos.machine.process.commands import Command
from highwater_chaos.machine.process.processes import Process
from highwater_chaos.schedule.fault_manager import FaultManager
from highwater_chaos.verdict.checked_run import write_checked
from highwater_runtime.ports import SECOND

pytestmark = pytest.mark.whole_machine
TARGET = {"target": {"broker": 1}}
RULE = {"rpc": "BrokerHeartbeat", "from": {"broker": 1}}
FAULTS: dict[str, dict[str, Any]] = {
    "powerLoss": TARGET,
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
    "external": {
        # Brokers are reached from the namespace that commands are told: it has an address of their network.
        "inject": ["bash", "-ec", 'ip -netns "$HIGHWATER_NAMESPACE" -brief address | grep -q 10.77.; touch there'],
        "heal": ["rm", "-f", "there"],
        "probe": ["test", "-e", "there"],
        "timeout": "1s",
    },
}
DOWN = ("powerLoss", "kill", "stop", "restart", "diskWipe")
MACHINE: dict[str, Any] = {
    "partition": Cut,
    "pause": Pause,
    "diskFull": DiskFull,
    "diskError": DiskError,
    "external": Command,
}
TOLD = {
    "diskStall": ("diskStall", {"on": False}),
    "clockSkew": ("clock", {"offsetNs": 0, "rate": 1.0}),
}


class Site:
    """A cluster that lives for all tests here; each repairs what it has broken."""

    def __init__(self, root: Path, experiment: ChaosExperiment) -> None:
        self.backend = local_backend(root=root)
        self.backend.commands_in = self.folder = root.parent / "commands"
        self.folder.mkdir()
        self.view = ClusterView()
        self.cluster = experiment.cluster
        self.backend.build(self.cluster, 1)
        backend = self.backend
        self.scheduler = Scheduler(backend.now_ns, backend.advance, on_turn=self.look, poll_ns=backend.poll_ns)
        self.manager = FaultManager(self.backend, self.cluster, self.view, self.scheduler, Random, 1 << 60)
        self.whole()

    def look(self) -> None:
        self.view.observe(self.backend.events_since(self.view.next_seq))

    def until(self, condition: Callable[[], bool], seconds: float = 60) -> bool:
        return self.scheduler.run(condition, self.backend.now_ns() + int(seconds * SECOND))

    def whole(self) -> None:
        assert self.until(lambda: all(self.view.is_unfenced(broker) for broker in (0, 1))), self.view.nodes

    def run(self, process: Any) -> None:
        task = self.scheduler.spawn("test", process)
        assert self.until(lambda: task.done, 120)

    def inject(self, kind: str) -> FaultRecord:
        return self.inject_one(Inject.model_validate({kind: FAULTS[kind]}))

    def inject_one(self, inject: Inject) -> FaultRecord:
        self.run(self.manager.inject(inject))
        return self.manager.records[-1]

    def heal(self) -> None:
        self.run(self.manager.heal_all())

    def restart(self, node: str) -> None:
        """Whatever stands in the node's place: the node."""
        self.backend.resume(node)
        self.backend.kill(node)
        self.backend.disk_heal(node)
        self.backend.start(node)
        incarnation = self.backend.incarnation(node)
        assert self.until(lambda: self.view.nodes[node].incarnation == incarnation)
        assert self.until(lambda: self.view.is_unfenced(node_id(node)))


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, experiment: Callable[..., ChaosExperiment]) -> Iterator[Site]:
    root = tmp_path_factory.mktemp("site") / "state"
    root.mkdir()
    root.parent.chmod(0o755)
    root.chmod(0o755)
    made: Site | None = None
    try:
        made = Site(root, experiment("- wait: 1s"))
        yield made
    finally:
        if made is not None:
            made.backend.close()


class Broken:
    """Steps of the machine that are left out, and what repairs the cluster afterwards."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.patch = monkeypatch
        self.left_out: list[Callable[[], object]] = []

    def leave_out(self, owner: Any, method: str, answer: Any = None) -> None:
        whole = getattr(owner, method)

        def nothing(one: Any, *args: Any, **kwargs: Any) -> Any:
            self.left_out.append(lambda: whole(one, *args, **kwargs))
            return one if answer is owner else answer

        self.patch.setattr(owner, method, nothing)

    def tell_nothing(self, method: str, params: dict[str, Any] | None = None) -> None:
        """The node program is not told this, and the backend hears that it was."""
        call, ask = ControlChannel.call, ControlChannel.ask

        def not_called(channel: ControlChannel, asked: str, sent: Any = None, **more: Any) -> Any:
            if asked == method and params in (None, sent):
                self.left_out.append(lambda: channel.closed or call(channel, asked, sent))
                return None
            return call(channel, asked, sent, **more)

        def not_asked(channel: ControlChannel, asked: str, sent: Any, on_answer: Any, on_error: Any = None) -> None:
            if asked == method and params in (None, sent):
                self.left_out.append(lambda: channel.closed or call(channel, asked, sent))
                on_answer(1_000_000)
            else:
                ask(channel, asked, sent, on_answer, on_error)

        self.patch.setattr(ControlChannel, "call", not_called)
        self.patch.setattr(ControlChannel, "ask", not_asked)


@pytest.fixture
def broken(site: Site) -> Iterator[Broken]:
    with pytest.MonkeyPatch.context() as patch:
        made = Broken(patch)
        yield made
        patch.undo()
    for repair in made.left_out:
        repair()


def test_every_kind_is_broken_here() -> None:
    of_pods = {ReplacesPods, DrainsMachines, RebootsMachines}
    kinds = [kind for kind in fault_kinds() if not kind_named(kind).example().needs & of_pods]
    assert list(FAULTS) == kinds


# Processes that were killed, stopped or wiped start in one way, and rules about messages are removed in one.
@pytest.mark.quick("partition", "hold", "clockSkew", "external", "restart", "diskFull")
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_broken_undo(site: Site, broken: Broken, kind: str) -> None:
    if kind in DOWN:
        # Processes start, and are no nodes.
        broken.patch.setattr(HighwaterProgram, "launch", lambda *_: Launch(("sleep", "1000")))
    elif kind in MACHINE:
        broken.leave_out(MACHINE[kind], "undo")
        broken.patch.setattr(MACHINE[kind], "left", lambda _: None)
    else:
        broken.tell_nothing(*TOLD.get(kind, ("removeRule",)))
    record = site.inject(kind)
    if kind != "restart":
        assert record.confirmed or record.kind in ("hold", "drop", "delay", "duplicate"), record.inject_evidence
        site.until(lambda: site.manager.records[-1].idle or bool(_caught(site)), 2)
    site.heal()
    assert not record.healed
    reason = record.inconclusive_reason()
    assert reason is not None
    assert ("never took hold" if kind == "restart" else "is not known to be healed") in reason
    broken.patch.undo()
    if kind in DOWN or kind in ("diskFull", "diskError", "pause"):
        for repair in broken.left_out:
            repair()
        broken.left_out.clear()
        site.restart("broker-1")


@pytest.mark.quick("diskWipe", "pause", "partition", "hold", "clockSkew", "external")
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_broken_injection(site: Site, broken: Broken, kind: str) -> None:
    match kind:
        case "kill":
            broken.patch.setattr(LocalNode, "end", lambda _: -9)
        case "stop" | "restart":
            broken.patch.setattr(Process, "signal", lambda *_: True)
        case "powerLoss":
            broken.patch.setattr(LocalNode, "lose_power", lambda *_: PowerLossReport(0))
        case "diskWipe":
            broken.patch.setattr(VolumeDisk, "wipe", lambda _: None)
        case "diskFull" | "diskError" | "pause" | "partition" | "external":
            broken.patch.setattr(MACHINE[kind], "make", lambda self, _: self)
        case "diskStall":
            broken.patch.setattr(backend, "_STALLED_NS", -1)  # every flush takes as long as on a disk that is very slow
            broken.tell_nothing("diskStall")
        case "clockSkew":
            broken.tell_nothing("clock")
        case _:
            broken.tell_nothing("addRule")
    record = site.inject(kind)
    site.until(lambda: False, 0.5)
    broken.patch.undo()
    broken.left_out.clear()
    site.heal()
    reason = record.inconclusive_reason()
    assert reason is not None
    assert "took hold" in reason or "take hold" in reason
    if kind in DOWN:
        site.restart("broker-1")


@pytest.mark.quick("make")
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(("step", "reason"), [("make", "took hold"), ("undo", "is not known to be healed")])
def test_a_disk_that_is_not_frozen_or_not_thawed(site: Site, broken: Broken, step: str, reason: str) -> None:
    site.whole()
    broken.leave_out(DiskFreeze, step, DiskFreeze)
    broken.patch.setattr(DiskFreeze, "left", lambda _: None)
    inject = Inject.model_validate({"diskStall": {**TARGET, "writes": True}})
    site.run(site.manager.inject(inject))
    record = site.manager.records[-1]
    assert record.confirmed is (step == "undo"), record.inject_evidence
    site.heal()
    assert record.healed is (step == "make"), record.heal_evidence
    assert reason in str(record.inconclusive_reason())
    if step == "make":
        broken.left_out.clear()
    else:
        broken.patch.undo()
        for repair in broken.left_out:
            repair()
        broken.left_out.clear()
        site.restart("broker-1")


def script(text: str) -> list[str]:
    return ["sh", "-c", text]


HOSTILE: dict[str, tuple[dict[str, list[str]], str | None]] = {
    "inject never ends": ({"inject": script("touch there; sleep 1000")}, "did not end within 0.5 s"),
    "inject fails halfway": ({"inject": script("touch there; echo no; exit 3")}, "ended with status 3: no"),
    "inject is no program": ({"inject": ["./absent"]}, "./absent: cannot be run"),
    "inject leaves a child": ({"inject": script("touch there; sleep 1000 & echo $! >child")}, None),
    "inject does nothing": ({"inject": ["true"]}, "never took hold: the probe command says that it is gone"),
    "heal fails at first": ({"heal": script("test -e tried && rm there || { touch tried; exit 1; }")}, None),
    "heal fails if there is nothing": ({"inject": ["false"], "heal": ["rm", "there"]}, "ended with status 1"),
    "heal never works": ({"heal": script("exit 4")}, "not known to be healed: the probe command says that it is there"),
    "heal brings it about": ({"inject": ["true"], "heal": script("test -e calm || touch there")}, "never took hold"),
    "probe always says there": ({"probe": ["true"]}, "that it is there, before the inject command has run"),
    "probe never knows": ({"probe": script("printf 'a\\033b'; exit 2")}, "ended with status 2: a?b; expected 0"),
    "probe never ends": ({"probe": ["sleep", "1000"]}, "the probe of fault-"),
    "probe prints for ever": ({"probe": ["yes"]}, "printed more than 16 MiB"),
    "probe does not know later": (
        {"probe": script("test -e there && touch seen && exit 0; test -e seen && exit 9; exit 1")},
        "not known to be healed",
    ),
}


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("what", HOSTILE)
def test_commands_that_do_not_do_as_they_should(
    site: Site, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, what: str
) -> None:
    monkeypatch.setattr(user_commands, "_INSISTS_FOR", 2.0 if what == "heal fails at first" else 0.1)
    monkeypatch.setattr(site.backend, "commands_in", tmp_path)
    changes, reason = HOSTILE[what]
    timeout = "5s" if what == "probe prints for ever" else "500ms"
    fault = {**FAULTS["external"], **changes, "timeout": timeout}
    record = site.inject_one(Inject.model_validate({"external": fault}))
    site.heal()
    found = record.inconclusive_reason()
    assert (found is None) if reason is None else (reason in str(found)), found
    assert (tmp_path / "there").exists() == (what in ("heal never works", "heal brings it about"))
    assert not (record.healed and (tmp_path / "there").exists())
    if what == "inject leaves a child":
        os.kill(int((tmp_path / "child").read_text()), signal.SIGKILL)
    for name in ("there", "seen"):
        (tmp_path / name).unlink(missing_ok=True)
    assert site.backend._run is not None
    (tmp_path / "calm").touch()
    assert site.backend._run.undo_tagged(f"{record.id}:commands").left == [], "what was left is healed later"


def _caught(site: Site) -> int:
    (active,) = site.manager._active.values()
    return active.context.caught()


@pytest.mark.thorough
def test_a_partition_that_is_never_undone_is_no_pass(
    experiment: Callable[..., ChaosExperiment], state: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of two brokers that replicate nothing from each other: nothing but the probe notices."""
    schedule = "- inject: {name: cut, partition: {between: [{broker: 1}, {broker: 2}]}}\n- wait: 1s\n- heal: cut"
    chosen = experiment(schedule, brokers=3, timeout="1m")
    (topic,) = chosen.cluster.topics
    topics = [topic.model_copy(update={"assignment": [[0, 1]], "replication_factor": None})]
    cluster = chosen.cluster.model_copy(update={"topics": topics})
    chosen = chosen.model_copy(update={"spec": chosen.spec.model_copy(update={"cluster": cluster})})
    monkeypatch.setattr(Cut, "undo", lambda _: None)
    monkeypatch.setattr(Cut, "left", lambda _: None)
    monkeypatch.setattr(Fault, "healed_within_ns", 2 * SECOND)  # what is never undone is not waited for long
    result = run_experiment(chosen, local_backend())
    verdict = write_checked(chosen, result, tmp_path, "run", wire=False).verdict
    assert verdict["verdict"] == "inconclusive"
    reason = "fault fault-1 (cut) is not known to be healed: a probe from broker-"
    assert any(one.startswith(reason) for one in verdict["reasons"]), verdict["reasons"]
