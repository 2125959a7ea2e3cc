"""Promises that nodes break and do not report: the simulator and the check of recordings say so all the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.verdict import checked_run
from highwater_chaos.verdict.checked_run import check_and_forget
from highwater_pipeline.verdict import RunVerdict
from highwater_runtime.broker.apis import produce
from highwater_runtime.broker.leadership import Leadership
from highwater_runtime.broker.partition import Partition
from highwater_runtime.controller.kraft.quorum_controller import QuorumController
from highwater_runtime.ports.trace import AlterPartitionHandled
from highwater_runtime.wire.errors import ErrorCode

JOINS_STALE = Path(__file__).parents[2] / "scenarios" / "kip-903" / "kafka-14139.yaml"


def test_an_acknowledgement_before_the_commit_breaks_a_promise_though_nothing_is_lost(
    simulate: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The leader answers as soon as it has appended, and reports an acknowledgement when the high watermark moves."""
    outcome, acknowledged, advance = produce.outcome, Leadership.acknowledged, Leadership.advance_high_watermark

    def early(partition: Partition, end_offset: int) -> ErrorCode | None:
        return outcome(partition, end_offset) or (None if partition.log.log_end_offset < end_offset else ErrorCode.NONE)

    def reporting(self: Leadership) -> None:
        before = self._partition.high_watermark
        advance(self)
        if self._partition.high_watermark > before:
            acknowledged(self, before, self._partition.high_watermark)

    monkeypatch.setattr(produce, "outcome", early)
    monkeypatch.setattr(Leadership, "acknowledged", lambda *_: None)
    monkeypatch.setattr(Leadership, "advance_high_watermark", reporting)
    assert simulate('[{"wait": "3s"}]').anomalies == {"model-step"}


@pytest.mark.thorough
def test_a_controller_that_lies_about_the_epoch_in_force_is_not_believed(monkeypatch: pytest.MonkeyPatch) -> None:
    """It lets a replica join under a former broker epoch (KIP-903), and reports that epoch as registered."""
    report = QuorumController._report

    class Lying:
        def __init__(self, trace: Any) -> None:
            self._trace = trace

        def emit(self, event: Any) -> None:
            assert isinstance(event, AlterPartitionHandled)
            self._trace.emit(msgspec.structs.replace(event, registered_epochs=event.isr_epochs))

    def lie(self: QuorumController, *args: Any) -> None:
        ports = self._ports
        self._ports = type("Ports", (), {"trace": Lying(ports.trace)})()
        try:
            report(self, *args)
        finally:
            self._ports = ports

    judged: list[RunVerdict] = []
    check = checked_run.check_recordings

    def noted(*args: Any) -> RunVerdict:
        judged.append(check(*args))
        return judged[-1]

    monkeypatch.setattr(QuorumController, "_report", lie)
    monkeypatch.setattr(checked_run, "check_recordings", noted)
    experiment = load_experiment(JOINS_STALE).with_seed_and_switches(None, {"replica-epoch-check": "off"})
    result = run_experiment(experiment, SimBackend())
    assert {"false-report", "stale-isr-join"} <= {violation.name for violation in result.violations}
    assert check_and_forget(experiment, result, wire=False)["verdict"] == "fail"
    assert judged[0].anomalies["stale-isr-join"].count == 1
    rules = {example["rule"] for example in judged[0].anomalies["model-step"].examples}
    assert rules >= {"join-incarnation", "proposal-judged"}
