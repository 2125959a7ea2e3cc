"""What faults do to a node that starts again while they are in force."""

from __future__ import annotations

import time

import pytest
from experiments.broken_pods import DOWN, FAULTS, MESSAGES, REBOOTED, REPLACED, TARGET, Pod, Run

from highwater_runtime.ports import SECOND


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
    assert set(FAULTS) == {*LASTING, *DOWN, *REPLACED, *REBOOTED, "pause", "sessionExpiry"}


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
