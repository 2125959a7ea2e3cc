"""Every kind of fault with its undo broken, and with its injection broken: the verdict is inconclusive, never pass.

What is broken is the simulator itself (its network, disks, processes, clocks), while the backend goes on believing that
it did what it was asked. On real processes: ``tests/local/test_broken_faults.py``; on Kubernetes:
``tests/kubernetes/experiments/test_broken_faults.py``.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment.faults import GROUP, drawn_kinds
from highwater_chaos.verdict.checked_run import check_and_forget
from highwater_runtime.sim.disk import SimDisk
from highwater_runtime.sim.faults import Cut, NetworkFaults
from highwater_runtime.sim.simulator import Simulator

BROKER = "{target: {broker: 1}}"
FEW = "{producers: 1, rate: 10/s}"
"""Nothing here is about clients."""
FAULTS = {
    "powerLoss": "{target: {broker: 1}, wipe: true}",
    "kill": BROKER,
    "stop": BROKER,
    "restart": BROKER,
    "diskWipe": BROKER,
    "diskFull": BROKER,
    "diskError": BROKER,
    "diskStall": BROKER,
    "pause": BROKER,
    "sessionExpiry": BROKER,
    # Brokers that replicate nothing from each other: nothing but the probe would notice that this cut is still there.
    "partition": "{between: [{broker: 1}, {broker: 2}]}",
    "hold": "{rpc: BrokerHeartbeat, from: {broker: 2}}",
    "drop": "{rpc: BrokerHeartbeat, from: {broker: 2}}",
    "delay": "{rpc: Fetch, from: {broker: 1}, by: 5ms}",
    "duplicate": "{rpc: Fetch, from: {broker: 1}}",
    "clockSkew": "{target: {broker: 1}, offset: 5s}",
}

UNDO = {
    "powerLoss": (Simulator, "start"),
    "kill": (Simulator, "start"),
    "stop": (Simulator, "start"),
    "restart": (Simulator, "start"),
    "diskWipe": (Simulator, "start"),
    "diskFull": (SimDisk, "heal"),
    "diskError": (SimDisk, "heal"),
    "diskStall": (SimDisk, "heal"),
    "pause": (Simulator, "resume"),
    "sessionExpiry": (NetworkFaults, "heal"),
    "partition": (NetworkFaults, "heal"),
    "hold": (NetworkFaults, "heal"),
    "drop": (NetworkFaults, "heal"),
    "delay": (NetworkFaults, "heal"),
    "duplicate": (NetworkFaults, "heal"),
    "clockSkew": (Simulator, "set_clock"),
}


class BelievingBackend(SimBackend):
    """Believes that nodes are in the state that it was asked to bring them into."""

    def __init__(self):
        super().__init__()
        self.believed = {}

    def state(self, node):
        return self.believed.get(node) or super().state(node)

    def start(self, node):
        if super().state(node) is NodeState.DOWN:
            super().start(node)
        self.believed[node] = NodeState.UP

    def resume(self, node):
        super().resume(node)
        self.believed[node] = NodeState.UP

    def kill(self, node):
        super().kill(node)
        self.believed[node] = NodeState.DOWN

    def stop(self, node):
        super().stop(node)
        self.believed[node] = NodeState.DOWN

    def power_loss(self, node, keep, *, wipe=False):
        report = super().power_loss(node, keep, wipe=wipe)
        self.believed[node] = NodeState.DOWN
        return report

    def pause(self, node, until_ns=None):
        super().pause(node, until_ns)
        self.believed[node] = NodeState.PAUSED


def verdict_of_run(make_experiment, kinds, backend, broken=None):
    """Inject each kind for a while, heal it, and judge. ``broken``: begins to break things before the ``wait``."""
    steps = [
        f"{{inject: {{name: it-{number}, {kind}: {FAULTS[kind]}}}}}, {{wait: 2s}}, {{heal: it-{number}}}, {{wait: 1s}}"
        for number, kind in enumerate(kinds)
    ]
    experiment = make_experiment(f"[{', '.join(steps)}]", timeout="5m", recovery="10s", workload=FEW)
    result = run_experiment(experiment, backend, faults=broken or (lambda _: None))
    verdict = check_and_forget(experiment, result, wire=False)
    return verdict, result.faults


def test_every_kind_is_broken_here():
    assert list(FAULTS) == list(UNDO) == drawn_kinds(), f"without entry points of {GROUP}"


@pytest.mark.usefixtures("impatient")
def test_whole_faults_pass(make_experiment):
    """All of them after each other, with nothing broken: or the tests below would prove nothing."""
    verdict, records = verdict_of_run(make_experiment, FAULTS, BelievingBackend())
    assert (verdict["verdict"], verdict["reasons"]) == ("pass", [])
    assert [record.kind for record in records] == list(FAULTS)
    assert [record.kind for record in records if not (record.confirmed and record.healed)] == []


@pytest.mark.quick("pause", "partition", "diskFull", "clockSkew", "sessionExpiry")
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_broken_undo_is_inconclusive(make_experiment, monkeypatch, kind):
    owner, name = UNDO[kind]

    def break_it(_records):
        if kind == "clockSkew":
            whole = Simulator.set_clock
            monkeypatch.setattr(
                owner,
                name,
                lambda self, node, *, rate, offset_ns: (
                    whole(self, node, rate=rate, offset_ns=offset_ns) if offset_ns > 0 else None
                ),
            )
        else:
            monkeypatch.setattr(owner, name, lambda self, *args: None)

    verdict, (record,) = verdict_of_run(make_experiment, [kind], BelievingBackend(), break_it)
    assert verdict["verdict"] == "inconclusive", verdict["reasons"]
    assert record.inconclusive_reason() in verdict["reasons"]
    expected = "never took hold" if kind == "restart" else "is not known to be healed"
    assert expected in record.inconclusive_reason()


INJECT = {
    "powerLoss": (Simulator, "power_loss"),
    "kill": (Simulator, "kill"),
    "stop": (Simulator, "stop"),
    "restart": (Simulator, "stop"),
    "diskWipe": (Simulator, "wipe"),
    "diskFull": (SimDisk, "set_quota"),
    "diskError": (SimDisk, "set_errors"),
    "diskStall": (SimDisk, "set_stalled"),
    "pause": (Simulator, "pause"),
    "clockSkew": (Simulator, "set_clock"),
}


@pytest.mark.quick("kill", "diskFull", "drop", "clockSkew", "partition", "sessionExpiry")
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("kind", FAULTS)
def test_a_broken_injection_is_inconclusive(make_experiment, monkeypatch, kind):
    def break_it(_records):
        if kind in INJECT:
            answer = SimpleNamespace(bytes_lost=0)
            monkeypatch.setattr(*INJECT[kind], lambda self, *args, **kwargs: answer)
            return
        # The network takes note of cuts and rules, and applies none.
        monkeypatch.setattr(NetworkFaults, "cut", lambda self, a, b, direction: Cut(()))
        monkeypatch.setattr(NetworkFaults, "_rule", lambda self, rule: rule)

    backend = BelievingBackend()
    verdict, (record,) = verdict_of_run(make_experiment, [kind], backend, break_it)
    assert verdict["verdict"] == "inconclusive", verdict["reasons"]
    assert "took hold" in record.inconclusive_reason() or "take hold" in record.inconclusive_reason()


WRITES = "{target: {broker: 1}, writes: true}"


def no_undo(monkeypatch):
    monkeypatch.setattr(SimDisk, "heal", lambda self: None)


def no_injection(monkeypatch):
    monkeypatch.setattr(SimDisk, "set_stalled", lambda self, stalled, *, writes=False: None)


def flushes_alone(monkeypatch):
    whole = SimDisk.set_stalled

    def ignore_writes(self, stalled, *, writes=False):
        whole(self, stalled)

    monkeypatch.setattr(SimDisk, "set_stalled", ignore_writes)


@pytest.mark.quick("flushes_alone")
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("broken", "reason"),
    [(None, None), (no_undo, "not known to be healed"), (no_injection, "took hold"), (flushes_alone, "took hold")],
)
def test_writes_that_do_not_block_are_inconclusive(make_experiment, monkeypatch, broken, reason):
    monkeypatch.setitem(FAULTS, "diskStall", WRITES)

    def break_it(_records):
        if broken is not None:
            broken(monkeypatch)

    verdict, (record,) = verdict_of_run(make_experiment, ["diskStall"], SimBackend(), break_it)
    assert verdict["verdict"] == ("pass" if broken is None else "inconclusive"), verdict["reasons"]
    assert broken is None or reason in record.inconclusive_reason()
