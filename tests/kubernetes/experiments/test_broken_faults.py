"""Every kind of fault on Kubernetes with its undo broken, and with its injection broken: it is inconclusive."""

from __future__ import annotations

import pytest
from experiments.broken_pods import FAULTS, MESSAGES, REBOOTED, REPLACED, TARGET, Run

from highwater_chaos.backends.protocol import NodeState
from highwater_chaos.experiment.faults import drawn_kinds
from highwater_chaos.kube.client import KubeError
from highwater_runtime.ports import SECOND


def test_every_kind_is_broken_here() -> None:
    assert set(FAULTS) == {*drawn_kinds(), *REPLACED, *REBOOTED}


@pytest.mark.parametrize("kind", FAULTS)
def test_nothing_broken(run: Run, kind: str) -> None:
    """Or the tests below would prove nothing."""
    record = run.inject(kind, FAULTS[kind])
    assert record.error is None, record.error
    run.heal()
    assert record.inconclusive_reason() is None
    assert run.backend._client.heal_all() == []


@pytest.mark.quick(
    "powerLoss", "diskFull", "hold", "partition", "sessionExpiry", "kill", "podDelete", "drain", "nodeReboot"
)
@pytest.mark.parametrize("kind", FAULTS)
def test_a_broken_undo(run: Run, kind: str) -> None:
    if kind in ("restart", "podDelete", "evict", "nodeReboot"):  # what brings the node back is not a step of its own
        run.model.left_out = "heal"
    record = run.inject(kind, FAULTS[kind])
    assert record.confirmed or kind in (*MESSAGES, "restart"), record.inconclusive_reason()
    run.model.left_out = "heal"
    run.heal()
    assert run.backend._client.heal_all() == [], "the agents say that all is undone"
    reason = record.inconclusive_reason()
    assert reason is not None
    assert ("never took hold" if kind == "restart" else "is not known to be healed") in reason


@pytest.mark.quick(
    "powerLoss", "diskFull", "hold", "partition", "sessionExpiry", "kill", "podDelete", "drain", "nodeReboot"
)
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
