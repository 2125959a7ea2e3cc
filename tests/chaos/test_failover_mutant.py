"""Design V3, D 4, the mutant: a new controller that sends no full lists. The run finds it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from highwater_chaos.backends.sim import SimBackend
from highwater_chaos.engine import run_experiment
from highwater_chaos.experiment import load_experiment
from highwater_chaos.run.summary import read_summary
from highwater_chaos.verdict.check import check_recordings
from highwater_chaos.verdict.checked_run import write_run
from highwater_chaos.verdict.verdict import verdict_of
from highwater_runtime.controller.zk.commands import Commands

SCENARIO = Path(__file__).parents[2] / "scenarios/zookeeper/commands-never-sent.yaml"


def test_a_failover_without_full_lists_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    full, left_out = Commands.full, []

    def unless_it_succeeds_another(commands: Commands, broker_id: int) -> None:
        caller = sys._getframe(1)
        if caller.f_code.co_name == "_fail_over" and caller.f_locals["self"].elected.epoch > 1:
            left_out.append(broker_id)
        else:
            full(commands, broker_id)

    monkeypatch.setattr(Commands, "full", unless_it_succeeds_another)
    experiment = load_experiment(SCENARIO)
    write_run(tmp_path, experiment, run_experiment(experiment, SimBackend()), wire=False)
    summary = read_summary(tmp_path)
    assert summary is not None
    judged = verdict_of(experiment, summary, check_recordings(experiment, tmp_path))
    assert left_out, "there was a failover"
    assert judged["verdict"] == "fail", judged["inconclusiveReasons"]
    assert "unavailable" in judged["anomalies"]
